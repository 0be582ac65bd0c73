// SPDX-License-Identifier: Apache-2.0
// Percent of bad pixels where the pair is not as it should be: darker, rows apart, noisy, the cameras swapped, no picture at all.
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../dist/edge/eval/index.js";

/** Normal noise, the same in every run; each camera has its own. */
export function noisy(image, sigma, seed) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 1) / 4294967297;
  };
  return image.map((value) => {
    const normal = Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
    return Math.min(255, Math.max(0, Math.round(value + sigma * normal)));
  });
}

/**
 * Moves row y down by `rows`, and in column x by the additional height of a line that rises by `overWidth` rows from
 * the left border to the right one; interpolates between rows and replicates the border.
 */
function lower(image, width, rows, overWidth = 0) {
  const height = image.length / width;
  const at = (x, y) => image[Math.min(height - 1, Math.max(0, y)) * width + x];
  return image.map((_, i) => {
    const from = Math.floor(i / width) - rows - overWidth * (((i % width) + 0.5) / width - 0.5);
    const above = Math.floor(from);
    const share = from - above;
    return Math.round((1 - share) * at(i % width, above) + share * at(i % width, above + 1));
  });
}

export const PERTURBATIONS = {
  "as it is": (scene) => scene,
  "right exposure -30 %": (scene) => ({
    ...scene,
    right: scene.right.map((value) => Math.round(0.7 * value)),
  }),
  "0.5 row": (scene) => ({ ...scene, right: lower(scene.right, scene.width, 0.5) }),
  "1 row": (scene) => ({ ...scene, right: lower(scene.right, scene.width, 1) }),
  "2 rows": (scene) => ({ ...scene, right: lower(scene.right, scene.width, 2) }),
  "1 row over the width": (scene) => ({ ...scene, right: lower(scene.right, scene.width, 0, 1) }),
  "3 rows over the width": (scene) => ({ ...scene, right: lower(scene.right, scene.width, 0, 3) }),
  "sigma 3": (scene) => ({ ...scene, left: noisy(scene.left, 3, 1), right: noisy(scene.right, 3, 2) }),
  "sigma 6": (scene) => ({ ...scene, left: noisy(scene.left, 6, 1), right: noisy(scene.right, 6, 2) }),
  "sigma 10": (scene) => ({ ...scene, left: noisy(scene.left, 10, 1), right: noisy(scene.right, 10, 2) }),
  swapped: (scene) => ({ ...scene, left: scene.right, right: scene.left }),
  constant: (scene) => ({ ...scene, left: scene.left.map(() => 128), right: scene.right.map(() => 128) }),
};

export function badPercent({ truth, badThresholdPx }, disparityQ4) {
  let evaluated = 0;
  let bad = 0;
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    ++evaluated;
    if (disparityQ4[i] === -32_768 || Math.abs(disparityQ4[i] / 16 - truth[i]) > badThresholdPx) ++bad;
  }
  return (100 * bad) / evaluated;
}

/**
 * By perturbation and data set (its folder's name), the mean over its scenes of all pixels with a ground truth.
 * @param set settings as `--set` takes them
 */
export async function perturbedErrors(folders, set) {
  const { config } = loadConfig({ set });
  const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
  const errors = {};
  for (const [name, perturb] of Object.entries(PERTURBATIONS)) {
    errors[name] = {};
    for (const folder of folders) {
      const scenes = [];
      for (const entry of await readDataset(folder)) {
        const scene = perturb(await readScene(entry));
        scenes.push(badPercent(scene, (await matcher(scene)).disparityQ4));
      }
      errors[name][folder.split("/").at(-1)] = mean(scenes);
    }
  }
  return errors;
}
