// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD as TypeScript knows it; pyramid.cpu.cc says the same.
import { brokenWeights, channelWeights, windowSide } from "../hsv-parameters.js";
import type { Matcher, MatcherValues } from "../matcher.js";

export const pyramid = {
  name: "pyramid",
  description: "window sums refined from small copies of the images",
  images: "grey and rgb",
  halfByDefault: false,
  parameters: [
    windowSide("windowWidth", 7, "Width of the window at every level."),
    windowSide("windowHeight", 7, "Height of the window."),
    {
      key: "levels",
      kind: "whole",
      low: 1,
      high: 4,
      default: 3,
      description: "Copies of half the width and height that are matched before the image.",
    },
    {
      key: "peakRatio",
      kind: "whole",
      low: 0,
      high: 50,
      default: 5,
      unit: "%",
      description:
        "What a disparity other than the coarser level's must win by, per disparity to the second best; 0 = nothing.",
    },
    ...channelWeights(20, 30, 50),
    { key: "subpixel", kind: "flag", default: false, description: "Interpolates the winner to 1/16 px." },
  ],
  ladder: { steps: [], atHalf: 0, workPerCell: 1 },
  check: (values: MatcherValues) => brokenWeights("pyramid", values),
} as const satisfies Matcher;
