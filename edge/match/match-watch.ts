// SPDX-License-Identifier: Apache-2.0
// Watches the matching of a run: about once a second a frame is sampled, and what the user can improve is reported once.
import type { EngineOptions } from "../../cuda/index.js";
import { orUnavailable, type Unavailable } from "../contracts/availability.js";
import type { ComputedFrame } from "../contracts/computed-frame.js";
import {
  atRangeEndPercent,
  FEW_MATCHED_PERCENT,
  fewMatchedWarning,
  neededDisparities,
  rangeWarning,
  SUSPICIOUS_PERCENT,
} from "./search-range.js";

export interface MatchWatchOptions {
  /** Returns the engine's current options. */
  options: () => EngineOptions;
  /** Returns whether the cameras are known to be the cause. */
  hasRigProblem: () => boolean;
  onWarning: (sentence: string) => void;
  needed?: typeof neededDisparities;
  now?: () => number;
}

const SAMPLE_MS = 1000;
/** Pixels that a sample reads at most. */
const SAMPLED_PIXELS = 1 << 16;
/** Few pixels are matched if so many samples report it one after the other. */
const SAMPLES = 3;

export class MatchWatch {
  readonly #options: MatchWatchOptions;
  readonly #now: () => number;
  #nextMs = Number.NEGATIVE_INFINITY;
  #percent: number | undefined;
  /** The search for which a range was proposed, or for which none was found. */
  #asked: string | undefined;
  #asking: Promise<void> | undefined;
  #fewSamples = 0;
  #hasReportedFew = false;

  constructor(options: MatchWatchOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Percent of the matched pixels at the end of the search range, in the newest sample. */
  get atRangeEndPercent(): number | Unavailable {
    const percent = this.#percent === undefined ? undefined : Math.round(1000 * this.#percent) / 1000;
    return orUnavailable(percent, "no matched pixel has been sampled yet");
  }

  /** Takes a frame while its images are lent. */
  frame(frame: ComputedFrame): void {
    const now = this.#now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + SAMPLE_MS;
    const options = this.#options.options();
    const { width, height, slot } = frame;
    // Odd, so that the samples do not all are in the same columns.
    const step = Math.max(1, Math.ceil((width * height) / SAMPLED_PIXELS)) | 1;
    this.#percent = atRangeEndPercent(slot, options.match, step);
    if ((this.#percent ?? 0) >= SUSPICIOUS_PERCENT) this.#propose(frame, options, this.#percent!);
    this.#count(frame, options);
  }

  #propose({ images }: ComputedFrame, options: EngineOptions, percent: number): void {
    const { minDisparity, numDisparities } = options.match;
    const search = `${minDisparity} ${numDisparities}`;
    if (images === undefined || this.#asking !== undefined || this.#asked === search) return;
    this.#asked = search;
    const copies = { left: images.left.data.slice(), right: images.right.data.slice() };
    this.#asking = (this.#options.needed ?? neededDisparities)(options, copies)
      .then((needed) => {
        if (needed !== undefined) this.#options.onWarning(rangeWarning(percent, options.match, needed));
      })
      // The proposal is a service: frames are computed without it too.
      .catch(() => {})
      .finally(() => {
        this.#asking = undefined;
      });
  }

  #count({ result, width, height }: ComputedFrame, { region }: EngineOptions): void {
    const { lowConfidence, tooNear, tooFar } = result.droppedPixels;
    const asked = region === undefined ? width * height : region.width * region.height;
    const percent = (100 * (result.matchedPixels + lowConfidence + tooNear + tooFar)) / asked;
    this.#fewSamples = percent < FEW_MATCHED_PERCENT ? this.#fewSamples + 1 : 0;
    if (this.#fewSamples < SAMPLES || this.#hasReportedFew || this.#asking !== undefined) return;
    if (this.#options.hasRigProblem()) return;
    this.#hasReportedFew = true;
    this.#options.onWarning(fewMatchedWarning(percent));
  }

  /** Waits for a proposal that is being made. */
  async close(): Promise<void> {
    await this.#asking;
  }
}
