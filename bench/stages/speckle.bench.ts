// SPDX-License-Identifier: Apache-2.0
// Speckle filter, VGA: the definition, one and two threads. Each call filters a fresh copy, whose making is in the time.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const matched = matchedDisparities(width, height).disparityQ4;
const disparityQ4 = new Int16Array(width * height);
const call = { width, height, minPixels: 100, rangeQ4: 16, disparityQ4 };
const stage = native.stages.speckle as unknown as (call: object) => string;

describe("speckle 640x480", () => {
  for (const [name, variant, threads] of [
    ["reference", "reference", 1],
    ["one thread", variants[0]!, 1],
    ["two threads", variants[0]!, 2],
  ] as const) {
    const run = () => {
      disparityQ4.set(matched);
      stage({ ...call, variant, threads });
    };
    bench(name, run, { time: 300, warmupTime: 100 });
  }
});
