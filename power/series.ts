// SPDX-License-Identifier: Apache-2.0
// One rail over time: running integrals at every sample, so that the energy between any two moments is two look-ups.
import type { RailDescription, RailReading, Unavailable } from "./sensor.js";

/** Energy of one rail in one window. */
export interface RailEnergy {
  available: true;
  joules: number;
  /** Mean power over the window. */
  watts: number;
  /**
   * Standard uncertainty (one sigma) of `watts`: step size and sampling; the sensor's own gain error is not in it.
   * Unavailable if the sensor's step is not known.
   */
  wattsStandardUncertainty: number | Unavailable;
  samples: number;
}

/** Columns of a sample; times are nanoseconds after the origin, all others running sums since the first sample. */
const TIME = 0;
const MILLIWATTS = 1;
const MICROJOULES = 2;
const SQUARED_STEPS = 3;
const GAP_NS = 4;
const COUNT = 5;
/** The sample at which the value of this one was first read: an earlier one if a counter repeats its value. */
const FIRST_READ = 6;
const COLUMNS = 7;

/** Energy of several rails, with the variance of the joules; NaN if the step of a sensor is unknown. */
export interface EnergySum {
  joules: number;
  variance: number;
}

export class RailSeries {
  readonly #rail: RailDescription;
  readonly #originNs: bigint;
  readonly #gapLimitNs: number;
  readonly #rows: Float64Array;
  readonly #capacity: number;
  /** Samples ever taken; the newest is at (taken - 1) % capacity. */
  #taken = 0;
  #firstNs = Number.NaN;
  /** Counters may begin anywhere; the sums of power rails begin at zero. */
  #firstMicrojoules = 0;
  #lastFailure: { atNs: number; reason: string } | undefined;

  /**
   * @param gapLimitNs the longest pause between two readings that is still called sampling
   * @param capacity samples kept; older ones are forgotten, but the sums since the first one stay
   */
  constructor(rail: RailDescription, originNs: bigint, gapLimitNs: number, capacity: number) {
    this.#rail = rail;
    this.#originNs = originNs;
    this.#gapLimitNs = gapLimitNs;
    this.#capacity = capacity;
    this.#rows = new Float64Array(capacity * COLUMNS);
  }

  get taken(): number {
    return this.#taken;
  }

  /** Nanoseconds after the origin; NaN before the first sample. */
  get firstNs(): number {
    return this.#firstNs;
  }

  get lastNs(): number {
    return this.#taken === 0 ? Number.NaN : this.#at(this.#taken - 1, TIME);
  }

