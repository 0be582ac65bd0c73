// SPDX-License-Identifier: Apache-2.0
// Brings a driver's time stamps to CLOCK_MONOTONIC: as they are where they are that already, else by the least that is
// needed. Wraps and jumps of the driver's clock are bridged by the time of arrival.

/** Both clocks of the machine, read back to back, ns. */
export type ClockReader = () => { monotonicNs: bigint; realtimeNs: bigint };

export type StampOrigin =
  /** CLOCK_MONOTONIC, untouched. */
  | "monotonic"
  /** CLOCK_REALTIME, shifted by the difference of the two clocks. */
  | "realtime"
  /** A clock of the device's own, shifted so that its first image is not younger than its arrival. */
  | "device"
  /** No stamp at all: the time of arrival stands in. */
  | "arrival";

/** A stamp this far from a clock is not of that clock. */
const NEAR_NS = 10_000_000_000n;
/** Stamp and arrival may drift apart by this much between two images; more is a jump of the stamp's clock. */
const JUMP_NS = 1_000_000_000n;

const magnitude = (value: bigint) => (value < 0n ? -value : value);

export class DeviceClock {
  origin: StampOrigin | undefined;
  /** Times the driver's clock jumped or wrapped. */
  jumps = 0;
  readonly #clocks: ClockReader;
  #offsetNs = 0n;
  #lastStampNs = 0n;
  #lastArrivalNs = 0n;
  #lastTimeNs = 0n;

  constructor(clocks: ClockReader) {
    this.#clocks = clocks;
  }

  /**
   * @param stampNs the driver's time stamp modulo 2^64, signed
   * @param arrivalNs CLOCK_MONOTONIC when the image was taken from the driver
   * @param monotonic the driver says that the stamp is CLOCK_MONOTONIC
   * @returns capture time on CLOCK_MONOTONIC, ns
   */
  toMonotonic(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): bigint {
    if (this.origin === undefined) {
      this.#choose(stampNs, arrivalNs, monotonic);
    } else if (this.origin !== "arrival") {
      // Modulo 2^64 a counter that passes its top goes on as if nothing had happened.
      const stepNs = BigInt.asIntN(64, stampNs - this.#lastStampNs);
      const arrivalStepNs = arrivalNs - this.#lastArrivalNs;
      if (magnitude(stepNs - arrivalStepNs) > JUMP_NS) {
        this.jumps++;
        this.#offsetNs = this.#lastTimeNs + arrivalStepNs - stampNs;
        // Back on the machine's own clock, as after a wrap that was only a test: take it as it is again.
        if (monotonic && magnitude(stampNs - arrivalNs) < NEAR_NS) this.#offsetNs = 0n;
      }
    }
    this.#lastStampNs = stampNs;
    this.#lastArrivalNs = arrivalNs;
    this.#lastTimeNs = this.origin === "arrival" ? arrivalNs : BigInt.asIntN(64, stampNs + this.#offsetNs);
    return this.#lastTimeNs;
  }

  #choose(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): void {
    if (magnitude(stampNs - arrivalNs) < NEAR_NS) {
      this.origin = "monotonic";
      return;
    }
    const now = this.#clocks();
    if (!monotonic && magnitude(stampNs - now.realtimeNs) < NEAR_NS) {
      this.origin = "realtime";
      this.#offsetNs = now.monotonicNs - now.realtimeNs;
      return;
    }
    this.origin = stampNs === 0n ? "arrival" : "device";
    this.#offsetNs = arrivalNs - stampNs;
  }
}
