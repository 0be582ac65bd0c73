// SPDX-License-Identifier: Apache-2.0
// Doubling a map to VGA, one thread: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const half = matchedDisparities(width / 2, height / 2).disparityQ4;
const grey = new Random(2).fill(new Uint8Array(width * height), 0, 255);
const result = new Int16Array(width * height);
const stage = native.stages.upscale as unknown as (call: object) => string;

describe("upscale to 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const call = { variant, width, height, thresholdQ4: 48, grey, half, result };
    bench(variant, () => void stage(call), { time: 300, warmupTime: 100 });
  }
});
