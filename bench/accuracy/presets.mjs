// SPDX-License-Identifier: Apache-2.0
// Measures every preset by use on the research sets (DEPTHWATT_DATA), and how the confidence limit of `robot` was chosen:
//   node bench/accuracy/presets.mjs [--papers] [--only NAME,NAME] [--machine NAME] [--load REMARK] [--out FILE]
// --papers: measures the presets of papers that no program in bench/papers measures, and nothing else. --only: measures these presets.
// A limit is chosen without each set in turn: the lowest at which at most WRONG percent of the kept pixels of the other sets are wrong.
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, evaluate } from "../../dist/edge/eval/index.js";
import { PRESET_GROUPS } from "../../dist/edge/presets/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { researchSets, sureness } from "./tuning.mjs";

const { values } = scriptArguments({
  options: { papers: { type: "boolean" }, only: { type: "string" }, ...RESULT_OPTIONS },
});
const presets =
  values.only?.split(",") ??
  (values.papers === true ? ["sgm-2016", "chang-half", "chang-full"] : Object.keys(PRESET_GROUPS.use));
const ROUNDS = values.papers === true ? 1 : 5;
/** Percent of the kept pixels that may be wrong. */
const WRONG = 2;
const LEVELS = 255;

const sets = await researchSets();
const createMatcher = (preset, set = []) => {
  const { config } = loadConfig({
    environment: {},
    preset,
    set: ["board=none", "engine.backend=cpu", ...set],
  });
  return engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
};
const rounded = (value) => Number(value.toFixed(3));

/** Middlebury v2 has the mean of its three masks, the others every pixel with a truth. */
const meanBadPercent = ({ mean: { masks, middleburyV2BadPercent } }) =>
  middleburyV2BadPercent ?? masks.valid.badPercent;

const fastest = {};
const rows = [];
for (let round = 0; round < ROUNDS; ++round) {
  for (const preset of presets) {
    for (const [data, scenes] of Object.entries(sets)) {
      const result = await evaluate(scenes, createMatcher(preset));
      const key = `${preset} ${data}`;
      for (const { name, milliseconds } of result.scenes) {
        fastest[key] ??= {};
        fastest[key][name] = Math.min(fastest[key][name] ?? Infinity, milliseconds);
      }
      if (round > 0) continue;
      const { density, badPercentValidOnly } = result.mean.masks.valid;
      rows.push({
        kind: "measured",
        preset,
        data,
        mean: rounded(meanBadPercent(result)),
        densityPercent: rounded(density),
        wrongOfKeptPercent: rounded(badPercentValidOnly),
        scenes: scenes.length,
      });
    }
  }
}
for (const row of rows) row.milliseconds = rounded(mean(Object.values(fastest[`${row.preset} ${row.data}`])));

if (values.papers === true) {
  console.table(rows.map(({ kind: _, ...row }) => row));
  const what = "presets of papers: percent bad with holes as wrong, density and percent wrong of kept pixels";
  writeResult("paper-presets", values, { what, rows });
  process.exit(0);
}

if (values.only !== undefined) {
  console.table(rows.map(({ kind: _, ...row }) => row));
  const what = `presets by use: percent bad with holes as wrong, density and percent wrong of kept pixels, fastest of ${ROUNDS} frames`;
  writeResult("presets", values, { what, rows });
  process.exit(0);
}

const unlimited = createMatcher("robot", ["refine.minConfidence=0"]);
const curves = [];
for (const [data, scenes] of Object.entries(sets))
  for (const scene of scenes) curves.push({ data, ...sureness(scene, await unlimited(scene)) });
const at = (scenes, level) => ({
  densityPercent: rounded(mean(scenes.map(({ kept }) => kept[level]))),
  wrongOfKeptPercent: rounded(mean(scenes.map(({ bad }) => bad[level]))),
});
function lowestLevel(scenes) {
  let level = 1;
  while (level < LEVELS && at(scenes, level).wrongOfKeptPercent > WRONG) ++level;
  return level;
}
const limitRow = (what, level, scenes) => ({
  kind: "measured",
  preset: "robot",
  what,
  minConfidence: rounded(level / LEVELS),
  ...at(scenes, level),
});
const heldOut = [];
for (const left of Object.keys(sets)) {
  const level = lowestLevel(curves.filter(({ data }) => data !== left));
  const scenes = curves.filter(({ data }) => data === left);
  rows.push(limitRow(`limit chosen without ${left}, measured on ${left}`, level, scenes));
  heldOut.push(...scenes.map((scene) => at([scene], level)));
}
rows.push({
  kind: "measured",
  preset: "robot",
  what: "all scenes, each with the limit that was chosen without its set",
  densityPercent: rounded(mean(heldOut.map(({ densityPercent }) => densityPercent))),
  wrongOfKeptPercent: rounded(mean(heldOut.map(({ wrongOfKeptPercent }) => wrongOfKeptPercent))),
});
rows.push(limitRow("limit chosen on all scenes", lowestLevel(curves), curves));
rows.push(limitRow("limit 0.9", Math.ceil(0.9 * LEVELS), curves));
const { config } = loadConfig({ environment: {}, preset: "robot", set: ["board=none"] });
rows.push(limitRow("limit of the preset", Math.ceil(config.refine.minConfidence * LEVELS), curves));
console.table(rows.map(({ kind: _, ...row }) => row));
writeResult("presets", values, {
  what: `presets by use: percent bad with holes as wrong, density and percent wrong of the kept pixels (means of scenes), fastest of ${ROUNDS} frames; development scenes, on which the settings were chosen`,
  rows,
});
