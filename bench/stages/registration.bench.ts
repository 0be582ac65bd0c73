// SPDX-License-Identifier: Apache-2.0
// Registration of a VGA frame into a VGA camera 2 cm next to it, one thread: each form, every instruction set of this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const rig = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 };
const camera = { width, height, matrix: Float64Array.of(1, 0, 0, -0.2, 0, 1, 0, 0, 0, 0, 1, 0) };
const out = {
  millimetres: new Uint16Array(width * height),
  registeredConfidence: new Uint8Array(width * height),
};
const stage = native.stages.registration as unknown as (call: object, camera: object) => string;

for (const fill of [false, true]) {
  const call = {
    width,
    height,
    ...rig,
    fill,
    disparityQ4,
    confidence: new Uint8Array(width * height).fill(200),
    ...out,
  };
  describe(`registration${fill ? ", filled" : ""}, 640x480, one thread`, () => {
    for (const variant of ["reference", ...variants])
      bench(variant, () => void stage({ variant, ...call }, camera), { time: 300, warmupTime: 100 });
  });
}
