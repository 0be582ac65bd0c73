// SPDX-License-Identifier: Apache-2.0
// Census transform, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const image = new Random(1).fill(new Uint8Array(width * height), 0, 255);
const census = new Uint32Array(width * height);
const stage = native.stages.census as unknown as (call: object) => string;

describe("census 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, image, census }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
