// SPDX-License-Identifier: Apache-2.0
// Noise estimate, smoothing and filter of one image, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const image = new Random(1).fill(new Uint8Array(width * height), 0, 255);
const smoothed = new Uint8Array(width * height);
const filtered = new Uint8Array(width * height);
const sigmaQ8 = new Int32Array(1);
const stage = native.stages.denoise as unknown as (call: object) => string;

describe("denoise 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(
      variant,
      () => void stage({ variant, width, height, image, range: 14, smoothed, filtered, sigmaQ8 }),
      {
        time: 300,
        warmupTime: 100,
      },
    );
  }
});
