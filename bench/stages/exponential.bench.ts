// SPDX-License-Identifier: Apache-2.0
// Exponential-step aggregation at 450x375 with 60 disparities, as ESAW and as ESMP: every vector form, one and two threads.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [450, 375];
const random = new Random(1);
const left = random.fill(new Uint8Array(width * height), 90, 120);
const right = left.map((_, i) => left[i - (i % width) + Math.min(width - 1, (i % width) + 9)]!);
const leftRgb = Uint8Array.from({ length: 3 * width * height }, (_, i) => left[Math.trunc(i / 3)]!);
const images = () => new Int16Array(width * height);
const maps = { disparityQ4: images(), disparity: images(), rightDisparity: images() };
const call = { width, height, left, right, leftRgb, ...maps, confidence: new Uint8Array(width * height) };
const search = { minDisparity: 0, numDisparities: 60, subpixel: false };
const esaw = {
  steps: 9,
  basePercent: 190,
  gammaColour: 17,
  gammaDistance: 36,
  truncation: 12,
  cost: 5461,
  slope: 0,
  cap: 0,
};
const esmp = {
  ...esaw,
  steps: 8,
  basePercent: 280,
  gammaColour: 18,
  gammaDistance: 29,
  truncation: 17,
  cost: 3000,
};
const kinds = { "esaw, 9 steps": esaw, "esmp, 8 steps": { ...esmp, slope: 20000, cap: 44250 } };
const stage = native.stages.exponential as unknown as (call: object) => string;

for (const [name, parameters] of Object.entries(kinds)) {
  describe(`${name}, 450x375, 60 disparities`, () => {
    for (const variant of variants) {
      for (const threads of [1, 2]) {
        const run = () => void stage({ ...call, ...search, ...parameters, variant, threads });
        bench(`${variant}, ${threads} thread${threads > 1 ? "s" : ""}`, run, { time: 500, warmupTime: 200 });
      }
    }
  });
}
