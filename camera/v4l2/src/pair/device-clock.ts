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
  /** No stamp at all: the time of arrival is in. */
  | "arrival";

/** A stamp this far from a clock is not of that clock. */
const NEAR_NS = 10_000_000_000n;
/** Stamp and arrival may drift apart by this much between two images; more is a jump of the stamp's clock. */
const JUMP_NS = 1e9;

const HIGH = 2 ** 32;
const magnitude = (value: bigint) => (value < 0n ? -value : value);
const signed = (words: Uint32Array, at: number) =>
  BigInt.asIntN(64, (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]!));

export class DeviceClock {
  origin: StampOrigin | undefined;
  /** Times the driver's clock jumped or wrapped. */
  jumps = 0;
  readonly #clocks: ClockReader;
  /** What is added to a stamp, modulo 2^64, in two words. */
  readonly #offset = new Uint32Array(2);
  /** Of the image before, in an array because a field would be a new number each time. */
  readonly #ageNs = new Float64Array(1);

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
    const words = new Uint32Array(BigInt64Array.of(stampNs, arrivalNs).buffer);
    return arrivalNs - BigInt(this.follow(words, 0, monotonic));
  }

  /**
   * The same without a bigint, and so without memory.
   * @param words at `at` the stamp, then the arrival, each in two words of 32 bits, the lower first
   * @returns arrival less capture time, ns
   */
  follow(words: Uint32Array, at: number, monotonic: boolean): number {
    const isFirst = this.origin === undefined;
    if (isFirst) this.#choose(signed(words, at), signed(words, at + 2), monotonic);
    if (this.origin === "arrival") return 0;
    let ageNs = this.#readAgeNs(words, at);
    if (!isFirst && Math.abs(ageNs - this.#ageNs[0]!) > JUMP_NS) {
      this.jumps++;
      this.#bridge(signed(words, at), signed(words, at + 2), monotonic);
      ageNs = this.#readAgeNs(words, at);
    }
    this.#ageNs[0] = ageNs;
    return ageNs;
  }

  /** Modulo 2^64, so that a counter that passes its top continues as if nothing had happened; exact below 2^53. */
  #readAgeNs(words: Uint32Array, at: number): number {
    const low = words[at]! + this.#offset[0]!;
    const carry = low >= HIGH ? 1 : 0;
    const high = words[at + 1]! + this.#offset[1]! + carry;
    return ((words[at + 3]! - high) | 0) * HIGH + (words[at + 2]! - (low - carry * HIGH));
  }

  #setOffset(offsetNs: bigint): void {
    this.#offset[0] = Number(BigInt.asUintN(32, offsetNs));
    this.#offset[1] = Number(BigInt.asUintN(32, offsetNs >> 32n));
  }

  /** The image is as old at its arrival as the one before was. */
  #bridge(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): void {
    // Back on the machine's own clock, as after a wrap that was only a test: take it as it is again.
    const isBack = monotonic && magnitude(stampNs - arrivalNs) < NEAR_NS;
    this.#setOffset(isBack ? 0n : arrivalNs - BigInt(this.#ageNs[0]!) - stampNs);
  }

  #choose(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): void {
    if (magnitude(stampNs - arrivalNs) < NEAR_NS) {
      this.origin = "monotonic";
      return;
    }
    const now = this.#clocks();
    if (!monotonic && magnitude(stampNs - now.realtimeNs) < NEAR_NS) {
      this.origin = "realtime";
      this.#setOffset(now.monotonicNs - now.realtimeNs);
      return;
    }
    this.origin = stampNs === 0n ? "arrival" : "device";
    this.#setOffset(arrivalNs - stampNs);
  }
}
