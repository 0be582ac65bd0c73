// SPDX-License-Identifier: Apache-2.0
// The confidence measures of Prehn 2007, one thread, VGA: the product, which needs all three, in every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const random = new Random();
const image = () => random.fill(new Uint8Array(width * height), 0, 255);
const call = { width, height, disparityQ4, left: image(), right: image(), certainty: image(), sure: image() };
const stage = native.stages.windowConfidence as unknown as (call: object) => string;

describe("window confidence 640x480, product, one thread", () => {
  for (const variant of ["reference", ...variants])
    bench(variant, () => void stage({ variant, measure: "product", ...call }), {
      time: 300,
      warmupTime: 100,
    });
});
