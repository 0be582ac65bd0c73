// SPDX-License-Identifier: Apache-2.0
// Which left image belongs to which right image while they come in: the nearest in time within a window. Pure logic.

export type Side = "left" | "right";

export interface Timed {
  /** Capture time, both cameras on one clock, ns. */
  readonly timestampNs: bigint;
}

/** `unmatched`: no partner within the window. `alone`: the other camera delivers nothing to pair with. */
export type UnpairedCause = "unmatched" | "alone";

export interface PairerEvents<T> {
  onPair(left: T, right: T): void;
  onUnpaired(side: Side, item: T, cause: UnpairedCause): void;
}

/** Images of one camera that may wait for the other; each is a buffer that its camera lacks. */
const CAMERA_WAITING = 2;

/**
 * Pairs two streams that are each in order of time. An image is paired at once when a partner within the window is
 * there: with a window of at most half a period a later image could not be nearer by more than the cameras' jitter.
 */
export class Pairer<T extends Timed> {
  readonly #events: PairerEvents<T>;
  readonly #left: T[] = [];
  readonly #right: T[] = [];
  readonly #maxWaiting: number;
  #windowNs: number;

  /**
   * @param windowNs largest |left - right| within a pair, inclusive
   * @param maxWaiting of one camera for the other, before the oldest is given up
   */
  constructor(windowNs: number, events: PairerEvents<T>, maxWaiting = CAMERA_WAITING) {
    this.#maxWaiting = maxWaiting;
    this.#windowNs = windowNs;
    this.#events = events;
  }

  get windowNs(): number {
    return this.#windowNs;
  }

  set windowNs(windowNs: number) {
    this.#windowNs = windowNs;
  }

  push(side: Side, item: T): void {
    const own = side === "left" ? this.#left : this.#right;
    own.push(item);
    this.#settle();
    if (own.length > this.#maxWaiting) this.#events.onUnpaired(side, own.shift()!, "alone");
  }

  /** Hands back what waits, as when a camera went away. */
  clear(): void {
    for (const item of this.#left.splice(0)) this.#events.onUnpaired("left", item, "alone");
    for (const item of this.#right.splice(0)) this.#events.onUnpaired("right", item, "alone");
  }

  #settle(): void {
    while (this.#left.length > 0 && this.#right.length > 0) {
      const skewNs = Number(this.#right[0]!.timestampNs - this.#left[0]!.timestampNs);
      const [older, olderSide, newer] =
        skewNs >= 0
          ? ([this.#left, "left", this.#right] as const)
          : ([this.#right, "right", this.#left] as const);
      const distanceNs = Math.abs(skewNs);
      if (distanceNs > this.#windowNs || this.#nextIsNearer(older, newer[0]!, distanceNs)) {
        this.#events.onUnpaired(olderSide, older.shift()!, "unmatched");
      } else {
        this.#events.onPair(this.#left.shift()!, this.#right.shift()!);
      }
    }
  }

  #nextIsNearer(older: readonly T[], newer: T, distanceNs: number): boolean {
    const next = older[1];
    return next !== undefined && Math.abs(Number(next.timestampNs - newer.timestampNs)) < distanceNs;
  }
}

/**
 * The window for two frame periods: half the shorter one, or the user's limit where that is smaller.
 * @param maxSkewNs the strict mode of cameras that are triggered together
 */
export function pairWindowNs(
  leftPeriodNs: number | undefined,
  rightPeriodNs: number | undefined,
  maxSkewNs: number | undefined,
): number {
  const half =
    Math.min(leftPeriodNs ?? Number.POSITIVE_INFINITY, rightPeriodNs ?? Number.POSITIVE_INFINITY) / 2;
  const window = Math.min(half, maxSkewNs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(window) ? window : DEFAULT_WINDOW_NS;
}

/** Half a period of 30 Hz, until the first images show their rate. */
const DEFAULT_WINDOW_NS = 1e9 / 60;
