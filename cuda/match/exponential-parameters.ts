// SPDX-License-Identifier: Apache-2.0
// Settings that the matchers of exponential steps, esaw and esmp, share: gradients, the right view, sub-pixel.
import type { MatcherParameter } from "./matcher.js";

export const EXPONENTIAL_PARAMETERS = [
  {
    key: "gradientTruncation",
    kind: "whole",
    low: 0,
    high: 127,
    default: 0,
    unit: "grey / 2",
    description:
      "Difference of horizontal gradients from which on two pixels differ no more; 0: gradients are not compared, as in the paper.",
  },
  {
    key: "gradientPercent",
    kind: "whole",
    low: 1,
    high: 2000,
    default: 400,
    unit: "%",
    description: "Cost of a unit of gradient, as a part of that of a grey value.",
  },
  {
    key: "rightView",
    kind: "word",
    choices: ["own", "diagonal"],
    default: "own",
    description:
      "What the left-right check compares with: own aggregates again from the right image, at the cost of another matching; diagonal reads it off the left one's costs.",
  },
  { key: "subpixel", kind: "flag", default: false, description: "Interpolates the winner to 1/16 px." },
] as const satisfies readonly MatcherParameter[];
