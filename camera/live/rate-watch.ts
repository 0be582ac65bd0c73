// SPDX-License-Identifier: Apache-2.0
// Compares a camera's real frame rate with the rate that its driver reports. Pure.

/** Frame steps in one measurement. */
const MEASURED_STEPS = 120;
const LARGEST_DEVIATION = 0.1;

export class RateWatch {
  readonly #path: string;
  readonly #reportedHz: number;
  /** Time of the last frame and steps' sum, ns; in an array because a field would allocate a number with each frame. */
  readonly #timesNs = Float64Array.of(Number.NaN, 0);
  #steps = 0;
  #warned = false;

  /** @param reportedHz 0 if the driver reports no rate: nothing is compared then */
  constructor(path: string, reportedHz: number) {
    this.#path = path;
    this.#reportedHz = reportedHz;
  }

  /**
   * @param timeNs capture time
   * @param lostBefore frames that the driver counted and lost between the previous frame and this one
   * @returns a warning, once until the rate is right again
   */
  add(timeNs: number, lostBefore: number): string | undefined {
    const stepNs = timeNs - this.#timesNs[0]!;
    this.#timesNs[0] = timeNs;
    if (this.#reportedHz <= 0 || !(stepNs > 0)) return undefined;
    this.#timesNs[1] = this.#timesNs[1]! + stepNs;
    this.#steps += 1 + lostBefore;
    if (this.#steps < MEASURED_STEPS) return undefined;
    const measuredHz = (1e9 * this.#steps) / this.#timesNs[1]!;
    this.reset();
    this.#timesNs[0] = timeNs;
    const isRight = Math.abs(measuredHz / this.#reportedHz - 1) <= LARGEST_DEVIATION;
    const isNew = !isRight && !this.#warned;
    this.#warned = !isRight;
    if (!isNew) return undefined;
    const hertz = (rate: number) => Number(rate.toFixed(1));
    const isHalf = Math.abs((2 * measuredHz) / this.#reportedHz - 1) <= LARGEST_DEVIATION;
    const trigger = isHalf
      ? " A triggered sensor also halves the rate if pulses are too short or too close (on a Jetson: corr_err in dmesg)."
      : "";
    return `${this.#path}: the driver reports ${hertz(this.#reportedHz)} Hz, frames arrive at ${hertz(measuredHz)} Hz. If they are slow, shorten the exposure time or forbid automatic exposure to lower the rate.${trigger}`;
  }

  /** Starts a new measurement, after a pause. */
  reset(): void {
    this.#timesNs[0] = Number.NaN;
    this.#timesNs[1] = 0;
    this.#steps = 0;
  }
}
