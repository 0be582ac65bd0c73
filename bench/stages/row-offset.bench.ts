// SPDX-License-Identifier: Apache-2.0
// Row offset of a pair of words, one thread, VGA, 128 disparities: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const left = new Random(1).fill(new Uint32Array(width * height), 0, 0x7fffffff);
const right = new Random(2).fill(new Uint32Array(width * height), 0, 0x7fffffff);
const result = new Int32Array(6);
const stage = native.stages.rowOffset as unknown as (call: object) => string;

describe("row offset 640x480x128, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(
      variant,
      () => void stage({ variant, width, height, minDisparity: 0, numDisparities: 128, left, right, result }),
      {
        time: 300,
        warmupTime: 100,
      },
    );
  }
});
