// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher as TypeScript knows it; cbca.cpu.cc says the same.
import type { Matcher } from "../matcher.js";

export const cbca = {
  name: "cbca",
  description: "cross-based aggregation over regions of similar grey",
  images: "grey",
  halfByDefault: true,
  parameters: [
    {
      key: "armX",
      kind: "whole",
      low: 0,
      high: 61,
      default: 9,
      defaultAtHalf: 3,
      unit: "px",
      description: "Longest arm of a pixel's cross to its left and right.",
    },
    {
      key: "armY",
      kind: "whole",
      low: 0,
      high: 61,
      default: 9,
      defaultAtHalf: 3,
      unit: "px",
      description: "Longest arm of a pixel's cross above and below it.",
    },
    {
      key: "similarity",
      kind: "whole",
      low: 1,
      high: 256,
      default: 13,
      defaultAtHalf: 30,
      unit: "grey",
      description: "An arm ends where the grey value differs by this much.",
    },
  ],
  ladder: { steps: [], atHalf: 0, workPerCell: 4 },
} as const satisfies Matcher;
