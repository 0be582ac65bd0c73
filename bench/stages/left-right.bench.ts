// SPDX-License-Identifier: Apache-2.0
// Left-right check, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const images = matchedDisparities(width, height);
const stage = native.stages.leftRight as unknown as (call: object) => string;

describe("left_right 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, ...images }), { time: 300, warmupTime: 100 });
  }
});
