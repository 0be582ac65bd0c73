// SPDX-License-Identifier: Apache-2.0
// Aggregation and selection, VGA, 128 disparities, one thread: every form but the definition, which takes seconds.
import { bench, describe } from "vitest";
import { emptyAnswer, sgm, shiftedPair } from "../../test/doubles/sgm-call.js";
import { Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const pair = shiftedPair(new Random(1), width, height, 20);
const answer = emptyAnswer(width * height);

// Each call opens a matcher: its memory is part of the time. `npm run bench` times frames alone.
describe.each([4, 8])("sgm 640x480, 128 disparities, %i paths, one thread", (paths) => {
  for (const variant of variants.filter((name) => name !== "scalar")) {
    const given = { width, height, numDisparities: 128, paths, uniqueness: 10, ...pair };
    bench(variant, () => void sgm(variant, given, answer), { time: 500, warmupTime: 100 });
  }
});
