// SPDX-License-Identifier: Apache-2.0
// Percentiles of any number of values in fixed memory: counts of intervals that grow by 1 % from one to the next.

export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** The smallest value that is distinguished from 0, and the largest that is distinguished from larger ones: 1 ns and 10^6 s, in milliseconds. */
const MIN_MS = 1e-6;
const MAX_MS = 1e9;
const GROWTH = Math.log(1.01);
const INTERVALS = Math.ceil(Math.log(MAX_MS / MIN_MS) / GROWTH) + 1;

export class Histogram {
  readonly #counts = new Float64Array(INTERVALS);
  #count = 0;
  #smallest = Number.POSITIVE_INFINITY;
  #largest = Number.NEGATIVE_INFINITY;

  /** Values of 0 or more; smaller ones count as the smallest interval. */
  add(value: number): void {
    const place = value > MIN_MS ? Math.floor(Math.log(Math.min(value, MAX_MS) / MIN_MS) / GROWTH) : 0;
    this.#counts[place] = this.#counts[place]! + 1;
    this.#count++;
    this.#smallest = Math.min(this.#smallest, value);
    this.#largest = Math.max(this.#largest, value);
  }

  get count(): number {
    return this.#count;
  }

  /** Nearest-rank percentiles, each within 0.5 % of the exact one; undefined before the first value. */
  percentiles(): Percentiles | undefined {
    if (this.#count === 0) return undefined;
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) =>
      this.#at(Math.max(1, Math.ceil(share * this.#count))),
    );
    return { p50: p50!, p95: p95!, p99: p99! };
  }

  #at(rank: number): number {
    let before = 0;
    for (let place = 0; place < INTERVALS; place++) {
      before += this.#counts[place]!;
      if (before < rank) continue;
      const middle = MIN_MS * Math.exp((place + 0.5) * GROWTH);
      return Math.min(Math.max(middle, this.#smallest), this.#largest);
    }
    return this.#largest;
  }
}
