// SPDX-License-Identifier: Apache-2.0
// Average over time of one image, one thread, VGA: every form on this machine, on frames that differ by noise.
import { bench, describe } from "vitest";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const random = new Random(6);
const scene = random.fill(new Uint8Array(width * height), 10, 245);
const frames = [0, 1, 2, 3].map(() => scene.map((value) => value + random.whole(-3, 3)));
const averaged = new Uint8Array(width * height);
const stage = native.stages.average as unknown as (call: object) => string;

describe("average over time 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    const states = [new Int16Array(width * height), new Int16Array(width * height)];
    let frame = 0;
    bench(
      variant,
      () => {
        const image = frames[frame++ % frames.length]!;
        const [before, after] = [states[frame & 1]!, states[(frame & 1) ^ 1]!];
        stage({ variant, width, height, image, filtered: image, before, after, averaged, limit: 216 });
      },
      { time: 300, warmupTime: 100 },
    );
  }
});
