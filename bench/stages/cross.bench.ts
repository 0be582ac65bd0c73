// SPDX-License-Identifier: Apache-2.0
// Cross-based aggregation of VGA at half resolution (320x240, 64 disparities, both images): every vector form, one and two threads.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [320, 240];
const random = new Random(1);
const left = random.fill(new Uint8Array(width * height), 90, 120);
const right = left.map((_, i) => left[i - (i % width) + Math.min(width - 1, (i % width) + 9)]!);
const [disparity, rightDisparity] = [new Int16Array(width * height), new Int16Array(width * height)];
const search = { minDisparity: 0, numDisparities: 64, armX: 21, armY: 31, similarity: 13 };
const call = { width, height, left, right, disparity, rightDisparity, ...search };
const stage = native.stages.cross as unknown as (call: object) => string;

describe("cross 320x240, 64 disparities", () => {
  for (const variant of variants) {
    for (const threads of [1, 2]) {
      const run = () => void stage({ ...call, variant, threads });
      bench(`${variant}, ${threads} thread${threads > 1 ? "s" : ""}`, run, { time: 500, warmupTime: 200 });
    }
  }
});
