// SPDX-License-Identifier: Apache-2.0
// Semi-global matching as TypeScript knows it; sgm.cpu.cc says the same.
import type { Matcher } from "../matcher.js";

const FEWEST_AT_HALF = 16;

export const sgm = {
  name: "sgm",
  description: "semi-global matching",
  images: "grey",
  halfByDefault: false,
  parameters: [
    {
      key: "cost",
      kind: "word",
      choices: ["twoGradientCensus", "gradientCensus", "census", "wideCensus"],
      default: "twoGradientCensus",
      description:
        "What is compared: eight signs beside both gradients, a 5 x 5 census beside the horizontal gradient, the 9 x 7 census of the paper alone, or 62 bits of census and both gradients.",
    },
    {
      key: "paths",
      kind: "oneOf",
      choices: [2, 4, 8],
      default: 4,
      description: "Directions along which costs are aggregated; more are smoother and slower.",
    },
    {
      key: "p1",
      kind: "whole",
      low: 1,
      high: 1023,
      default: 10,
      unit: "cost",
      description: "Penalty of a disparity step of one pixel; at most p2.",
    },
    {
      key: "p2",
      kind: "whole",
      low: 1,
      high: 1023,
      default: 24,
      unit: "cost",
      description: "Penalty of a larger step; up to 127 a cell of two summed directions fits one byte.",
    },
    {
      key: "adaptiveP2",
      kind: "whole",
      low: 0,
      high: 255,
      default: 2,
      description:
        "Lowers p2 at edges: max(p1, p2 - (adaptiveP2 x grey difference) / 16); 0 switches it off.",
    },
    {
      key: "uniqueness",
      kind: "whole",
      low: 0,
      high: 99,
      default: 0,
      unit: "%",
      description:
        "How much worse every rival of the winner must be, else the pixel is invalid; 0 switches it off.",
    },
    {
      key: "outsideCost",
      kind: "whole",
      low: 0,
      high: 63,
      default: 6,
      unit: "cost",
      description:
        "Cost of a candidate outside the right image; where it wins, the pixel is a hole. With 63 it never wins.",
    },
    {
      key: "rightView",
      kind: "word",
      choices: ["diagonal", "own"],
      default: "diagonal",
      description:
        "What the left-right check compares with: diagonal reads the right view off the left one's costs; own matches again from the right image, at the cost of another matching.",
    },
    { key: "subpixel", kind: "flag", default: true, description: "Interpolates the winner to 1/16 px." },
  ],
  ladder: {
    steps: [
      { key: "paths", value: 4 },
      { key: "paths", value: 2 },
    ],
    // Half resolution with 4 paths costs less than the whole with 2, and is the better of the two on KITTI.
    atHalf: 1,
    workPerCell: "paths",
  },
  check({ parameters: { p1, p2 }, halfResolution, numDisparities }) {
    if (Number(p1) > Number(p2)) {
      return {
        keys: ["match.sgm.p1", "match.sgm.p2"],
        text: `expected at most match.sgm.p2, which is ${p2}, got ${p1}`,
      };
    }
    // Half the search must still be one: 8 disparities of the half images.
    if (!halfResolution || numDisparities >= FEWEST_AT_HALF) return undefined;
    return {
      keys: ["match.numDisparities", "match.halfResolution"],
      text: `expected ${FEWEST_AT_HALF} to 512 beside match.halfResolution, got ${numDisparities}`,
    };
  },
} as const satisfies Matcher;
