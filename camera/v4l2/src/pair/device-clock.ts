// SPDX-License-Identifier: Apache-2.0
// Brings a driver's time stamps to CLOCK_MONOTONIC: unchanged if they are on it, else by the offset of the camera's bus.
// The time of arrival bridges wraps and jumps of the driver's clock.
import { BusClock, type ClockReader, type HostClocks, type OffsetSource, Timeline } from "./bus-clock.js";

export type StampOrigin =
  /** CLOCK_MONOTONIC, untouched. */
  | "monotonic"
  /** CLOCK_REALTIME, shifted by the difference of the two clocks. */
  | "realtime"
  /** The CPU's counter, although the buffer's flags name CLOCK_MONOTONIC. */
  | "tsc"
  /** The device's own clock, shifted so that no image is younger than its arrival. */
  | "device"
  /** No stamp at all: the time of arrival is used. */
  | "arrival";

/** Describes the clock of a camera's stamps. */
export interface ClockReport {
  origin: StampOrigin;
  bus: string;
  /** Added to the driver's stamps, ms. */
  offsetMs: number;
  source?: OffsetSource;
  /** Absent where it is unknown. */
  uncertaintyMs?: number;
  driftPpm?: number;
  /** Times that the driver's clock jumped or wrapped. */
  jumps: number;
}

/** An image is older at its arrival only after a pause of the machine. */
const OLDEST_NS = 10_000_000_000n;
/** A driver that predicts the end of the image stamps it in the future, but no further. */
const YOUNGEST_NS = -1_000_000_000n;
/** Stamp and arrival may drift apart by this much between two images; more is a jump of the stamp's clock. */
const JUMP_NS = 1e9;
/** Cameras of one bus jump together: the other one's bridge fits if the age stays within this. */
const SAME_JUMP_NS = 50_000_000n;

const HIGH = 2 ** 32;
const magnitude = (value: bigint) => (value < 0n ? -value : value);
const isAge = (ageNs: bigint) => ageNs > YOUNGEST_NS && ageNs < OLDEST_NS;
const signed = (words: Uint32Array, at: number) =>
  BigInt.asIntN(64, (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]!));

export class DeviceClock {
  origin: StampOrigin | undefined;
  /** Times that the driver's clock jumped or wrapped. */
  jumps = 0;
  readonly #bus: BusClock;
  #line: Timeline | undefined;
  /** Added to a stamp, modulo 2^64, in two words. */
  readonly #offset = new Uint32Array(2);
  /** Age of the image before, NaN at first; in an array because a field would be a new number each time. */
  readonly #lastNs = Float64Array.of(Number.NaN);

  /** @param bus its own for a camera that shares no clock */
  constructor(clocks: ClockReader | HostClocks, bus?: BusClock) {
    this.#bus = bus ?? new BusClock(typeof clocks === "function" ? { clocks } : clocks);
  }

  /** Undefined before the first image. */
  get report(): ClockReport | undefined {
    if (this.origin === undefined) return undefined;
    return {
      origin: this.origin,
      bus: this.#bus.name,
      offsetMs: 0,
      ...this.#line?.report,
      jumps: this.jumps,
    };
  }

  /**
   * @param stampNs the driver's time stamp modulo 2^64, signed
   * @param arrivalNs CLOCK_MONOTONIC when the image was taken from the driver
   * @param monotonic the driver says that the stamp is CLOCK_MONOTONIC
   * @returns capture time on CLOCK_MONOTONIC, ns
   */
  toMonotonic(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): bigint {
    const words = new Uint32Array(BigInt64Array.of(stampNs, arrivalNs).buffer);
    return arrivalNs - BigInt(Math.round(this.follow(words, 0, monotonic)));
  }

