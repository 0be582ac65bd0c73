// SPDX-License-Identifier: Apache-2.0
// Locates the errors of a refined disparity map: pixels that were matched and kept, holes that were filled, or the
// strip left of the first kept pixel of its row, which only the left camera sees. Scores the matcher's output before
// any removal next to it, and the best that a perfect choice between the two could reach.
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../dist/edge/eval/index.js";

const INVALID = -32_768;
/** Filling keeps the first columns of the search: hardly a candidate has a competitor there. */
const COLUMNS_TAKEN_BACK = 8;
const UNFILLED = ["refine.fill=off", "refine.boundary=false", "refine.median=false"];
const UNCHECKED = [...UNFILLED, "refine.leftRight=false", "refine.speckleSize=0", "match.sgm.uniqueness=0"];

function createMatcher(set) {
  const { config } = loadConfig({ set });
  return engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
}

function countErrors({ truth, width, badThresholdPx }, refined, kept, winners) {
  const wrong = (map, i) => map[i] === INVALID || Math.abs(map[i] / 16 - truth[i]) > badThresholdPx;
  const bad = { strip: 0, holes: 0, kept: 0 };
  const area = { strip: 0, holes: 0, kept: 0 };
  let evaluated = 0;
  let neither = 0;
  for (let row = 0; row < truth.length; row += width) {
    let seen = false;
    for (let i = row; i < row + width; ++i) {
      const hole = kept[i] === INVALID || i - row < COLUMNS_TAKEN_BACK;
      seen ||= !hole;
      if (!Number.isFinite(truth[i])) continue;
      const region = !seen ? "strip" : hole ? "holes" : "kept";
      ++evaluated;
      ++area[region];
      if (!wrong(refined, i)) continue;
      ++bad[region];
      if (wrong(winners, i)) ++neither;
    }
  }
  const percent = (part) => (100 * part) / evaluated;
  const ofAll = (counts) =>
    Object.fromEntries(Object.entries(counts).map(([name, part]) => [name, percent(part)]));
  return { areaPercent: ofAll(area), badPercent: ofAll(bad), badWithWinnersToo: percent(neither) };
}

/**
 * Returns for each scene, as percent of the pixels with a ground truth: the area of each region, its errors, and the
 * errors that the matcher's own winners share with the refined map.
 * @param set settings as `--set` takes them
 */
export async function errorRegions(folders, set) {
  const refined = createMatcher(set);
  const kept = createMatcher([...set, ...UNFILLED]);
  const winners = createMatcher([...set, ...UNCHECKED]);
  const regions = {};
  for (const folder of folders) {
    for (const entry of await readDataset(folder)) {
      const scene = await readScene(entry);
      const maps = [];
      for (const matcher of [refined, kept, winners]) maps.push((await matcher(scene)).disparityQ4);
      regions[scene.name] = countErrors(scene, ...maps);
    }
  }
  return regions;
}
