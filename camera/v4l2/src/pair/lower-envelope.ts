// SPDX-License-Identifier: Apache-2.0
// Follows the lower envelope of noisy delays: the shortest delays of the last minutes, joined by a line. Its slope is the
// drift between two clocks, because a delay is only ever lengthened by a busy machine.

const WINDOW_NS = 10e9;
const WINDOWS = 30;
/** Fewer shortest delays than this say nothing about a slope. */
const MIN_POINTS = 4;
/** Crystals differ by less. */
const MAX_SLOPE = 500e-6;

export class LowerEnvelope {
  /** Shortest delay of each window: when, and how long. The newest is at `#count - 1`. */
  readonly #times = new Float64Array(WINDOWS);
  readonly #delays = new Float64Array(WINDOWS);
  #count = 0;
  /** End of the newest window, and the slope of the line. In an array because a field would be a new number each time. */
  readonly #state = Float64Array.of(Number.NEGATIVE_INFINITY, 0);

  /** @param timeNs never earlier than the one before by more than a window */
  add(timeNs: number, delayNs: number): void {
    if (timeNs >= this.#state[0]!) this.#begin(timeNs, delayNs);
    const newest = this.#count - 1;
    if (delayNs >= this.#delays[newest]!) return;
    this.#times[newest] = timeNs;
    this.#delays[newest] = delayNs;
  }

  /** Returns the delay of the envelope at a time; NaN before the first one. */
  at(timeNs: number): number {
    const slope = this.#state[1]!;
    let lowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#count; i++)
      lowest = Math.min(lowest, this.#delays[i]! + slope * (timeNs - this.#times[i]!));
    return this.#count === 0 ? Number.NaN : lowest;
  }

  /** Parts per million by which the delays grow. */
  get driftPpm(): number {
    return this.#state[1]! * 1e6;
  }

  /** Returns how far the shortest delays of the windows lie above the envelope, on average; undefined before a slope. */
  get spreadNs(): number | undefined {
    if (this.#count < MIN_POINTS) return undefined;
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum += this.#delays[i]! - this.at(this.#times[i]!);
    return sum / this.#count;
  }

  #begin(timeNs: number, delayNs: number): void {
    if (this.#count >= MIN_POINTS) this.#state[1] = this.#slope();
    if (this.#count === WINDOWS) {
      this.#times.copyWithin(0, 1);
      this.#delays.copyWithin(0, 1);
      this.#count--;
    }
    this.#times[this.#count] = timeNs;
    this.#delays[this.#count] = delayNs;
    this.#count++;
    this.#state[0] = timeNs + WINDOW_NS;
  }

  /** Slope of the lower hull's edge over the middle: the line below all points with the least distance to them. */
  #slope(): number {
    const hull: number[] = [];
    const slopeBetween = (a: number, b: number) =>
      (this.#delays[b]! - this.#delays[a]!) / (this.#times[b]! - this.#times[a]!);
    let sum = 0;
    for (let i = 0; i < this.#count; i++) {
      sum += this.#times[i]! - this.#times[0]!;
      while (hull.length > 1 && slopeBetween(hull.at(-2)!, hull.at(-1)!) >= slopeBetween(hull.at(-1)!, i))
        hull.pop();
      hull.push(i);
    }
    const middle = this.#times[0]! + sum / this.#count;
    const end = Math.max(
      1,
      hull.findIndex((i) => this.#times[i]! >= middle),
    );
    const slope = slopeBetween(hull[end - 1]!, hull[end]!);
    return Math.max(-MAX_SLOPE, Math.min(MAX_SLOPE, slope));
  }
}
