// SPDX-License-Identifier: Apache-2.0
// Temporal filter, one thread, VGA: every form on this machine, on frames that differ by noise.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const pixels = width * height;
const random = new Random(5);
const grey = random.fill(new Uint8Array(pixels), 0, 255);
const frames = [0, 1, 2, 3].map(() =>
  matchedDisparities(width, height).disparityQ4.map((value) =>
    value < 0 ? value : value + random.whole(0, 6),
  ),
);
const stage = native.stages.temporal as unknown as (call: object) => string;

describe("mean over time 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const state = {
      mean: new Int16Array(pixels),
      weight: new Uint8Array(pixels),
      reference: new Int16Array(pixels),
    };
    const disparityQ4 = new Int16Array(pixels);
    let frame = 0;
    bench(
      variant,
      () => {
        disparityQ4.set(frames[frame++ % frames.length]!);
        stage({ variant, width, height, grey, disparityQ4, ...state });
      },
      { time: 300, warmupTime: 100 },
    );
  }
});
