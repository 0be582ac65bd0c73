// SPDX-License-Identifier: Apache-2.0
// Colours for looking at disparity: far is blue, near is red, pixels without a value are black.
import { colourTable } from "../../../core/index.js";
import type { FloatImage, RgbImage } from "./image.js";

/** 256 colours, R G B each: turbo, as on the live page. */
export const DISPARITY_COLOURS = Uint8Array.from(
  { length: 3 * 256 },
  (() => {
    const colours = colourTable("turbo");
    return (_, at) => colours[Math.floor(at / 3)]! >> (8 * (at % 3));
  })(),
);

/** Returns the range from the 2nd to the 98th percentile of the finite values, as the live page shows it. */
export function shownRange(values: Float32Array): { min: number; max: number } {
  const finite = values.filter(Number.isFinite).sort();
  const at = (share: number) => finite[Math.floor(share * (finite.length - 1))] ?? 0;
  const [min, max] = [at(0.02), at(0.98)];
  return { min, max: max > min ? max : min + 1 };
}

/**
 * Colour picture of a disparity map.
 * @param range disparities shown as the first and the last colour, pixels; default: the smallest and largest valid one
 * @returns 8-bit RGB; pixels without a value are black
 */
export function colourDisparity(disparity: FloatImage, range?: { min: number; max: number }): RgbImage {
  let { min, max } = range ?? { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  if (range === undefined) {
    for (const value of disparity.data) {
      if (!Number.isFinite(value)) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  const perPixel = max > min ? 255 / (max - min) : 0;
  const data = new Uint8Array(disparity.data.length * 3);
  for (let i = 0; i < disparity.data.length; i++) {
    const value = disparity.data[i]!;
    if (!Number.isFinite(value)) continue;
    const colour = 3 * Math.max(0, Math.min(255, Math.floor((value - min) * perPixel + 0.5)));
    data[3 * i] = DISPARITY_COLOURS[colour]!;
    data[3 * i + 1] = DISPARITY_COLOURS[colour + 1]!;
    data[3 * i + 2] = DISPARITY_COLOURS[colour + 2]!;
  }
  return { data, width: disparity.width, height: disparity.height };
}
