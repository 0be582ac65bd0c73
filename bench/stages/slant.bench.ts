// SPDX-License-Identifier: Apache-2.0
// Local planes, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const grey = new Random(2).fill(new Uint8Array(width * height), 90, 110);
const result = new Int16Array(width * height);
const stage = native.stages.slant as unknown as (call: object) => string;

describe("slant 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, grey, disparityQ4, result }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
