// SPDX-License-Identifier: Apache-2.0
// When frames were captured, newest last, in a ring: how many are in a window is two look-ups.

export class FrameTimes {
  readonly #times: Float64Array;
  #taken = 0;

  constructor(capacity: number) {
    this.#times = new Float64Array(capacity);
  }

  /** Frames ever noted. */
  get total(): number {
    return this.#taken;
  }

  /** Notes a frame; one that was captured before its predecessor counts as simultaneous. */
  add(timeNs: number): void {
    const last = this.#taken === 0 ? -Infinity : this.#times[(this.#taken - 1) % this.#times.length]!;
    this.#times[this.#taken % this.#times.length] = Math.max(last, timeNs);
    this.#taken++;
  }

  /** Frames with from <= time < to among those still kept. */
  between(fromNs: number, toNs: number): number {
    return this.#below(toNs) - this.#below(fromNs);
  }

  #below(time: number): number {
    let low = Math.max(0, this.#taken - this.#times.length);
    let high = this.#taken;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#times[middle % this.#times.length]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
