// SPDX-License-Identifier: Apache-2.0
// The chance of a soak: what its seed gives, it gives again.
export class Random {
  #state;

  constructor(seed) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  /** From 0 to below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  whole(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick(from) {
    return from[this.whole(0, from.length - 1)];
  }
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
