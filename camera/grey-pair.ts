// SPDX-License-Identifier: Apache-2.0
// How a pair of plain grey images lies in memory.
import type { SourceDescription } from "./frame.js";

export type PairLayout = Pick<
  SourceDescription,
  "width" | "height" | "leftFormat" | "rightFormat" | "leftStrideBytes" | "rightStrideBytes"
>;

/** Two grey images of one byte a pixel, rows without gaps. */
export function greyPairLayout(width: number, height: number): PairLayout {
  return {
    ...{ width, height },
    ...{ leftFormat: "GREY", rightFormat: "GREY" },
    ...{ leftStrideBytes: width, rightStrideBytes: width },
  };
}
