// SPDX-License-Identifier: Apache-2.0
// Tests a choice of settings on held-out scenes: chooses among all combinations of the values without each scene, then
// without each set, and prints the held-out error next to that of the shipped settings.
//   node bench/accuracy/leave-one-out.mjs --vary KEY=V1,V2... [--vary ...] [--set key=value]... [--preset NAME]
// [--rooms] [--unfilled] [--cache FILE] [--out FILE]
// --rooms adds a set of rendered rooms. Filled: the best has the smallest mean over the sets of its error in
// proportion to that of the shipped settings. Unfilled: it has the fewest wrong pixels at a density of 80 %, in the mean of the scenes, with one threshold for all;
// the held-out scene gets the threshold of the others. Each combination is measured once; --cache keeps the results for
// another run of the same build. Needs DEPTHWATT_DATA.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, middleburyV2Mean, scoreScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { roomScenes } from "./room-scenes.mjs";
import { KEPT, researchSets, sureness } from "./tuning.mjs";

const { values } = scriptArguments({
  options: {
    vary: { type: "string", multiple: true, default: [] },
    set: { type: "string", multiple: true, default: [] },
    preset: { type: "string" },
    rooms: { type: "boolean", default: false },
    unfilled: { type: "boolean", default: false },
    cache: { type: "string" },
    ...RESULT_OPTIONS,
  },
});

if (!process.env.DEPTHWATT_DATA)
  throw new Error("expected DEPTHWATT_DATA to name the folder of the research sets");

const addon = new URL("../../build/Release/depthwatt.node", import.meta.url);
const build = createHash("sha256").update(readFileSync(addon)).digest("hex").slice(0, 16);
const cache = values.cache && existsSync(values.cache) ? JSON.parse(readFileSync(values.cache, "utf8")) : {};
let sets;

/** By scene: name, set, percent bad (of Middlebury v2 the mean of its three masks), or kept and bad by confidence. */
async function measureScenes(varied) {
  const set = [...values.set, ...(values.unfilled ? ["refine.fill=off"] : []), ...varied];
  const key = [build, values.preset ?? "", values.rooms ? "rooms" : "", ...set].join(" ");
  if (cache[key] !== undefined) return cache[key];
  sets ??= { ...(await researchSets()), ...(values.rooms && { rooms: await roomScenes() }) };
  const { config } = loadConfig({ set, ...(values.preset !== undefined && { preset: values.preset }) });
  const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 0, createEngine });
  const figures = [];
  for (const [name, scenes] of Object.entries(sets)) {
    for (const scene of scenes) {
      const matched = await matcher(scene);
      const scores = scoreScene(scene, matched.disparityQ4, scene.badThresholdPx);
      const { kept, bad } = sureness(scene, matched);
      figures.push({
        scene: scene.name,
        set: name,
        ...(values.unfilled
          ? { kept: Array.from(kept), bad: Array.from(bad) }
          : { bad: middleburyV2Mean([scores]) ?? scores.valid.badPercent }),
      });
    }
  }
  cache[key] = figures;
  if (values.cache !== undefined) writeFileSync(values.cache, JSON.stringify(cache));
  return figures;
}

/** The least sure confidence that is kept, as a whole number and the share on the way to the next. */
function findThreshold(figures) {
  const kept = (level) => mean(figures.map((one) => one.kept[level]));
  let level = 1;
  while (level < 255 && kept(level + 1) >= KEPT) ++level;
  const [more, fewer] = [kept(level), kept(level + 1)];
  return { level, share: more <= KEPT ? 0 : (more - KEPT) / (more - fewer) };
}
const at = (curve, { level, share }) => (1 - share) * curve[level] + share * curve[level + 1];

/** Returns the cost to minimize, over the scenes of the choice. */
function meanCost(row, shipped, counts) {
  const figures = row.figures.filter(counts);
  if (values.unfilled) {
    const threshold = findThreshold(figures);
    return mean(figures.map((one) => at(one.bad, threshold)));
  }
  const names = [...new Set(figures.map((one) => one.set))];
  const ofSet = ({ figures: all }, name) =>
    mean(all.filter((one) => counts(one) && one.set === name).map((one) => one.bad));
  return mean(names.map((name) => ofSet(row, name) / ofSet(shipped, name)));
}

