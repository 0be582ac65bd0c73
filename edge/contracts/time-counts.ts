// SPDX-License-Identifier: Apache-2.0
// How many times lay at or below fixed bounds, exactly: what a Prometheus histogram is made of. Nothing is allocated per value.

/** Upper bounds in milliseconds. Below 0.1 ms and beyond 2.5 s no consumer asks how much exactly. */
export const TIME_BOUNDS_MS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 16, 25, 33, 50, 66, 100, 250, 500, 1000, 2500,
] as const;

export interface TimeCountsSnapshot {
  /** For each bound of TIME_BOUNDS_MS: the number of values up to that bound, including all smaller ones. */
  cumulative: readonly number[];
  count: number;
  sumMs: number;
}

export class TimeCounts {
  /** The last one counts what lies beyond every bound. */
  readonly #counts = new Float64Array(TIME_BOUNDS_MS.length + 1);
  #count = 0;
  #sumMs = 0;

  add(milliseconds: number): void {
    let place = 0;
    while (place < TIME_BOUNDS_MS.length && !(milliseconds <= TIME_BOUNDS_MS[place]!)) place++;
    this.#counts[place] = this.#counts[place]! + 1;
    this.#count++;
    this.#sumMs += milliseconds;
  }

  snapshot(): TimeCountsSnapshot {
    let below = 0;
    const cumulative = TIME_BOUNDS_MS.map((_, place) => (below += this.#counts[place]!));
    return { cumulative, count: this.#count, sumMs: this.#sumMs };
  }
}
