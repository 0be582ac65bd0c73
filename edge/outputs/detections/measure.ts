// SPDX-License-Identifier: Apache-2.0
// Measures the distance of one detection: the most frequent disparity of its matched, confident pixels.
import { type Point, polygonSpans } from "../derived/polygon.js";
import { alignDisparity, type RectifiedImages } from "./align.js";

export interface DisparityImage extends RectifiedImages {
  height: number;
  /** 1/16 px; -32768 = invalid. */
  disparityQ4: Int16Array;
  /** 0 where nothing was matched, also if the pixel was filled. */
  confidence: Uint8Array;
}

export interface DetectionGeometry {
  focalPixels: number;
  baselineMetres: number;
  /** Principal point of the left image, pixels. */
  cx: number;
  cy: number;
  disparityOffsetPixels: number;
}

export interface MeasureOptions {
  /** Confidence that a pixel needs, 0 to 255. */
  minConfidence: number;
  /** Pixels to read; of larger outlines only every second row is read, or third. */
  maxPixels: number;
  /** Gives the inner half of the outline a larger weight: the object fills the middle of a box, not its corners. */
  preferMiddle: boolean;
}

export interface Measured {
  /** Disparity without the offset, pixels: aligned in the images, else the mean of the pixels around the mode. */
  disparityPixels: number;
  /** Standard error of the alignment, pixels; undefined without one. */
  standardErrorPixels: number | undefined;
  /** Standard deviation of these pixels, pixels of disparity. */
  spreadPixels: number;
  /** Their mean position, pixels. */
  x: number;
  y: number;
  /** Share of the outline that was matched with enough confidence, and share that is at the distance. */
  matchedShare: number;
  atDistanceShare: number;
}

/** Pixels at the distance that a measurement needs. */
export const MIN_PIXELS = 12;
const MIDDLE_WEIGHT = 4;
/** Half the width of a mode: half a pixel, or 4 % of the disparity, since near objects have depth. */
const MODE_HALF_Q4 = 8;
const MODE_SHARE = 0.04;

/**
 * Correction by the fraction of a disparity, in 1/16 px. The parabola through the costs pulls disparities towards whole pixels, by
 * 0.13 px at most; matchers without fractions are not changed.
 */
const LARGEST_PULL_Q4 = 2.1;
const CORRECTIONS = Float64Array.from(
  { length: 16 },
  (_, q4) => LARGEST_PULL_Q4 * Math.sin((Math.PI * q4) / 8),
);

/** Weights by disparity in 1/16 px, cleared after each use. */
const weights = new Uint32Array(32_768);

/** Places of a detection's pixels around the mode. */
const atMode = new Uint32Array(1 << 16);

const modeHalf = (q4: number): number => Math.max(MODE_HALF_Q4, Math.round(MODE_SHARE * q4));

/** Clips to the image, then returns bounds and area as fractions of the image; undefined: nothing is inside. */
export function clippedBounds(corners: readonly Point[]) {
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const inside = {
    left: Math.max(0, left),
    top: Math.max(0, top),
    right: Math.min(1, right),
    bottom: Math.min(1, bottom),
  };
  if (inside.left >= inside.right || inside.top >= inside.bottom) return undefined;
  const isClipped =
    inside.left !== left || inside.top !== top || inside.right !== right || inside.bottom !== bottom;
  return { ...inside, isClipped };
}

/** The bin with the largest weight within its mode; ties go to the nearer one. */
function heaviest(lowest: number, highest: number): number {
  let [best, bestWeight] = [lowest, 0];
  let [from, to, sum] = [lowest, lowest, 0];
  for (let q4 = lowest; q4 <= highest; q4++) {
    const half = modeHalf(q4);
    for (; to <= Math.min(highest, q4 + half); to++) sum += weights[to]!;
    for (; from < q4 - half; from++) sum -= weights[from]!;
    if (sum >= bestWeight) [best, bestWeight] = [q4, sum];
  }
  return best;
}

/** @param corners fractions of the image @returns undefined if fewer than MIN_PIXELS pixels are at one distance */
export function measureDetection(
  image: DisparityImage,
  corners: readonly Point[],
  { minConfidence, maxPixels, preferMiddle }: MeasureOptions,
): Measured | { matchedShare: number } {
  const { width, height, disparityQ4, confidence } = image;
  const bounds = clippedBounds(corners);
  if (bounds === undefined) return { matchedShare: 0 };
  const { left, top, right, bottom } = bounds;
  const area = (right - left) * (bottom - top) * width * height;
  const spans = polygonSpans(corners, width, height, Math.max(1, Math.ceil(area / maxPixels)));
  const threshold = Math.max(1, minConfidence);
  const middle = {
    x: ((left + right) / 2) * width,
    y: ((top + bottom) / 2) * height,
    halfWidth: ((right - left) / 4) * width,
    halfHeight: ((bottom - top) / 4) * height,
  };
  let [pixels, matched, lowest, highest] = [0, 0, weights.length, -1];
  for (const { y, from, to } of spans) {
    pixels += to - from;
    const inMiddle = preferMiddle && Math.abs(y + 0.5 - middle.y) <= middle.halfHeight;
    for (let x = from, at = y * width + from; x < to; x++, at++) {
      const q4 = disparityQ4[at]!;
      if (q4 <= 0 || confidence[at]! < threshold) continue;
      const isMiddle = inMiddle && Math.abs(x + 0.5 - middle.x) <= middle.halfWidth;
      weights[q4] = weights[q4]! + (isMiddle ? MIDDLE_WEIGHT : 1);
      matched++;
      if (q4 < lowest) lowest = q4;
      if (q4 > highest) highest = q4;
    }
  }
  const matchedShare = pixels > 0 ? matched / pixels : 0;
  if (matched === 0) return { matchedShare };
  const mode = heaviest(lowest, highest);
  weights.fill(0, lowest, highest + 1);
  const half = modeHalf(mode);
  let [count, sum, squares, sumX, sumY] = [0, 0, 0, 0, 0];
  for (const { y, from, to } of spans)
    for (let x = from, at = y * width + from; x < to; x++, at++) {
      const q4 = disparityQ4[at]!;
      if (q4 < mode - half || q4 > mode + half || confidence[at]! < threshold) continue;
      const difference = q4 - mode + CORRECTIONS[q4 & 15]!;
      atMode[count++] = at;
      sum += difference;
      squares += difference * difference;
      sumX += x;
      sumY += y;
    }
  if (count < MIN_PIXELS) return { matchedShare };
  const mean = sum / count;
  const disparityPixels = (mode + mean) / 16;
  const aligned =
    image.left.length === 0 || image.right.length === 0
      ? undefined
      : alignDisparity(image, atMode, Math.min(count, atMode.length), disparityPixels);
  return {
    disparityPixels: aligned?.disparityPixels ?? disparityPixels,
    standardErrorPixels: aligned?.standardErrorPixels,
    spreadPixels: Math.sqrt(Math.max(0, squares / count - mean * mean)) / 16,
    x: sumX / count,
    y: sumY / count,
    matchedShare,
    atDistanceShare: count / pixels,
  };
}

/** Depth in metres along the optical axis; undefined at infinity or behind. */
export function depthMetres(disparityPixels: number, geometry: DetectionGeometry): number | undefined {
  const shifted = disparityPixels + geometry.disparityOffsetPixels;
  return shifted > 0 ? (geometry.focalPixels * geometry.baselineMetres) / shifted : undefined;
}
