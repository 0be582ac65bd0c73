// SPDX-License-Identifier: Apache-2.0
// Keeps the disparities and images of the last frames, in memory that is allocated once per image size.
import { allocate } from "../../../core/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";

export interface KeptFrame {
  width: number;
  height: number;
  /** Grey; empty: the engine did not give it. */
  left: Uint8Array;
  right: Uint8Array;
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  clock: ComputedFrame["clock"];
  timestampNs: bigint;
  sequence: number;
  /** Capture time, milliseconds since 1970. */
  timeMs: number;
}

/** "early": newer than every kept frame; "late": older than every kept frame; "missing": between kept frames. */
export type Lookup = KeptFrame | "early" | "late" | "missing" | "empty";

export class DepthHistory {
  readonly #capacity: number;
  #frames: KeptFrame[] = [];
  /** Frames that were added since the size changed. */
  #added = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Forgets all frames: their times belong to another source. */
  clear(): void {
    this.#added = 0;
  }

  get newest(): KeptFrame | undefined {
    return this.#added === 0 ? undefined : this.#frames[(this.#added - 1) % this.#capacity];
  }

  /** Copies a frame over the oldest one. */
  add(frame: ComputedFrame, timeMs: number): void {
    const { width, height, slot } = frame;
    const first = this.#frames[0];
    if (first?.width !== width || first.height !== height || first.right.length !== slot.right.length) {
      this.#frames = Array.from({ length: this.#capacity }, () =>
        emptyFrame(width, height, slot.right.length),
      );
      this.#added = 0;
    }
    const kept = this.#frames[this.#added % this.#capacity]!;
    kept.left.set(slot.left);
    kept.right.set(slot.right);
    kept.disparityQ4.set(slot.disparityQ4);
    kept.confidence.set(slot.confidence);
    kept.clock = frame.clock;
    kept.timestampNs = frame.leftTimestampNs;
    kept.sequence = frame.leftSequence;
    kept.timeMs = timeMs;
    this.#added++;
  }

  /**
   * Returns the frame whose distance from a reference is least, if that is at most `tolerance`. If the reference is
   * newer than every frame by more than a quarter of it, a better frame may still come: "early", unless `isLast`.
   */
  #nearest(distance: (frame: KeptFrame) => number, tolerance: number, isLast: boolean): Lookup {
    const newest = this.newest;
    if (newest === undefined) return "empty";
    let [best, least] = [newest, Number.POSITIVE_INFINITY];
    let isNewer = true;
    let isOlder = true;
    for (let back = 1; back <= Math.min(this.#added, this.#capacity); back++) {
      const frame = this.#frames[(this.#added - back) % this.#capacity]!;
      const signed = distance(frame);
      if (signed >= 0) isNewer = false;
      if (signed <= 0) isOlder = false;
      if (Math.abs(signed) >= least) continue;
      [best, least] = [frame, Math.abs(signed)];
    }
    if (least <= (isNewer && !isLast ? tolerance / 4 : tolerance)) return best;
    return isNewer ? "early" : isOlder ? "late" : "missing";
  }

  /** @param isLast do not wait for a better frame */
  byTime(timeMs: number, toleranceMs: number, isLast = false): Lookup {
    return this.#nearest((frame) => frame.timeMs - timeMs, toleranceMs, isLast);
  }

  byTimestamp(timestampNs: bigint, toleranceMs: number, isLast = false): Lookup {
    return this.#nearest((frame) => Number(frame.timestampNs - timestampNs) / 1e6, toleranceMs, isLast);
  }

  bySequence(sequence: number): Lookup {
    return this.#nearest((frame) => frame.sequence - sequence, 0, true);
  }
}

function emptyFrame(width: number, height: number, rightPixels: number): KeptFrame {
  const memory = (bytes: number) => allocate(bytes, "the history of depth");
  return {
    width,
    height,
    left: new Uint8Array(memory(width * height)),
    right: new Uint8Array(memory(rightPixels)),
    disparityQ4: new Int16Array(memory(2 * width * height)),
    confidence: new Uint8Array(memory(width * height)),
    clock: "monotonic",
    timestampNs: 0n,
    sequence: 0,
    timeMs: 0,
  };
}