/** Error of the scenes that were left out; of unfilled maps at the threshold of the others, and how much is kept there. */
function leftError(row, isLeft) {
  const left = row.figures.filter(isLeft);
  if (!values.unfilled) return { badPercent: mean(left.map((one) => one.bad)) };
  const threshold = findThreshold(row.figures.filter((one) => !isLeft(one)));
  return {
    badPercent: mean(left.map((one) => at(one.bad, threshold))),
    density: mean(left.map((one) => at(one.kept, threshold))),
  };
}

let combinations = [[]];
for (const text of values.vary) {
  const [key, list] = text.split("=");
  if (!list) throw new Error(`expected --vary KEY=VALUE,VALUE, got "${text}"`);
  combinations = combinations.flatMap((some) => list.split(",").map((value) => [...some, `${key}=${value}`]));
}
const shipped = { settings: "as shipped", figures: await measureScenes([]) };
const rows = [];
for (const varied of combinations)
  rows.push({ settings: varied.join(" "), figures: await measureScenes(varied) });

function without(name, isLeft) {
  const counts = (one) => !isLeft(one);
  const best = rows.reduce((a, b) => (meanCost(b, shipped, counts) < meanCost(a, shipped, counts) ? b : a));
  return {
    left: name,
    chosen: best.settings,
    ...leftError(best, isLeft),
    shipped: leftError(shipped, isLeft),
  };
}
const scenes = shipped.figures.map(({ scene, set }) => ({
  ...without(scene, (one) => one.scene === scene),
  set,
}));
const names = [...new Set(scenes.map((one) => one.set))];
const wholeSets = names.map((name) => without(name, (one) => one.set === name));
const all = rows.toSorted((a, b) => meanCost(a, shipped, () => true) - meanCost(b, shipped, () => true));

const cell = ({ badPercent, density }) =>
  `${badPercent.toFixed(2).padStart(6)}${density === undefined ? "" : ` of ${density.toFixed(1)}`}`;
console.log(`with all of them: ${all[0].settings}`);
console.log("left out, % bad there with the choice of the others, with the shipped setting, the choice");
for (const row of [...scenes, ...wholeSets]) {
  console.log(`${row.left.padEnd(22)} ${cell(row)} ${cell(row.shipped)}  ${row.chosen}`);
}
const averageScenes = (of) => ({
  badPercent: mean(scenes.map((row) => of(row).badPercent)),
  ...(values.unfilled && { density: mean(scenes.map((row) => of(row).density)) }),
});
const meanOfScenes = { chosen: averageScenes((row) => row), shipped: averageScenes((row) => row.shipped) };
console.log(`${"mean of the scenes".padEnd(22)} ${cell(meanOfScenes.chosen)} ${cell(meanOfScenes.shipped)}`);
const bySet = Object.fromEntries(
  names.map((name) => {
    const of = scenes.filter((row) => row.set === name);
    return [
      name,
      {
        chosen: mean(of.map((row) => row.badPercent)),
        shipped: mean(of.map((row) => row.shipped.badPercent)),
      },
    ];
  }),
);
for (const [name, { chosen, shipped: as }] of Object.entries(bySet)) {
  console.log(
    `${name.padEnd(22)} ${chosen.toFixed(2).padStart(6)} ${as.toFixed(2).padStart(6)}  each scene left out`,
  );
}
if (values.out !== undefined) {
  const costs = all.map((row) => ({ settings: row.settings, cost: meanCost(row, shipped, () => true) }));
  const { cache: _, ...asked } = values;
  const figures = { asked, kind: "measured", meanOfScenes, bySet, sets: wholeSets, costs, rows: scenes };
  writeResult("leave-one-out", values, { what: "leave one out", ...figures });
}
