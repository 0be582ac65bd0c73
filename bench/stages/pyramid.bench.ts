// SPDX-License-Identifier: Apache-2.0
// The stage pyramid at 640x480 with 128 disparities and right winners: every vector form, one and two threads, opening included.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";
import { noisyPair } from "../../test/doubles/window-stages.js";

const [width, height] = [640, 480];
const images = () => new Int16Array(width * height);
const maps = { disparityQ4: images(), disparity: images(), rightDisparity: images() };
const call = {
  ...noisyPair(new Random(1), width, height, 17),
  minDisparity: 0,
  numDisparities: 128,
  windowWidth: 7,
  windowHeight: 7,
  levels: 3,
  peakRatio: 5,
  subpixel: false,
  ...maps,
  confidence: new Uint8Array(width * height),
};
const stage = native.stages.pyramid as unknown as (call: object) => string;

describe("pyramid 640x480, 128 disparities", () => {
  for (const variant of variants) {
    for (const threads of [1, 2]) {
      bench(`${variant}, ${threads} threads`, () => void stage({ ...call, variant, threads }), { time: 300 });
    }
  }
});
