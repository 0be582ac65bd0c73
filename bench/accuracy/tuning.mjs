// SPDX-License-Identifier: Apache-2.0
// Figures of one configuration on named sets of scenes, all read once: what tune.mjs compares.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import {
  engineMatcher,
  middleburyV2Mean,
  readDataset,
  readScene,
  scoreScene,
} from "../../dist/edge/eval/index.js";

const INVALID = -32_768;
/** Percent of all pixels that are kept when errors among the most confident ones are reported. */
export const KEPT = 80;
/** A confidence that a caller would take for sure. */
const SURE = 200;

/** The research sets by their folder's name. */
export async function researchSets(folder = process.env.DEPTHWATT_DATA) {
  const names = folder
    ? readdirSync(folder).filter((name) => existsSync(join(folder, name, "dataset.json")))
    : [];
  const sets = {};
  for (const name of names) {
    sets[name] = [];
    for (const entry of await readDataset(join(folder, name))) sets[name].push(await readScene(entry));
  }
  return sets;
}

/** Among pixels with a truth, by confidence: how many are at least so sure, and how many of these are wrong. */
export function sureness({ truth, badThresholdPx }, { disparityQ4, confidence }) {
  const kept = new Float64Array(257);
  const bad = new Float64Array(257);
  let truths = 0;
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    ++truths;
    if (disparityQ4[i] === INVALID || confidence[i] === 0) continue;
    ++kept[confidence[i]];
    if (Math.abs(disparityQ4[i] / 16 - truth[i]) > badThresholdPx) ++bad[confidence[i]];
  }
  for (let level = 255; level >= 0; --level) {
    kept[level] += kept[level + 1];
    bad[level] += bad[level + 1];
  }
  const percent = (count) => (100 * count) / truths;
  return {
    kept: kept.map(percent),
    wrong: bad.map(percent),
    bad: bad.map((count, i) => (100 * count) / Math.max(1, kept[i])),
  };
}

const BLOCK = 8;
const NEAR_ZERO_PX = 2;
const FAR_FROM_ZERO_PX = 8;

/**
 * Blocks in the first numDisparities columns whose disparities all lie near 0 while the truth, known in three quarters of them, lies far from
 * it: what wins next to the left border where a near thing has no partner.
 * @returns "x,y" of each block's first pixel
 */
export function blocksNearZero({ truth, width, numDisparities }, disparityQ4) {
  const found = [];
  for (let y = 0; y + BLOCK <= truth.length / width; y += BLOCK) {
    for (let x = 0; x + BLOCK <= numDisparities; x += BLOCK) {
      const places = Array.from({ length: BLOCK * BLOCK }, (_, i) => (y + (i >> 3)) * width + x + (i & 7));
      const known = places.filter((at) => Number.isFinite(truth[at]));
      if (known.length < BLOCK * BLOCK * 0.75 || known.some((at) => truth[at] <= FAR_FROM_ZERO_PX)) continue;
      if (places.every((at) => disparityQ4[at] < 16 * NEAR_ZERO_PX)) found.push(`${x},${y}`);
    }
  }
  return found;
}

/** Percent wrong among the surest 80 % of all scenes, one threshold for all, in proportion between two thresholds. */
function badAtDensity(scenes) {
  const at = (name, level) => mean(scenes.map((scene) => scene[name][level]));
  let level = 1;
  while (level < 256 && at("kept", level + 1) >= KEPT) ++level;
  const [more, fewer] = [at("kept", level), at("kept", level + 1)];
  if (more <= KEPT) return at("bad", level);
  const share = (more - KEPT) / (more - fewer);
  return (1 - share) * at("bad", level) + share * at("bad", level + 1);
}

/**
 * @param sets scenes by the name of their set
 * @param options what loadConfig takes: set, preset
 * @returns percent bad by set (Middlebury v2: the mean of its twelve numbers) and by scene, everything filled; `at80`: percent wrong among the
 * surest 80 %; `unsure`: mean confidence of the scenes' `untold` masks, where no picture reports the disparity
 */
export async function measureSets(sets, options) {
  const { config } = loadConfig(options);
  const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 0, createEngine });
  const figures = { sets: {}, scenes: {}, unsure: {}, sureWrong: {}, blocks: {} };
  const curves = [];
  for (const [name, scenes] of Object.entries(sets)) {
    const scores = [];
    for (const scene of scenes) {
      const matched = await matcher(scene);
      scores.push(scoreScene(scene, matched.disparityQ4, scene.badThresholdPx));
      figures.scenes[scene.name] = scores.at(-1).valid.badPercent;
      if (scene.constructed !== true) curves.push(sureness(scene, matched));
      const blocks = blocksNearZero(scene, matched.disparityQ4);
      if (blocks.length > 0) figures.blocks[scene.name] = blocks.length;
      const untold = scene.masks.get("untold");
      if (untold !== undefined) {
        const sures = matched.confidence.filter((_, i) => untold[i] !== 0);
        figures.sureWrong[scene.name] = sureness(scene, matched).wrong[SURE];
        figures.unsure[scene.name] = mean(Array.from(sures));
      }
    }
    figures.sets[name] = middleburyV2Mean(scores) ?? mean(scores.map(({ valid }) => valid.badPercent));
  }
  if (curves.length > 0) figures.at80 = badAtDensity(curves);
  return figures;
}
