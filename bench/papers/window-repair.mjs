// SPDX-License-Identifier: Apache-2.0
// Measures the effect of the repair of Prehn 2007 on errors and how well each confidence measure separates right from wrong: presets that refine
// nothing else, Middlebury v2, non-occluded pixels off by more than 1 px: `node bench/papers/window-repair.mjs` (needs
// DEPTHWATT_DATA). Of a scene and a confidence:
//   areaPercent      wrong pixels among the surest share of all, in the mean of all shares; without a confidence it is badPercent
//   repairedPercent  of the wrong pixels those that are right after the repair; spoiltPercent: right ones that are not, per wrong one
import { join } from "node:path";
import { CONFIDENCE_MEASURES, createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const PRESETS = ["pyramid-7", "sad-7", "esaw-9", "esmp-8", "sgm-2016"];
const entries = await readDataset(join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2"));
const scenes = await Promise.all(entries.map((entry) => readScene(entry, true)));
for (const scene of scenes) scene.numDisparities = LABELS[scene.name];

async function matched(scene, preset, set) {
  const all = ["board=none", "engine.backend=cpu", "refine.median=false", ...set];
  const { config } = loadConfig({ environment: {}, preset, set: all });
  return engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine })(scene);
}

/** For each evaluated pixel whether it is off; the order is that of the scene. */
function findWrong(scene, disparityQ4) {
  const wrong = [];
  const mask = scene.masks.get("nonocc");
  for (let i = 0; i < disparityQ4.length; ++i) {
    if (Number.isFinite(scene.truth[i]) && mask[i] !== 0)
      wrong.push(Math.abs(disparityQ4[i] / 16 - scene.truth[i]) > 1);
  }
  return wrong;
}
const selectEvaluated = (scene, image) =>
  image.filter((_, i) => Number.isFinite(scene.truth[i]) && scene.masks.get("nonocc")[i] !== 0);

/** Pixels of one confidence count in the mean of their orders. */
function areaPercent(wrong, sure) {
  const levels = Array.from({ length: 256 }, () => [0, 0]);
  for (const [i, value] of sure.entries()) {
    levels[value][0]++;
    levels[value][1] += wrong[i] ? 1 : 0;
  }
  let [kept, bad, area] = [0, 0, 0];
  for (const [count, off] of levels.reverse()) {
    for (let i = 1; i <= count; ++i) area += (bad + (off * i) / count) / (kept + i);
    kept += count;
    bad += off;
  }
  return (100 * area) / kept;
}

const rows = [];
const round = (value) => Number(value.toFixed(3));
for (const preset of PRESETS) {
  for (const confidence of CONFIDENCE_MEASURES) {
    for (const scene of scenes) {
      const set = [`refine.confidence=${confidence}`];
      const before = await matched(scene, preset, [...set, "refine.repair=false"]);
      const after = await matched(scene, preset, [...set, "refine.repair=true"]);
      const [wrong, still] = [before, after].map(({ disparityQ4 }) => findWrong(scene, disparityQ4));
      const bad = wrong.filter(Boolean).length;
      rows.push({
        kind: "measured",
        preset,
        confidence,
        scene: scene.name,
        badPercent: round((100 * bad) / wrong.length),
        areaPercent: round(areaPercent(wrong, selectEvaluated(scene, before.confidence))),
        repairedBadPercent: round((100 * still.filter(Boolean).length) / wrong.length),
        repairedPercent: round((100 * wrong.filter((off, i) => off && !still[i]).length) / bad),
        spoiltPercent: round((100 * wrong.filter((off, i) => !off && still[i]).length) / bad),
      });
    }
  }
}
console.table(rows.map(({ kind: _, ...row }) => row));
writeResult("window-repair", values, {
  what: "the repair of Prehn 2007 by confidence measure, Middlebury v2, non-occluded pixels",
  labels: LABELS,
  rows,
});
