// SPDX-License-Identifier: Apache-2.0
// The result of a pair: disparity in pixels, depth in metres.
import type { DepthGeometry, EngineSlot, FrameResult } from "../../cuda/index.js";

/** Row by row, [height][width]. The arrays belong to the caller. */
export interface DepthMap {
  width: number;
  height: number;
  /** Pixels; NaN where there is none. */
  disparity: Float32Array;
  /** Metres along the optical axis of the rectified left camera; NaN where there is none. Undefined without a calibration. */
  depth: Float32Array | undefined;
  /** 255 times the probability that the disparity is right within a pixel; 0 where nothing was matched, filled or not. */
  confidence: Uint8Array;
  /** The rectified left image, grey. */
  left: Uint8Array;
  /** Percent of the pixels that have a disparity, and that were matched: the others are filled. */
  validPercent: number;
  matchedPercent: number;
}

const INVALID_Q4 = -32_768;

/** Copies a result out of its slot. */
export function copyDepthMap(
  { left, disparityQ4, confidence }: EngineSlot,
  { validPixels, matchedPixels }: FrameResult,
  { width, height }: { width: number; height: number },
  geometry: DepthGeometry | undefined,
): DepthMap {
  const disparity = new Float32Array(disparityQ4.length);
  for (let i = 0; i < disparity.length; i++)
    disparity[i] = disparityQ4[i] === INVALID_Q4 ? Number.NaN : disparityQ4[i]! / 16;
  return {
    width,
    height,
    disparity,
    depth: geometry && metres(disparity, geometry),
    confidence: confidence.slice(),
    left: left.slice(),
    validPercent: (100 * validPixels) / (width * height),
    matchedPercent: (100 * matchedPixels) / (width * height),
  };
}

/** Points at or behind infinity have no depth. */
function metres(disparity: Float32Array, geometry: DepthGeometry): Float32Array {
  const { focalPixels, baselineMetres, disparityOffsetPixels } = geometry;
  return disparity.map((pixels) => {
    const shift = pixels + disparityOffsetPixels;
    return shift > 0 ? (focalPixels * baselineMetres) / shift : Number.NaN;
  });
}
