// SPDX-License-Identifier: Apache-2.0
// How a pair of plain images is in memory.
import type { SourceDescription } from "./frame.js";

export type PairLayout = Pick<
  SourceDescription,
  "width" | "height" | "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes"
>;

/** Two grey images of one byte a pixel, rows without gaps. */
export function greyPairLayout(width: number, height: number): PairLayout {
  return {
    width,
    height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: width,
    rightStrideBytes: width,
  };
}

/** Two images of three bytes a pixel, rows without gaps. */
export function rgbPairLayout(width: number, height: number): PairLayout {
  return {
    width,
    height,
    leftFormat: "RGB8",
    rightFormat: "RGB8",
    leftStrideBytes: 3 * width,
    rightStrideBytes: 3 * width,
  };
}
