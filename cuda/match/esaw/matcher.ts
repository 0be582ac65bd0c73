// SPDX-License-Identifier: Apache-2.0
// ESAW as TypeScript knows it; esaw.cpu.cc says the same.
import { EXPONENTIAL_PARAMETERS } from "../exponential-parameters.js";
import type { Matcher } from "../matcher.js";

export const esaw = {
  name: "esaw",
  description: "adaptive weights in exponential steps",
  images: "grey and left rgb",
  halfByDefault: false,
  parameters: [
    {
      key: "steps",
      kind: "whole",
      low: 1,
      high: 16,
      default: 9,
      description: "Rounds of aggregation, each along x and then along y.",
    },
    {
      key: "basePercent",
      kind: "whole",
      low: 100,
      high: 400,
      default: 190,
      unit: "%",
      description:
        "Round t reaches round((basePercent / 100)^(t - 1)) pixels to each side; the paper has 190 for 9 rounds, 260 for 5.",
    },
    {
      key: "gammaColour",
      kind: "whole",
      low: 1,
      high: 1000,
      default: 17,
      unit: "grey",
      description: "Colour difference at which a neighbour's weight falls to 1/e.",
    },
    {
      key: "gammaDistance",
      kind: "whole",
      low: 1,
      high: 1000,
      default: 36,
      unit: "px",
      description: "Distance at which a neighbour's weight falls to 1/e.",
    },
    {
      key: "truncation",
      kind: "whole",
      low: 1,
      high: 255,
      default: 12,
      unit: "grey",
      description: "Grey difference from which on two pixels differ no more.",
    },
    ...EXPONENTIAL_PARAMETERS,
  ],
  ladder: {
    steps: [
      { key: "steps", value: 7 },
      { key: "steps", value: 5 },
    ],
    atHalf: 1,
    workPerCell: "steps",
  },
} as const satisfies Matcher;
