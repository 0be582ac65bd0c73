// SPDX-License-Identifier: Apache-2.0
// Joins frames to energy: each frame carries the energy between the capture times of two successive frames before it, the
// oldest that no frame has carried and that the sensor has been read for. No frame waits for a reading.
import type { FrameEnergy } from "../core/index.js";
import type { Unavailable } from "./sensor.js";
import type { EnergySum, RailSeries } from "./series.js";

/** Frames that may wait for a reading: two minutes at 60 frames a second. */
const MAX_WAITING = 8192;

const UNKNOWN_STEP: Unavailable = { available: false, reason: "the step of the sensor is unknown" };

const FIRST = "the first frame has no frame before it";
const SAME = "the frame has the capture time of the frame before it";

const missing = (reason: string): Unavailable => ({ available: false, reason });

export class FrameEnergies {
  /** Capture times, nanoseconds on the clock of the rails; one interval lies between each two. */
  readonly #captures = new Float64Array(MAX_WAITING);
  #oldest = 0;
  #next = 0;
  readonly #sum: EnergySum = { joules: 0, variance: 0 };

  #capture(index: number): number {
    return this.#captures[index % MAX_WAITING]!;
  }

  /**
   * Takes the capture time of a computed frame and returns the energy that the frame carries.
   * @param rails those of the total
   */
  next(capturedNs: number, rails: readonly RailSeries[]): FrameEnergy | Unavailable {
    const before = this.#next > this.#oldest ? this.#capture(this.#next - 1) : Number.NEGATIVE_INFINITY;
    // The clock jumped, or the source is another one: no interval leads there.
    if (capturedNs < before) this.#oldest = this.#next;
    const isNew = capturedNs !== before;
    if (isNew) this.#captures[this.#next++ % MAX_WAITING] = capturedNs;
    this.#oldest = Math.max(this.#oldest, this.#next - MAX_WAITING);
    const slowest = rails.reduce((least, rail) => (rail.knownNs < least.knownNs ? rail : least));
    const knownNs = slowest.knownNs;
    let reason: string | undefined;
    while (this.#next - this.#oldest > 1) {
      const from = this.#capture(this.#oldest);
      const to = this.#capture(this.#oldest + 1);
      if (to > knownNs) return missing(reason ?? slowest.waitsFor(capturedNs));
      this.#oldest++;
      reason = this.#add(from, to, rails);
      if (reason !== undefined) continue;
      const { joules, variance } = this.#sum;
      const joulesUncertainty = Number.isNaN(variance) ? UNKNOWN_STEP : 2 * Math.sqrt(variance);
      const [seconds, ageMs] = [(to - from) / 1e9, (capturedNs - to) / 1e6];
      return { available: true, joules, joulesUncertainty, seconds, ageMs };
    }
    return missing(reason ?? (isNew ? FIRST : SAME));
  }

  #add(fromNs: number, toNs: number, rails: readonly RailSeries[]): string | undefined {
    const sum = this.#sum;
    sum.joules = 0;
    sum.variance = 0;
    for (const rail of rails) {
      const reason = rail.addEnergy(fromNs, toNs, sum);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
}
