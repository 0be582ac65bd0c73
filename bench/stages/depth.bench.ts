// SPDX-License-Identifier: Apache-2.0
// Depth from disparity, one thread, VGA: millimetres and metres, every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const geometry = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 };
const stage = native.stages.depth as unknown as (call: object) => string;

for (const [unit, depth] of [
  ["millimetres", new Uint16Array(width * height)],
  ["metres", new Float32Array(width * height)],
] as const) {
  describe(`depth in ${unit}, 640x480, one thread`, () => {
    for (const variant of ["reference", ...variants]) {
      bench(variant, () => void stage({ variant, width, height, disparityQ4, depth, ...geometry }), {
        time: 300,
        warmupTime: 100,
      });
    }
  });
}
