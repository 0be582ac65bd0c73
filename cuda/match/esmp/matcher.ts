// SPDX-License-Identifier: Apache-2.0
// ESMP as TypeScript knows it; esmp.cpu.cc says the same.
import { EXPONENTIAL_PARAMETERS } from "../exponential-parameters.js";
import type { Matcher } from "../matcher.js";

/** A cost of 1 is 20000 cells, and 16 bits hold 65535. */
const MAX_THOUSANDTHS = 3276;

export const esmp = {
  name: "esmp",
  description: "message propagation in exponential steps",
  images: "grey and left rgb",
  halfByDefault: false,
  parameters: [
    {
      key: "steps",
      kind: "whole",
      low: 1,
      high: 16,
      default: 8,
      description: "Rounds of aggregation, each along x and then along y.",
    },
    {
      key: "basePercent",
      kind: "whole",
      low: 100,
      high: 400,
      default: 180,
      unit: "%",
      description:
        "Round t reaches round((basePercent / 100)^(t - 1)) pixels to each side; the paper prints 280 and has the figures of 180.",
    },
    {
      key: "gammaColour",
      kind: "whole",
      low: 1,
      high: 1000,
      default: 18,
      unit: "grey",
      description: "Colour difference at which a neighbour's weight falls to 1/e.",
    },
    {
      key: "gammaDistance",
      kind: "whole",
      low: 1,
      high: 1000,
      default: 29,
      unit: "px",
      description: "Distance at which a neighbour's weight falls to 1/e.",
    },
    {
      key: "truncation",
      kind: "whole",
      low: 1,
      high: 255,
      default: 17,
      unit: "grey",
      description: "Grey difference from which on two pixels differ no more.",
    },
    {
      key: "lambdaThousandths",
      kind: "whole",
      low: 1,
      high: 3276,
      default: 150,
      unit: "1/1000",
      description: "Cost of one grey value; times truncation at most 3276.",
    },
    {
      key: "slopeThousandths",
      kind: "whole",
      low: 1,
      high: 3276,
      default: 1000,
      unit: "1/1000",
      description: "Penalty of each pixel by which neighbours' disparities differ.",
    },
    {
      key: "capTenThousandths",
      kind: "whole",
      low: 0,
      high: 10000,
      default: 375,
      unit: "1/10000",
      description: "Largest penalty, as a part of the search: times numDisparities - 1.",
    },
    ...EXPONENTIAL_PARAMETERS,
  ],
  ladder: {
    steps: [
      { key: "steps", value: 6 },
      { key: "steps", value: 4 },
    ],
    atHalf: 1,
    workPerCell: "steps",
  },
  check({ parameters: { truncation, lambdaThousandths } }) {
    const maxLambda = Math.floor(MAX_THOUSANDTHS / Number(truncation));
    if (Number(lambdaThousandths) <= maxLambda) return undefined;
    return {
      keys: ["match.esmp.lambdaThousandths", "match.esmp.truncation"],
      text: `expected at most ${maxLambda} beside match.esmp.truncation of ${truncation}, got ${lambdaThousandths}`,
    };
  },
} as const satisfies Matcher;
