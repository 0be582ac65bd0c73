// SPDX-License-Identifier: Apache-2.0
// Next to the left border a near thing has no partner in the right image. Then nothing else may win there: no block of disparity near 0
// where the ground truth, or what lies right next to the strip, is far from 0.
import { expect, test } from "vitest";
import { createEngine } from "../../cuda/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../edge/eval/index.js";
import { needsData } from "../doubles/needs.js";

const BLOCK = 8;
const NEAR_ZERO_PX = 2;
const FAR_FROM_ZERO_PX = 8;

/** Blocks in the first columns whose disparities all lie near 0 while every known ground truth in them lies far from it. */
function blocksNearZero(
  disparityQ4: Int16Array,
  truth: Float32Array,
  width: number,
  columns: number,
): string[] {
  const found: string[] = [];
  const height = disparityQ4.length / width;
  for (let y = 0; y + BLOCK <= height; y += BLOCK) {
    for (let x = 0; x + BLOCK <= columns; x += BLOCK) {
      const places = Array.from({ length: BLOCK * BLOCK }, (_, i) => (y + (i >> 3)) * width + x + (i & 7));
      const known = places.filter((at) => Number.isFinite(truth[at]!));
      if (known.length < BLOCK * BLOCK * 0.75) continue;
      const wrong = places.every((at) => disparityQ4[at]! < 16 * NEAR_ZERO_PX);
      if (wrong && known.every((at) => truth[at]! > FAR_FROM_ZERO_PX)) found.push(`${x},${y}`);
    }
  }
  return found;
}

for (const set of ["midd_v2", "midd_2005_2006_third", "midd_2006_aloe", "midd_2014", "kitti2015"]) {
  needsData(set).suite(`left strip of ${set}`, (folder) => {
    test.each([
      ["defaults", {}],
      ["quality", { preset: "quality" }],
    ])(
      "holds no block of disparity near 0: %s",
      async (_, asked) => {
        for (const entry of await readDataset(folder)) {
          const scene = await readScene(entry);
          const { config } = loadConfig(asked);
          const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
          const { disparityQ4 } = await matcher(scene);
          const found = blocksNearZero(disparityQ4, scene.truth, scene.width, scene.numDisparities);
          expect(found, entry.name).toEqual([]);
        }
      },
      120_000,
    );
  });
}