  #at(sample: number, column: number): number {
    return this.#rows[(sample % this.#capacity) * COLUMNS + column]!;
  }

  /** Takes one reading; readings that are not newer than the last one carry nothing new and are left out. */
  add(reading: RailReading, nowNs: bigint): void {
    if (!reading.available) {
      this.#lastFailure = { atNs: Number(nowNs - this.#originNs), reason: reading.reason };
      return;
    }
    const time = Number(reading.timestampNs - this.#originNs);
    const last = this.#taken - 1;
    if (last >= 0 && time <= this.#at(last, TIME)) return;
    const counted = this.#rail.kind === "energy";
    const value = counted ? Number(reading.energyMicrojoules ?? 0n) : (reading.powerMilliwatts ?? Number.NaN);
    if (!Number.isFinite(value)) return;
    const row = (this.#taken % this.#capacity) * COLUMNS;
    const rows = this.#rows;
    if (last < 0) {
      this.#firstNs = time;
      this.#firstMicrojoules = counted ? value : 0;
      rows[row + MILLIWATTS] = counted ? 0 : value;
      rows[row + MICROJOULES] = counted ? value : 0;
    } else {
      const gap = time - this.#at(last, TIME);
      const before = this.#at(last, MILLIWATTS);
      // mW x ns = 1e-12 J = 1e-6 uJ
      const energy = counted ? value : this.#at(last, MICROJOULES) + (gap * (before + value) * 0.5) / 1e6;
      const power = counted ? 0 : value;
      const step = power - before;
      // A counter continues counting through a pause in reading it; samples of power do not.
      const lost = !counted && gap > this.#gapLimitNs ? gap : 0;
      const squared = this.#at(last, SQUARED_STEPS) + step * step;
      const gaps = this.#at(last, GAP_NS) + lost;
      const count = this.#at(last, COUNT) + 1;
      rows[row + MILLIWATTS] = power;
      rows[row + MICROJOULES] = energy;
      rows[row + SQUARED_STEPS] = squared;
      rows[row + GAP_NS] = gaps;
      rows[row + COUNT] = count;
      const isRepeated = counted && value === this.#at(last, MICROJOULES);
      rows[row + FIRST_READ] = isRepeated ? this.#at(last, FIRST_READ) : this.#taken;
    }
    rows[row + TIME] = time;
    this.#taken++;
  }

  /** Index of the last sample at or before `time`; the caller has made sure that there is one. */
  #find(time: number): number {
    let low = Math.max(0, this.#taken - this.#capacity);
    let high = this.#taken - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#at(middle, TIME) <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Energy counted up to `time`, microjoules: the integral of a straight line between two samples. */
  #energyAt(time: number, sample: number): number {
    const energy = this.#at(sample, MICROJOULES);
    const passed = time - this.#at(sample, TIME);
    // The newest sample has none after it, and no time has passed since then.
    if (passed === 0) return energy;
    const gap = this.#at(sample + 1, TIME) - this.#at(sample, TIME);
    if (this.#rail.kind === "energy")
      return energy + ((this.#at(sample + 1, MICROJOULES) - energy) * passed) / gap;
    const power = this.#at(sample, MILLIWATTS);
    const slope = (this.#at(sample + 1, MILLIWATTS) - power) / gap;
    return energy + (passed * (power + 0.5 * slope * passed)) / 1e6;
  }

  /**
   * Energy between two moments, nanoseconds after the origin.
   * Standard uncertainty of the mean power, in quadrature:
   * - power rails: step / sqrt(12), not reduced by averaging because a steady load stays at one place inside the step,
   *   and sqrt(sum of squared differences of neighbours / 2 / n) / sqrt(n), von Neumann's estimate, for what happens
   *   between samples;
   * - counters: a step and an update interval of time at either end, each evenly spread: x / sqrt(6).
   */
  between(fromNs: number, toNs: number): RailEnergy | Unavailable {
    const label = this.#rail.label;
    const latest = this.#lastFailure;
    if (this.#taken === 0) return { available: false, reason: latest?.reason ?? `${label}: no reading yet` };
    // A window may end after the newest sample: by up to the gap limit that is normal, beyond it the sensor has failed.
    if (toNs > this.lastNs + this.#gapLimitNs) {
      const since = ((toNs - this.lastNs) / 1e9).toFixed(1);
      const why = latest !== undefined && latest.atNs > this.lastNs ? `: ${latest.reason}` : "";
      return { available: false, reason: `${label}: no reading for the last ${since} s of the window${why}` };
    }
    const oldest = Math.max(0, this.#taken - this.#capacity);
    if (oldest > 0 && fromNs < this.#at(oldest, TIME) - this.#gapLimitNs) {
      return {
        available: false,
        reason: `${label}: the window begins before the samples that are still kept`,
      };
    }
    const from = Math.max(fromNs, this.#at(oldest, TIME));
    const to = Math.min(toNs, this.lastNs);
    return this.#window(from, to);
  }

  /** The moment up to which addEnergy() knows the energy: the newest reading, for a counter the newest that changed. */
  get knownNs(): number {
    return this.#taken === 0
      ? Number.NEGATIVE_INFINITY
      : this.#at(this.#at(this.#taken - 1, FIRST_READ), TIME);
  }

  /** Returns why the energy up to `nowNs` is not known yet. */
  waitsFor(nowNs: number): string {
    const { label, kind } = this.#rail;
    const failure = this.#lastFailure;
    if (failure !== undefined && !(failure.atNs <= this.lastNs)) return `${label}: ${failure.reason}`;
    if (this.#taken === 0) return `${label}: no reading yet`;
    const seconds = ((nowNs - this.knownNs) / 1e9).toFixed(1);
    const isStopped = kind === "energy" && this.lastNs - this.knownNs > this.#gapLimitNs;
    return `${label}: ${isStopped ? "the counter did not change" : "no reading"} for ${seconds} s`;
  }

  /**
   * Adds the energy of a window as short as a frame; allocates nothing. A counter is interpolated between the readings at
   * which it changed. Uncertainty: as between(), with the distance of these readings as a counter's update interval.
   * @param toNs not after knownNs
   * @returns why the energy is not known; undefined: it was added
   */
  addEnergy(fromNs: number, toNs: number, sum: EnergySum): string | undefined {
    const { label, kind, step = Number.NaN } = this.#rail;
    const oldest = Math.max(0, this.#taken - this.#capacity);
    if (this.#taken === 0 || fromNs < this.#at(oldest, TIME)) return `${label}: no reading before the frame`;
    let from = this.#at(this.#find(fromNs), FIRST_READ);
    if (from < oldest) return `${label}: no reading before the frame`;
    let microjoules = 0;
    let edges = 0;
    let squared = 0;
    let samples = 0;
    for (;;) {
      let to = from + 1;
      while (this.#at(to, FIRST_READ) !== to) to++;
      const [begin, end] = [this.#at(from, TIME), this.#at(to, TIME)];
      const gap = end - begin;
      if (gap > this.#gapLimitNs) return `${label}: not sampled for ${(gap / 1e9).toFixed(1)} s`;
      const [left, right] = [Math.max(fromNs, begin), Math.min(toNs, end)];
      const rise = this.#at(to, MICROJOULES) - this.#at(from, MICROJOULES);
      if (kind === "energy") {
        microjoules += (rise * (right - left)) / gap;
        // A reading's energy that an edge of the window splits may belong to the window with any share.
        if (begin < fromNs) edges += rise * rise;
        if (end > toNs) edges += rise * rise;
      } else {
        const power = this.#at(from, MILLIWATTS);
        const slope = (this.#at(to, MILLIWATTS) - power) / gap;
        microjoules += ((right - left) * (power + slope * (0.5 * (left + right) - begin))) / 1e6;
        squared += this.#at(to, SQUARED_STEPS) - this.#at(from, SQUARED_STEPS);
      }
      samples++;
      if (end >= toNs) break;
      from = to;
    }
    if (!(microjoules > 0)) return `${label}: the sensor shows no energy`;
    const seconds = (toNs - fromNs) / 1e9;
    const variance =
      kind === "energy"
        ? (edges + 2 * step * step) / 12e12
        : seconds * seconds * ((step * step) / 12e6 + squared / 1e6 / (2 * samples * samples));
    sum.joules += microjoules / 1e6;
    sum.variance += variance;
    return undefined;
  }

  /** From the first sample ever to `toNs`, even when the samples in between are forgotten. */
  sinceStart(toNs: number): RailEnergy | Unavailable {
    if (this.#taken === 0) return this.between(0, toNs);
    const oldest = Math.max(0, this.#taken - this.#capacity);
    if (oldest === 0) return this.between(this.#firstNs, toNs);
    const tail = this.between(this.#at(oldest, TIME), toNs);
    if (!tail.available) return tail;
    return this.#window(this.#firstNs, Math.min(toNs, this.lastNs));
  }

  #window(from: number, to: number): RailEnergy | Unavailable {
    const label = this.#rail.label;
    const duration = to - from;
    if (!(duration > 0))
      return { available: false, reason: `${label}: fewer than two readings in the window` };
    const last = this.#find(to);
    const fromStart = from === this.#firstNs;
    const first = fromStart ? -1 : this.#find(from);
    const startCount = fromStart ? 0 : this.#at(first, COUNT);
    const start = fromStart ? this.#firstMicrojoules : this.#energyAt(from, first);
    // Where a window ends at a reading, the step after it is not in it.
    const end = to > this.#at(last, TIME) ? last + 1 : last;
    const samples = this.#at(last, COUNT) - startCount;
    const gapNs = this.#at(end, GAP_NS) - (fromStart ? 0 : this.#at(first, GAP_NS));
    if (gapNs > duration * 0.01) {
      const lost = (gapNs / 1e9).toFixed(1);
      return {
        available: false,
        reason: `${label}: ${lost} s of ${(duration / 1e9).toFixed(1)} s were not sampled`,
      };
    }
    const microjoules = this.#energyAt(to, last) - start;
    if (this.#rail.kind === "energy" && !(microjoules > 0)) {
      const seconds = (duration / 1e9).toFixed(1);
      return { available: false, reason: `${label}: the counter did not change for ${seconds} s` };
    }
    const watts = (microjoules / duration) * 1e3;
    const squared = this.#at(end, SQUARED_STEPS) - (fromStart ? 0 : this.#at(first, SQUARED_STEPS));
    const variance = this.#variance(watts, duration, samples, squared);
    return {
      available: true,
      joules: microjoules / 1e6,
      watts,
      wattsStandardUncertainty: Number.isNaN(variance) ? unknownStep(label) : Math.sqrt(variance),
      samples,
    };
  }

  /** Returns the variance of a window's mean power, as between() describes it; NaN if the sensor's step is not known. */
  #variance(watts: number, durationNs: number, samples: number, squaredSteps: number): number {
    const { kind, step = Number.NaN, updateIntervalMs = Number.NaN } = this.#rail;
    if (kind === "energy") {
      const edge = (updateIntervalMs * 1e6 * watts) / durationNs;
      const quantum = (step / durationNs) * 1e3;
      return (edge * edge + quantum * quantum) / 6;
    }
    const n = Math.max(1, samples);
    return (step * step) / 12e6 + squaredSteps / 1e6 / (2 * n * n);
  }
}

const unknownStep = (label: string): Unavailable => ({
  available: false,
  reason: `${label}: the step of the sensor is unknown`,
});

/** Rails of a total do not overlap; their uncertainties are independent, so they add in quadrature. */
export function sumOfRails(
  parts: readonly (RailEnergy | Unavailable | undefined)[],
): RailEnergy | Unavailable {
  let joules = 0;
  let watts = 0;
  let variance = 0;
  let unknown: Unavailable | undefined;
  let samples = Infinity;
  for (const part of parts) {
    if (part === undefined) return { available: false, reason: "a rail of the total does not exist" };
    if (!part.available) return part;
    joules += part.joules;
    watts += part.watts;
    const uncertainty = part.wattsStandardUncertainty;
    if (typeof uncertainty === "number") variance += uncertainty ** 2;
    else unknown ??= uncertainty;
    samples = Math.min(samples, part.samples);
  }
  return {
    available: true,
    joules,
    watts,
    wattsStandardUncertainty: unknown ?? Math.sqrt(variance),
    samples,
  };
}
