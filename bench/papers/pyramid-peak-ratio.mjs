// SPDX-License-Identifier: Apache-2.0
// Fits peakRatio, which Prehn 2007 does not print, to table 7.3: presets pyramid-3, pyramid-5 and pyramid-7 with every
// peak ratio, and the ratio that is fitted to all scenes and to three of four: `node bench/papers/pyramid-peak-ratio.mjs`
// (needs DEPTHWATT_DATA). Percent of non-occluded pixels off by more than 1 px.
import { join } from "node:path";
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, evaluate, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const SCENES = ["cones", "teddy", "tsukuba", "venus"];
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const TABLE = { 3: [27.6, 36.0, 14.3, 32.7], 5: [21.3, 29.2, 10.7, 24.3], 7: [19.3, 26.5, 9.67, 20.3] };
const RATIOS = [0, 2, 4, 5, 6, 8, 10, 12, 14, 15, 16, 17, 18, 19, 20, 22, 25, 30];

const folder = join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2");
const scenes = await Promise.all((await readDataset(folder)).map((entry) => readScene(entry, true)));
for (const scene of scenes) scene.numDisparities = LABELS[scene.name];

const rows = [];
for (const peakRatio of RATIOS) {
  for (const side of Object.keys(TABLE)) {
    const set = ["board=none", "engine.backend=cpu", `match.pyramid.peakRatio=${peakRatio}`];
    const { config } = loadConfig({ environment: {}, preset: `pyramid-${side}`, set });
    const match = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
    const { scenes: results } = await evaluate(scenes, match);
    const badPercent = SCENES.map((name) =>
      Number(results.find((result) => result.name === name).masks.nonocc.badPercent.toFixed(3)),
    );
    rows.push({ kind: "measured", peakRatio, window: Number(side), badPercent });
  }
}

/** Mean distance from the table over all windows and some scenes. */
const distance = (peakRatio, chosen) =>
  mean(
    rows
      .filter((row) => row.peakRatio === peakRatio)
      .flatMap(({ window, badPercent }) => chosen.map((at) => Math.abs(badPercent[at] - TABLE[window][at]))),
  );
const nearest = (chosen) =>
  RATIOS.reduce((best, ratio) => (distance(ratio, chosen) < distance(best, chosen) ? ratio : best));
const all = SCENES.map((_, at) => at);
const fits = [
  { fittedTo: "all scenes", peakRatio: nearest(all), meanDistance: distance(nearest(all), all) },
  ...SCENES.map((name, left) => {
    const peakRatio = nearest(all.filter((at) => at !== left));
    return { fittedTo: `all but ${name}`, peakRatio, heldOutDistance: distance(peakRatio, [left]) };
  }),
];
console.table(fits);
writeResult("pyramid-peak-ratio", values, {
  what: "pyramid with the post-processing of Prehn 2007 by peak ratio, Middlebury v2, nonocc; distances from table 7.3 in points",
  scenes: SCENES,
  labels: LABELS,
  fits,
  rows,
});
