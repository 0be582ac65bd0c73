// SPDX-License-Identifier: Apache-2.0
// Feeds an engine from memory for a given time: as fast as it can, or paced like a camera that does not wait.
import type { NativeEngine } from "../../../cuda/index.js";
import type { LendFrame } from "./added-work.js";
import type { DrawnPair } from "./frames.js";

/** Frames handed to the engine at once where it runs as fast as it can: one computed, one waiting. */
const IN_FLIGHT = 2;

export class FrameLoop {
  #begin = 0;
  #next = 0;
  /** Number of the last camera tick that was used. */
  #tick = -1;
  #flying = 0;
  #free: number[];
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;
  readonly #engine: NativeEngine;
  readonly #pairs: readonly DrawnPair[];
  readonly #rateHz: number | "max";
  readonly #seconds: number;
  readonly #onFrame: (takenNs: bigint, validPixels: number) => void;
  readonly #lend: LendFrame | undefined;

  /**
   * @param onFrame called for each finished frame with the moment it was taken in, CLOCK_MONOTONIC nanoseconds
   * @param lend gets every finished frame; the next one waits until it is released
   */
  constructor(
    engine: NativeEngine,
    pairs: readonly DrawnPair[],
    rateHz: number | "max",
    seconds: number,
    onFrame: (takenNs: bigint, validPixels: number) => void,
    lend?: LendFrame,
  ) {
    this.#engine = engine;
    this.#pairs = pairs;
    this.#rateHz = rateHz;
    this.#seconds = seconds;
    this.#onFrame = onFrame;
    this.#lend = lend;
    this.#free = engine.slots.map((_, slot) => slot);
  }

  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#begin = performance.now();
      this.#advance();
    });
  }

  get #passedSeconds(): number {
    return (performance.now() - this.#begin) / 1000;
  }

  #advance(): void {
    const passed = this.#passedSeconds;
    if (passed >= this.#seconds) {
      if (this.#flying === 0) this.#settle?.resolve();
      return;
    }
    if (this.#rateHz === "max") {
      while (this.#flying < IN_FLIGHT && this.#free.length > 0) this.#submit();
      return;
    }
    // A tick that passed while the engine was busy is not made up for.
    this.#tick = Math.max(this.#tick + 1, Math.ceil(passed * this.#rateHz));
    const dueMs = (this.#tick / this.#rateHz - passed) * 1000;
    setTimeout(() => (this.#passedSeconds < this.#seconds ? this.#submit() : this.#advance()), dueMs);
  }

  #submit(): void {
    const pair = this.#pairs[this.#next++ % this.#pairs.length]!;
    const slot = this.#free.pop()!;
    const takenNs = process.hrtime.bigint();
    this.#flying++;
    this.#engine.submit(slot, pair.left, pair.right, (error, result) => {
      const release = () => {
        this.#flying--;
        this.#free.push(slot);
        this.#advance();
      };
      if (error !== null) {
        this.#settle?.reject(error);
        return;
      }
      this.#onFrame(takenNs, result.validPixels);
      if (this.#lend === undefined) release();
      else this.#lend(this.#engine.slots[slot]!, { ...result }, takenNs, release);
    });
  }
}

/** Runs frames until `seconds` have passed and the last one is done. */
export function runFrames(...parameters: ConstructorParameters<typeof FrameLoop>): Promise<void> {
  return new FrameLoop(...parameters).run();
}
