// SPDX-License-Identifier: Apache-2.0
// The repair of outliers, one thread, VGA: every form on this machine.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const sure = new Random().fill(new Uint8Array(width * height), 1, 255);
const stage = native.stages.repair as unknown as (call: object) => string;

describe("repair 640x480, three passes, one thread", () => {
  for (const variant of ["reference", ...variants])
    bench(variant, () => void stage({ variant, width, height, disparityQ4, sure }), {
      time: 300,
      warmupTime: 100,
    });
});
