// SPDX-License-Identifier: Apache-2.0
// Decides after a wake when the exposure has settled: the mean grey value changes little from frame to frame.
import type { RawImage } from "../../camera/index.js";
import { sampleGreys } from "../../camera/index.js";
import { mean } from "../../core/index.js";

/** Largest change of the mean of a settled exposure, grey levels. */
const STEADY_GREY = 2;
/** Frames in a row that must be steady. */
const STEADY_FRAMES = 2;

export class Settling {
  readonly #limitMs: number;
  #startedMs: number | undefined;
  #last = Number.NaN;
  #steady = 0;

  /** @param limitMs the exposure counts as settled after this time */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Takes the next frame. @returns true if it may be used */
  add(left: RawImage, nowMs: number): boolean {
    this.#startedMs ??= nowMs;
    if (nowMs - this.#startedMs >= this.#limitMs) return true;
    const level = mean([...sampleGreys(left)]);
    this.#steady = Math.abs(level - this.#last) <= STEADY_GREY ? this.#steady + 1 : 0;
    this.#last = level;
    return this.#steady >= STEADY_FRAMES;
  }
}
