// SPDX-License-Identifier: Apache-2.0
// How many values lay at or below fixed bounds, exactly: what a Prometheus histogram is made of. Nothing is allocated per value.

/** The buckets of a histogram. */
export interface Buckets {
  /** Upper bounds, rising. */
  bounds: readonly number[];
  /** Values divided by it are in the unit of the histogram. */
  perUnit: number;
}

/** Milliseconds. Below 0.1 ms and beyond 2.5 s no consumer asks how much exactly. */
export const TIME_BUCKETS: Buckets = {
  bounds: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 16, 25, 33, 50, 66, 100, 250, 500, 1000, 2500],
  perUnit: 1000,
};

/** Milliseconds between the two images of a pair, from triggered cameras to free-running ones. */
export const SKEW_BUCKETS: Buckets = {
  bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50],
  perUnit: 1000,
};

/** Joules of a frame, from a stripped board at a high rate to a workstation at a low one. */
export const ENERGY_BUCKETS: Buckets = {
  bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50],
  perUnit: 1,
};

export interface BucketCountsSnapshot {
  buckets: Buckets;
  /** For each bound: the number of values up to that bound, including all smaller ones. */
  cumulative: readonly number[];
  count: number;
  sum: number;
}

export class BucketCounts {
  readonly #buckets: Buckets;
  /** The last one counts what lies beyond every bound. */
  readonly #counts: Float64Array;
  #count = 0;
  #sum = 0;

  constructor(buckets: Buckets) {
    this.#buckets = buckets;
    this.#counts = new Float64Array(buckets.bounds.length + 1);
  }

  add(value: number): void {
    const { bounds } = this.#buckets;
    let place = 0;
    while (place < bounds.length && !(value <= bounds[place]!)) place++;
    this.#counts[place] = this.#counts[place]! + 1;
    this.#count++;
    this.#sum += value;
  }

  snapshot(): BucketCountsSnapshot {
    let below = 0;
    const buckets = this.#buckets;
    const cumulative = buckets.bounds.map((_, place) => (below += this.#counts[place]!));
    return { buckets, cumulative, count: this.#count, sum: this.#sum };
  }
}
