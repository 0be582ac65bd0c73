// SPDX-License-Identifier: Apache-2.0
// Measures the cost of selection on top of aggregation: with and without the right-image match and the second best.
import { bench, describe } from "vitest";
import { emptyAnswer, sgm, shiftedPair } from "../../test/doubles/sgm-call.js";
import { Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const given = {
  width,
  height,
  numDisparities: 128,
  paths: 4,
  ...shiftedPair(new Random(1), width, height, 20),
};
const everything = emptyAnswer(width * height);
const { disparityQ4, disparity, rightDisparity } = everything;

describe.each(variants.filter((name) => name !== "scalar"))(
  "selection within sgm, %s, one thread",
  (variant) => {
    const options = { time: 500, warmupTime: 100 };
    bench("winner alone", () => void sgm(variant, given, { disparityQ4, disparity } as never), options);
    const both = { disparityQ4, disparity, rightDisparity } as never;
    bench("and the right view", () => void sgm(variant, given, both), options);
    bench("and the confidence", () => void sgm(variant, given, everything), options);
  },
);
