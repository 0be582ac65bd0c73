// SPDX-License-Identifier: Apache-2.0
// A small generator with a seed that failures print, for tests that need no native code. DEPTHWATT_SEED replays one.

export class Random {
  #state: number;

  constructor(readonly seed: number = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007)) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  }

  /** A whole number in [low, high]. */
  whole(low: number, high: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return low + (this.#state % (high - low + 1));
  }
}
