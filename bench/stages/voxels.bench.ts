// SPDX-License-Identifier: Apache-2.0
// Voxels of a VGA frame, one thread: the definition and the fast form.
import { bench, describe } from "vitest";
import { matchedDisparities } from "../../test/doubles/disparities.js";
import { native, variants } from "../../test/doubles/stages.js";

const [width, height] = [640, 480];
const { disparityQ4 } = matchedDisparities(width, height);
const rig = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0, cx: 319.5, cy: 239.5 };
const form = { frame: "camera", sizeMillimetres: 50, uncertaintyPixels: 0.5 };
const voxels = new Int16Array(4 * (width * height + 1));
const stage = native.stages.voxels as unknown as (call: object) => string;

describe("voxels, 640x480, one thread", () => {
  for (const variant of ["reference", variants[0]!])
    bench(variant, () => void stage({ variant, width, height, ...rig, ...form, disparityQ4, voxels }), {
      time: 300,
      warmupTime: 100,
    });
});
