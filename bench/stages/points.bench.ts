// SPDX-License-Identifier: Apache-2.0
// Points of a VGA frame, one thread: each form of them, every instruction set of this machine.
import { bench, describe } from "vitest";
import { pointBytes } from "../../cuda/index.js";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const rig = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0, cx: 319.5, cy: 239.5 };
const grey = new Uint8Array(width * height).fill(100);
const rgb = new Uint8Array(3 * width * height).fill(100);
const stage = native.stages.points as unknown as (call: object) => string;

for (const element of ["float32", "int16"] as const) {
  for (const colours of [false, true]) {
    const points = new Uint8Array(width * height * pointBytes({ element, colours }));
    const call = {
      width,
      height,
      ...rig,
      frame: "robot",
      element,
      disparityQ4,
      grey,
      ...(colours && { rgb }),
      points,
    };
    describe(`points, ${element}, ${colours ? "rgb" : "grey"}, 640x480, one thread`, () => {
      for (const variant of ["reference", ...variants])
        bench(variant, () => void stage({ variant, ...call }), { time: 300, warmupTime: 100 });
    });
  }
}
