// SPDX-License-Identifier: Apache-2.0
// The search range next to the scene: how many disparities are at its end, and which range a scene needs.
import { type EngineOptions, type MatchParameters, openEngine } from "../../cuda/index.js";

const INVALID_Q4 = -32_768;
/** A disparity is at the end of the range if it is one of the last two. */
const LAST_DISPARITIES = 2;
/** From this share of the matched pixels on, the range may be too short. Ranges that suffice have less than 0.01 %. */
export const SUSPICIOUS_PERCENT = 0.5;
const MAX_DISPARITIES = 512;
/** Proposals are multiples of this, and leave this much room beyond the scene. */
const STEP = 16;
const ROOM = 8;
/** Confidence of the disparities that a proposal relies on, and the share of them that it covers. */
const SURE = 128;
const COVERED = 0.995;
const SMALLEST_SIDE = 48;

export interface MatchedPixels {
  /** 1/16 px. */
  disparityQ4: Int16Array;
  /** 0 where nothing was matched. */
  confidence: Uint8Array;
}

type Search = Pick<MatchParameters, "minDisparity" | "numDisparities">;

/**
 * Returns the percent of the matched pixels whose disparity is one of the last two of the range.
 * @param step looks at every so manieth pixel
 * @returns undefined if no pixel was matched
 */
export function atRangeEndPercent(
  { disparityQ4, confidence }: MatchedPixels,
  { minDisparity, numDisparities }: Search,
  step = 1,
): number | undefined {
  const end = 16 * (minDisparity + numDisparities - LAST_DISPARITIES);
  let matched = 0;
  let atEnd = 0;
  for (let i = 0; i < disparityQ4.length; i += step) {
    if (confidence[i] === 0 || disparityQ4[i] === INVALID_Q4) continue;
    ++matched;
    if (disparityQ4[i]! >= end) ++atEnd;
  }
  return matched === 0 ? undefined : (100 * atEnd) / matched;
}

/** A map for an image of half the size; without a map, one that reads every second pixel. */
function halfMap(map: Int32Array | undefined, width: number, height: number): Int32Array {
  const [halfWidth, halfHeight] = [width >> 1, height >> 1];
  const half = new Int32Array(2 * halfWidth * halfHeight);
  let at = 0;
  for (let y = 0; y < halfHeight; ++y) {
    for (let x = 0; x < halfWidth; ++x) {
      const from = 2 * (2 * y * width + 2 * x);
      const opposite = from + 2 * (width + 1);
      // Between four pixels, so that the rectification averages them.
      half[at++] = map === undefined ? 64 * x + 16 : (map[from]! + map[opposite]!) >> 1;
      half[at++] = map === undefined ? 64 * y + 16 : (map[from + 1]! + map[opposite + 1]!) >> 1;
    }
  }
  return half;
}

/** Rectifies to half the size and matches at half resolution: a quarter of the width and height. */
function quarterOptions(options: EngineOptions, numDisparities: number): EngineOptions {
  const { width, height, inputWidth, inputHeight, leftFormat, rightFormat } = options;
  const { leftStrideBytes, rightStrideBytes, verticalOffset, instructionSet } = options;
  return {
    inputWidth,
    inputHeight,
    leftFormat,
    rightFormat,
    leftStrideBytes,
    rightStrideBytes,
    width: width >> 1,
    height: height >> 1,
    leftMap: halfMap(options.leftMap, width, height),
    rightMap: halfMap(options.rightMap, width, height),
    match: {
      algorithm: "sgm",
      halfResolution: true,
      minDisparity: 0,
      numDisparities: numDisparities >> 1,
      parameters: {},
    },
    refine: {},
    // The unit is rows of the captured image, also where the rectified one is smaller.
    verticalOffset: verticalOffset ?? "auto",
    backend: "cpu",
    threads: 1,
    slots: 2,
    ...(instructionSet !== undefined && { instructionSet }),
  };
}

/**
 * Matches the pair at a quarter of the resolution over a larger range.
 * @returns the number of disparities that the scene needs from minDisparity on, if it is larger than the present one
 * @throws DepthwattError ENGINE_FAILED, MEMORY_EXHAUSTED
 */
export async function neededDisparities(
  options: EngineOptions,
  { left, right }: { left: Uint8Array; right: Uint8Array },
): Promise<number | undefined> {
  const { width, height } = options;
  const { minDisparity, numDisparities } = options.match;
  const range = Math.min(minDisparity + MAX_DISPARITIES, 2 * MAX_DISPARITIES, width - (width % 2));
  if (Math.min(width, height) < SMALLEST_SIDE || range <= minDisparity + numDisparities) return undefined;
  const engine = await openEngine(quarterOptions(options, range));
  try {
    await engine.compute(left, right);
    const { disparityQ4, confidence } = engine.slots[0]!;
    const sure = disparityQ4.filter((value, i) => value !== INVALID_Q4 && confidence[i]! >= SURE).sort();
    if (sure.length === 0) return undefined;
    const largest = (2 * sure[Math.floor(COVERED * (sure.length - 1))]!) / 16;
    if (largest < minDisparity + numDisparities - LAST_DISPARITIES) return undefined;
    const needed = STEP * Math.ceil((largest + ROOM - minDisparity) / STEP);
    return Math.min(needed, MAX_DISPARITIES);
  } finally {
    engine.close();
  }
}

/** The sentence for the user, with what to do. */
export function rangeWarning(percent: number, { numDisparities }: Search, needed: number): string {
  return (
    `the scene is nearer than the search range: ${percent.toFixed(1)} % of the matched pixels are at its end. ` +
    `Increase match.numDisparities from ${numDisparities} to ${needed}.`
  );
}

/** Below this share a pair is examined: rectified pairs of one scene have more if the range suffices. */
export const FEW_MATCHED_PERCENT = 50;

/** The sentence for a pair of which few pixels are matched and nothing else is known to be wrong. */
export function fewMatchedWarning(matchedPercent: number): string {
  return (
    `only ${matchedPercent.toFixed(0)} % of the pixels are matched, the others are filled or empty. ` +
    "Check texture, light, focus and rectification. To drop filled pixels, set refine.minConfidence or use --preset robot."
  );
}
