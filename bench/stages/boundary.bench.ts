// SPDX-License-Identifier: Apache-2.0
// Boundary vote, one thread, VGA: every form on this machine, on a picture of steps whose edges the grey image disputes.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const random = new Random(3);
const edge = (x: number, y: number, shift: number) => ((x + shift + (y >> 3)) >> 6) % 2 === 0;
const at = (i: number): [number, number] => [i % width, Math.floor(i / width)];
const grey = Uint8Array.from(
  { length: width * height },
  (_, i) => (edge(...at(i), 0) ? 60 : 140) + random.whole(-6, 6),
);
const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => (edge(...at(i), 3) ? 160 : 480));
const result = new Int16Array(width * height);
const stage = native.stages.boundary as unknown as (call: object) => string;

describe("boundary 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, grey, disparityQ4, result }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
