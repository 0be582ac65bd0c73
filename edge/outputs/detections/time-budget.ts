// SPDX-License-Identifier: Apache-2.0
// Limits the share of the main thread's time that requests take, since frames need the rest.

/** A share of the time may be spent, and at once as much as the share of one second. */
export class TimeBudget {
  readonly #share: number;
  readonly #now: () => number;
  #leftMs: number;
  #updatedMs: number;

  /**
   * @param share from 0 to 1
   * @param now milliseconds of a clock that never goes back
   */
  constructor(share: number, now: () => number = () => performance.now()) {
    this.#share = share;
    this.#now = now;
    this.#leftMs = 1000 * share;
    this.#updatedMs = now();
  }

  /** Calls `work` and returns true, or returns false if the time is spent. Work that overruns is paid for later. */
  spend(work: () => void): boolean {
    const startMs = this.#now();
    this.#leftMs = Math.min(1000 * this.#share, this.#leftMs + this.#share * (startMs - this.#updatedMs));
    this.#updatedMs = startMs;
    if (this.#leftMs <= 0) return false;
    try {
      work();
    } finally {
      this.#leftMs -= this.#now() - startMs;
    }
    return true;
  }
}
