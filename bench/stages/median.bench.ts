// SPDX-License-Identifier: Apache-2.0
// Median, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const result = new Int16Array(width * height);
const stage = native.stages.median as unknown as (call: object) => string;

describe("median 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, disparityQ4, result }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
