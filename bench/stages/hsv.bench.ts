// SPDX-License-Identifier: Apache-2.0
// Weighted hue, saturation and value of one VGA image, one thread: every form on this machine.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const rgb = new Random(1).fill(new Uint8Array(3 * width * height), 0, 255);
const result = new Uint8Array(8 * width * height);
const stage = native.stages.hsv as unknown as (call: object) => string;

describe("hsv 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const call = { variant, width, height, hue: 20, saturation: 30, value: 50, rgb, result };
    bench(variant, () => void stage(call), { time: 300, warmupTime: 100 });
  }
});
