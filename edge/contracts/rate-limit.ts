// SPDX-License-Identifier: Apache-2.0
// Keeps a sequence of frames below a rate.

/** A frame that comes this much of an interval early is on time: cameras jitter. */
const EARLY_SHARE = 0.1;

export class RateLimit {
  #intervalMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(rateHz: number | "max" = "max") {
    this.set(rateHz);
  }

  set(rateHz: number | "max"): void {
    this.#intervalMs = rateHz === "max" ? 0 : 1000 / rateHz;
  }

  /** Returns whether a frame comes too early; one that does not begins the next interval. */
  isEarly(): boolean {
    if (this.#intervalMs === 0) return false;
    const now = performance.now();
    if (now - this.#lastMs < this.#intervalMs * (1 - EARLY_SHARE)) return true;
    this.#lastMs = now;
    return false;
  }
}
