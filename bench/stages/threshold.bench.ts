// SPDX-License-Identifier: Apache-2.0
// Threshold, one thread, VGA: every form on this machine. Each call gets fresh copies, whose making is in the time.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const matched = matchedDisparities(width, height).disparityQ4;
const sure = new Random(2).fill(new Uint8Array(width * height), 0, 255);
const images = { disparityQ4: matched.slice(), confidence: sure.slice(), dropped: new Int32Array(4) };
const geometry = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 };
const limits = { minConfidence: 128, minMillimetres: 500, maxMillimetres: 10_000 };
const stage = native.stages.threshold as unknown as (call: object) => string;

describe("threshold 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const run = () => {
      images.disparityQ4.set(matched);
      images.confidence.set(sure);
      stage({ variant, width, height, ...geometry, ...limits, ...images });
    };
    bench(variant, run, { time: 300, warmupTime: 100 });
  }
});
