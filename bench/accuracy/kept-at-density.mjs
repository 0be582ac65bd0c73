// SPDX-License-Identifier: Apache-2.0
// Measures the error of the kept pixels at a density of 80 %: nothing is filled, and the pixels of least confidence are left
// out until the mean density of all scenes is just 80 %. One threshold for all scenes, as a program has one setting.
//   node bench/accuracy/kept-at-density.mjs [--build FOLDER] [--preset NAME] [--set key=value]... [--confident] [--out FILE]
// --confident: everything is filled first, so that boundary and median see whole maps, and then what has no confidence is left out.
// Prints a row as JSON; --out adds it to the rows of a result file, which is begun where it is not there. FOLDER is another checkout that was built (its matcher must give the confidence). Needs DEPTHWATT_DATA.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { mean } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { describeRun, formatResult, root } from "../shared/result-file.mjs";

const INVALID = -32_768;
const DENSITY = 80;

const { values } = scriptArguments({
  options: {
    build: { type: "string", default: root },
    preset: { type: "string" },
    confident: { type: "boolean", default: false },
    out: { type: "string" },
    set: { type: "string", multiple: true, default: [] },
  },
});
const from = (path) => import(join(resolve(values.build), "dist", path));
const { createEngine } = await from("cuda/index.js");
const { loadConfig } = await from("edge/config/index.js");
const { engineMatcher, readDataset, readScene } = await from("edge/eval/index.js");

const data = process.env.DEPTHWATT_DATA;
const folders = readdirSync(data)
  .map((name) => join(data, name))
  .filter((folder) => existsSync(join(folder, "dataset.json")));
const set = [...(values.confident ? [] : ["refine.fill=off"]), ...values.set];
const { config } = loadConfig({ set, ...(values.preset !== undefined && { preset: values.preset }) });
const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });

/** By scene, for each confidence: pixels with a truth and at least this confidence, and how many of them are wrong. */
const scenes = [];
for (const folder of folders) {
  for (const entry of await readDataset(folder)) {
    const scene = await readScene(entry);
    const { disparityQ4, confidence } = await matcher(scene);
    const kept = new Array(257).fill(0);
    const bad = new Array(257).fill(0);
    let truths = 0;
    for (let i = 0; i < scene.truth.length; ++i) {
      if (!Number.isFinite(scene.truth[i])) continue;
      ++truths;
      if (disparityQ4[i] === INVALID || (values.confident && confidence[i] === 0)) continue;
      ++kept[confidence[i]];
      if (Math.abs(disparityQ4[i] / 16 - scene.truth[i]) > scene.badThresholdPx) ++bad[confidence[i]];
    }
    for (let level = 254; level >= 0; --level) {
      kept[level] += kept[level + 1];
      bad[level] += bad[level + 1];
    }
    scenes.push({
      name: scene.name ?? entry.name,
      density: kept.map((count) => (100 * count) / truths),
      badPercent: kept.map((count, level) => (count === 0 ? 0 : (100 * bad[level]) / count)),
    });
  }
}
const meanAt = (name, level) => mean(scenes.map((scene) => scene[name][level]));
let level = 0;
while (level < 255 && meanAt("density", level + 1) >= DENSITY) ++level;
const at = (one) => ({ density: meanAt("density", one), badPercentOfKept: meanAt("badPercent", one) });
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], {
  cwd: resolve(values.build),
  encoding: "utf8",
}).trim();
const [more, fewer] = [at(level), at(level + 1)];
const share = more.density <= DENSITY ? 0 : (more.density - DENSITY) / (more.density - fewer.density);
const row = {
  commit,
  kind: "measured",
  scenes: scenes.length,
  settings: [...(values.preset === undefined ? [] : [`--preset ${values.preset}`]), ...set],
  leftOut: values.confident ? "what has a confidence of 0, after filling" : "what is not filled",
  everythingKept: at(0),
  atDensity: { asked: DENSITY, confidenceAtLeast: level, ...more },
  betweenTwoThresholds: {
    density: Math.min(DENSITY, more.density),
    badPercentOfKept: (1 - share) * more.badPercentOfKept + share * fewer.badPercentOfKept,
  },
  byScene: Object.fromEntries(
    scenes.map((one) => [one.name, { density: one.density[level], badPercentOfKept: one.badPercent[level] }]),
  ),
};
console.log(JSON.stringify(row));
if (values.out !== undefined) {
  const begun = existsSync(values.out)
    ? JSON.parse(readFileSync(values.out, "utf8"))
    : { ...describeRun(), commit, rows: [] };
  begun.rows.push(row);
  writeFileSync(values.out, formatResult(begun));
}
