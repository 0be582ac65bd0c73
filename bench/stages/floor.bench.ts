// SPDX-License-Identifier: Apache-2.0
// The floor of a VGA frame, one thread: the definition and every instruction set of this machine.
import { bench, describe } from "vitest";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const rig = { focalPixels: 520, baselineMetres: 0.12, disparityOffsetPixels: 0, cx: 319.5, cy: 239.5 };
/** A floor 1.3 m below, and a wall. */
const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) =>
  Math.max(160, Math.round(1.477 * (Math.floor(i / width) - 140)) + ((i * 7919) % 5)),
);
const confidence = new Uint8Array(width * height).fill(200);
const floor = new Float64Array(9);
const stage = native.stages.floor as unknown as (call: object) => string;

describe("floor, 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const call = { variant, width, height, ...rig, disparityQ4, confidence, floor };
    bench(variant, () => void stage(call), { time: 300, warmupTime: 100 });
  }
});
