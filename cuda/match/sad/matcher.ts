// SPDX-License-Identifier: Apache-2.0
// Window SAD as TypeScript knows it; sad.cpu.cc says the same.
import { brokenWeights, channelWeights, windowSide } from "../hsv-parameters.js";
import type { Matcher, MatcherValues } from "../matcher.js";

export const sad = {
  name: "sad",
  description: "window sums of absolute colour differences",
  images: "grey and rgb",
  halfByDefault: false,
  parameters: [
    windowSide("windowWidth", 5, "Width of the window whose differences are added up."),
    windowSide("windowHeight", 5, "Height of the window."),
    ...channelWeights(30, 30, 30),
    { key: "subpixel", kind: "flag", default: false, description: "Interpolates the winner to 1/16 px." },
  ],
  ladder: { steps: [], atHalf: 0, workPerCell: 4 },
  check: (values: MatcherValues) => brokenWeights("sad", values),
} as const satisfies Matcher;
