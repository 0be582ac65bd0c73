// SPDX-License-Identifier: Apache-2.0
// So many events in any second, and no more.

export class RateLimit {
  readonly #maxPerSecond: number;
  readonly #now: () => number;
  readonly #taken: number[] = [];

  /** @param now milliseconds of a clock that never goes back */
  constructor(maxPerSecond: number, now: () => number = () => performance.now()) {
    this.#maxPerSecond = maxPerSecond;
    this.#now = now;
  }

  /** Returns whether one more may happen now, and counts it. */
  take(): boolean {
    const now = this.#now();
    while (this.#taken[0] !== undefined && this.#taken[0] <= now - 1000) this.#taken.shift();
    if (this.#taken.length >= this.#maxPerSecond) return false;
    this.#taken.push(now);
    return true;
  }
}
