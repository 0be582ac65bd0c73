// SPDX-License-Identifier: Apache-2.0
// Mean and 99th percentile of the time between the two images of a pair, in memory made once.

/** The percentile looks back over this many pairs; the mean over all. */
const WINDOW_PAIRS = 1024;

export class SkewStatistics {
  readonly #recentMs = new Float64Array(WINDOW_PAIRS);
  readonly #sortedMs = new Float64Array(WINDOW_PAIRS);
  #count = 0;
  #sumMs = 0;

  add(leftNs: bigint, rightNs: bigint): void {
    const skewMs = Math.abs(Number(leftNs - rightNs)) / 1e6;
    this.#recentMs[this.#count % WINDOW_PAIRS] = skewMs;
    this.#sumMs += skewMs;
    this.#count++;
  }

  get meanMs(): number | undefined {
    return this.#count === 0 ? undefined : this.#sumMs / this.#count;
  }

  /** Smallest value that at least 99 % of the recent pairs do not exceed. */
  get p99Ms(): number | undefined {
    if (this.#count === 0) return undefined;
    const filled = Math.min(this.#count, WINDOW_PAIRS);
    const sorted = this.#sortedMs.subarray(0, filled);
    sorted.set(this.#recentMs.subarray(0, filled));
    sorted.sort();
    return sorted[Math.ceil(0.99 * filled) - 1];
  }
}
