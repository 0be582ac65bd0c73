// SPDX-License-Identifier: Apache-2.0
// Measures the ambiguity stage, one thread, VGA: every form on this machine, on a texture and on slats, which cost
// most.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, Random, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const texture = new Random().fill(new Uint8Array(width * height), 0, 255);
const slats = texture.map((_, i) => (i % 8 < 4 ? 60 : 160));
const limit = new Uint8Array((width / 8) * (height / 4));
const stage = native.stages.ambiguity as unknown as (call: object) => string;

describe.each([
  ["texture", texture],
  ["slats", slats],
])("ambiguity 640x480, one thread, %s", (_, picture) => {
  for (const variant of ["reference", ...variants]) {
    bench(
      variant,
      () => void stage({ variant, width, height, left: picture, right: picture, disparityQ4, limit }),
      { time: 300, warmupTime: 100 },
    );
  }
});