  /**
   * The same without a bigint, and so without memory.
   * @param words at `at` the stamp, then the arrival, each in two words of 32 bits, the lower first
   * @returns arrival less capture time, ns
   */
  follow(words: Uint32Array, at: number, monotonic: boolean): number {
    if (this.origin === undefined) this.#choose(signed(words, at), signed(words, at + 2), monotonic);
    if (this.origin === "arrival") return 0;
    if (Math.abs(this.#peekAge(words, at) - this.#lastNs[0]!) > JUMP_NS) {
      this.jumps++;
      this.#bridge(words, at, monotonic);
    }
    const rawNs = this.#readRawNs(words, at);
    const ageNs = rawNs - (this.#line?.correctionNs(readArrivalNs(words, at), rawNs, this.#lastNs[0]!) ?? 0);
    this.#lastNs[0] = ageNs;
    return ageNs;
  }

  #peekAge(words: Uint32Array, at: number): number {
    const rawNs = this.#readRawNs(words, at);
    return rawNs - (this.#line?.peekNs(readArrivalNs(words, at), rawNs, this.#lastNs[0]!) ?? 0);
  }

  /** Modulo 2^64, so that a counter that passes its top continues as if nothing had happened; exact below 2^53. */
  #readRawNs(words: Uint32Array, at: number): number {
    const [low, high] = [words[at]! + this.#offset[0]!, words[at + 1]! + this.#offset[1]!];
    return ((words[at + 3]! - high) | 0) * HIGH + (words[at + 2]! - low);
  }

  #setOffset(offsetNs: bigint): void {
    this.#offset[0] = Number(BigInt.asUintN(32, offsetNs));
    this.#offset[1] = Number(BigInt.asUintN(32, offsetNs >> 32n));
  }

  /** Finds the offset after a jump. */
  #bridge(words: Uint32Array, at: number, monotonic: boolean): void {
    const [stampNs, arrivalNs] = [signed(words, at), signed(words, at + 2)];
    // On CLOCK_MONOTONIC again, as after a wrap that was only a test: take stamps unchanged.
    if (monotonic && isAge(arrivalNs - stampNs) && (this.#line === undefined || this.origin === "device")) {
      this.origin = "monotonic";
      this.#line = undefined;
      this.#setOffset(0n);
      return;
    }
    if (this.#line === undefined) {
      this.#leaveMonotonic(stampNs, arrivalNs);
      return;
    }
    if (this.#isKnown(this.#line, words, at)) return;
    // The image is as old at its arrival as the one before.
    const lastNs = this.#lastNs[0]!;
    const correctionNs = this.#line.peekNs(readArrivalNs(words, at), lastNs, lastNs);
    this.#line.bridgedNs = arrivalNs - BigInt(Math.round(lastNs + correctionNs)) - stampNs;
    this.#setOffset(this.#line.bridgedNs);
  }

  /** Stamps were CLOCK_MONOTONIC until now. Another camera of the bus may have found the offset. */
  #leaveMonotonic(stampNs: bigint, arrivalNs: bigint): void {
    const lastNs = this.#lastNs[0]!;
    const offsetNs = arrivalNs - BigInt(Math.round(lastNs)) - stampNs;
    const { device } = this.#bus;
    const isSameClock = device !== undefined && magnitude(device.offsetNs - offsetNs) < SAME_JUMP_NS;
    if (!isSameClock) this.#bus.device = new Timeline(offsetNs, undefined, lastNs);
    this.#follow("device", this.#bus.device);
  }

  /** Tries the offset from before the jump, as after a pause or a step of a clock, then the one of the bus's other camera. */
  #isKnown(line: Timeline, words: Uint32Array, at: number): boolean {
    const isMeasured = this.origin !== "device";
    if (isMeasured) line.renew(readArrivalNs(words, at), 0);
    for (const offsetNs of [line.baseNs, line.bridgedNs]) {
      this.#setOffset(offsetNs);
      const ageNs = this.#peekAge(words, at);
      const isPlausible = isMeasured && offsetNs === line.baseNs && isAge(BigInt(Math.round(ageNs)));
      if (isPlausible || Math.abs(ageNs - this.#lastNs[0]!) < Number(SAME_JUMP_NS)) return true;
    }
    return false;
  }

  #choose(stampNs: bigint, arrivalNs: bigint, monotonic: boolean): void {
    const ageNs = arrivalNs - stampNs;
    const { tsc, realtime } = this.#bus;
    const tscAgeNs = tsc && ageNs - tsc.offsetNs;
    // The flag says CLOCK_MONOTONIC in both cases: the clock by which the image is nearer to its arrival is the right one.
    if (tscAgeNs !== undefined && isAge(tscAgeNs) && magnitude(tscAgeNs) < magnitude(ageNs)) {
      this.#follow("tsc", tsc);
    } else if (isAge(ageNs)) {
      this.origin = "monotonic";
    } else if (!monotonic && isAge(ageNs - realtime.offsetNs)) {
      this.#follow("realtime", realtime);
    } else if (stampNs === 0n) {
      this.origin = "arrival";
    } else {
      const { device } = this.#bus;
      const isSameClock = device !== undefined && isAge(ageNs - device.offsetNs);
      if (!isSameClock) this.#bus.device = new Timeline(ageNs);
      this.#follow("device", this.#bus.device);
    }
  }

  #follow(origin: StampOrigin, line: Timeline | undefined): void {
    this.origin = origin;
    this.#line = line;
    this.#setOffset(line?.baseNs ?? 0n);
  }
}

const readArrivalNs = (words: Uint32Array, at: number) => words[at + 3]! * HIGH + words[at + 2]!;
