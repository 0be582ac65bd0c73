// SPDX-License-Identifier: Apache-2.0
// Halving VGA, one thread: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const image = new Random(1).fill(new Uint8Array(width * height), 0, 255);
const result = new Uint8Array((width * height) / 4);
const stage = native.stages.half as unknown as (call: object) => string;

describe("half 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, image, result }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
