// SPDX-License-Identifier: Apache-2.0
// Hole filling, VGA: the definition, one and two threads. Each call fills a fresh copy, whose making is in the time.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const matched = matchedDisparities(width, height).disparityQ4;
const grey = new Random(2).fill(new Uint8Array(width * height), 0, 255);
const disparityQ4 = new Int16Array(width * height);
const range = { thresholdQ4: 128, lowestQ4: 0, highestQ4: 2032 };
const call = { width, height, method: "background", ...range, grey, disparityQ4 };
const stage = native.stages.fill as unknown as (call: object) => string;

describe("fill 640x480", () => {
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
