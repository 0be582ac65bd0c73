// SPDX-License-Identifier: Apache-2.0
// Colours for looking at disparity: far is violet, near is orange, every step about equally visible, no value is black.
import type { FloatImage, RgbImage } from "./image.js";

/**
 * 33 anchors (R, G, B), linear between them. Made in OKLCH: hue 296, 262, 205, 140, 100, 52 degrees and lightness 0.30,
 * 0.50, 0.70, 0.82, 0.88, 0.74 at 0, 0.22, 0.42, 0.60, 0.78, 1; chroma 0.19 or the most that sRGB can show.
 */
const ANCHORS = Buffer.from(
  "3a00743d00893d12983c23a33932af343fb92c4cc31f59cd006bc8007bc00088be0095bf00a1c000aec100b8be00c2b600cbac00d59b" +
    "30de8071e16890e156a7e044bddf2fd1dd12e4db00f4d800f9cc00fcc000feb500ffa907ff9d18ff9120ff8526",
  "hex",
);

/** 256 colours, R G B each, whole-number interpolation: 8 steps from anchor to anchor. */
export const DISPARITY_COLOURS: Uint8Array = (() => {
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    for (let c = 0; c < 3; c++) {
      const near = ANCHORS[3 * (i >> 3) + c]!;
      const far = ANCHORS[3 * ((i >> 3) + 1) + c]!;
      table[3 * i + c] = (near * (8 - (i & 7)) + far * (i & 7) + 4) >> 3;
    }
  }
  return table;
})();

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
