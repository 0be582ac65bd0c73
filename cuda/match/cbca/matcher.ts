// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher as TypeScript knows it; cbca.cpu.cc says the same.
import type { BrokenRule, Matcher, MatcherValues } from "../matcher.js";

/** A sum of a region's costs has 23 bits, a cost is at most 254. */
const MAX_REGION = Math.floor((2 ** 23 - 1) / 254);

/** What ranges alone cannot tell: both arms are long. */
function brokenRegion({ parameters }: MatcherValues): BrokenRule | undefined {
  // Absent: the resolution's own, which is short.
  const [armX, armY] = [Number(parameters.armX ?? 0), Number(parameters.armY ?? 0)];
  const right = (key: string, left: number) =>
    Number(parameters[key] ?? -1) < 0 ? left : Number(parameters[key]);
  const regions = [
    ["armX", "armY", armX, armY],
    ["armXRight", "armYRight", right("armXRight", armX), right("armYRight", armY)],
  ] as const;
  for (const [x, y, along, down] of regions) {
    const pixels = (2 * along + 1) * (2 * down + 1);
    if (pixels <= MAX_REGION) continue;
    return {
      keys: [`match.cbca.${x}`, `match.cbca.${y}`],
      text: `expected (2 armX + 1) (2 armY + 1) of at most ${MAX_REGION} pixels, got ${pixels} from ${along} and ${down}`,
    };
  }
  return undefined;
}

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
      high: 141,
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
    {
      key: "armXRight",
      kind: "whole",
      low: -1,
      high: 141,
      default: -1,
      unit: "px",
      description: "The same as armX in the right image; -1: as in the left one.",
    },
    {
      key: "armYRight",
      kind: "whole",
      low: -1,
      high: 61,
      default: -1,
      unit: "px",
      description: "The same as armY in the right image; -1: as in the left one.",
    },
    {
      key: "lambdaDifference",
      kind: "whole",
      low: 10,
      high: 10000,
      default: 300,
      unit: "1/1000",
      description: "Grey difference whose cost is 63 % of the most, in thousandths of full scale.",
    },
    {
      key: "lambdaCensus",
      kind: "whole",
      low: 10,
      high: 10000,
      default: 23,
      unit: "1/10 bit",
      description:
        "Hamming distance of two mini-censuses whose cost is 63 % of the most, in tenths of a bit.",
    },
    {
      key: "threshold",
      kind: "whole",
      low: 0,
      high: 64,
      default: 3,
      unit: "px",
      description: "Largest step that bilateral estimation bridges with a straight line.",
    },
  ],
  ladder: { steps: [], atHalf: 0, workPerCell: 4 },
  check: brokenRegion,
} as const satisfies Matcher;
