// SPDX-License-Identifier: Apache-2.0
// Wide census, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const image = new Random(1).fill(new Uint8Array(width * height), 0, 255);
const [first, second] = [new Uint32Array(width * height), new Uint32Array(width * height)];
const stage = native.stages.wideCensus as unknown as (call: object) => string;

describe("wide census 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, image, first, second }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
