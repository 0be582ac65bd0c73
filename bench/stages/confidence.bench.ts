// SPDX-License-Identifier: Apache-2.0
// Confidence, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const random = new Random();
const grey = random.fill(new Uint8Array(width * height), 0, 255);
const certainty = random.fill(new Uint8Array(width * height), 0, 255);
const sure = new Uint8Array(width * height);
const stage = native.stages.confidence as unknown as (call: object) => string;

describe("confidence 640x480, one thread", () => {
  for (const variant of ["reference", ...variants]) {
    bench(variant, () => void stage({ variant, width, height, grey, disparityQ4, certainty, sure }), {
      time: 300,
      warmupTime: 100,
    });
  }
});
