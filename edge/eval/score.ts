// SPDX-License-Identifier: Apache-2.0
// How wrong a disparity map is: the share of bad pixels, with holes counted as wrong and without them.
import { mean } from "../../core/index.js";
import type { Scene } from "./dataset.js";
import { meanFigures } from "./mean-figures.js";

/** Scores one set of pixels. Null if the set is empty (or, for the last two, if nothing was estimated). */
export interface Score {
  /** Percent of the evaluated pixels that are off by more than the threshold; no estimate counts as off. */
  badPercent: number | null;
  /** The same among pixels that have an estimate. */
  badPercentValidOnly: number | null;
  /** Percent of the evaluated pixels that have an estimate. */
  density: number | null;
  /** Mean |estimate - truth| over pixels that have both, pixels. */
  averageErrorPx: number | null;
}

export const INVALID_DISPARITY_Q4 = -32_768;

/**
 * @param disparityQ4 estimates, 1/16 px, -32768 = none
 * @param truth pixels; not finite = not evaluated
 * @param mask not 0 = evaluated; absent = wherever there is a truth
 * @param thresholdPx an error of exactly this much is not bad
 * @param share of the true disparity, which the error of a bad pixel exceeds too
 */
export function score(
  disparityQ4: Int16Array,
  truth: Float32Array,
  mask: Uint8Array | undefined,
  thresholdPx: number,
  share = 0,
): Score {
  let evaluated = 0;
  let estimated = 0;
  let off = 0;
  let errorSum = 0;
  for (let i = 0; i < truth.length; ++i) {
    const expected = truth[i]!;
    if (!Number.isFinite(expected) || mask?.[i] === 0) continue;
    ++evaluated;
    const got = disparityQ4[i]!;
    if (got === INVALID_DISPARITY_Q4) continue;
    ++estimated;
    const error = Math.abs(got / 16 - expected);
    errorSum += error;
    if (error > thresholdPx && error > share * expected) ++off;
  }
  const percent = (part: number, whole: number) => (whole === 0 ? null : (100 * part) / whole);
  return {
    badPercent: percent(off + evaluated - estimated, evaluated),
    badPercentValidOnly: percent(off, estimated),
    density: percent(estimated, evaluated),
    averageErrorPx: estimated === 0 ? null : errorSum / estimated,
  };
}

/** "valid" first: every pixel with a ground truth; then the scene's masks in the order of its dataset.json. */
export function scoreScene(
  scene: Scene,
  disparityQ4: Int16Array,
  thresholdPx: number,
): Record<string, Score> {
  const scores: Record<string, Score> = { valid: score(disparityQ4, scene.truth, undefined, thresholdPx) };
  for (const [name, mask] of scene.masks) scores[name] = score(disparityQ4, scene.truth, mask, thresholdPx);
  return scores;
}

/** Returns the mean of the scores that are known; null if none is. */
function meanOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : mean(known);
}

/** Mask by mask, the mean over the scenes that have it. */
export const meanScores = (scenes: readonly Record<string, Score>[]): Record<string, Score> =>
  meanFigures(scenes.map((figures) => ({ figures, weight: 1 })));

const MIDDLEBURY_V2_MASKS = ["nonocc", "all", "disc"];

/** Middlebury v2's one number: the mean over nonocc, all and disc of the scenes that have all three; null where none has. */
export function middleburyV2Mean(scenes: readonly Record<string, Score>[]): number | null {
  const complete = scenes.filter((scores) => MIDDLEBURY_V2_MASKS.every((name) => name in scores));
  return meanOfKnown(
    complete.flatMap((scores) => MIDDLEBURY_V2_MASKS.map((name) => scores[name]!.badPercent)),
  );
}
