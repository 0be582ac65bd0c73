// SPDX-License-Identifier: Apache-2.0
// Measures sad and pyramid on Middlebury v2 with all refinement: the presets sad-7-improved and pyramid-improved, and
// each of them with one setting changed. Percent of non-occluded pixels off by more than 1 px: `node
// bench/papers/window-improved.mjs` (needs DEPTHWATT_DATA).
import { join } from "node:path";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, evaluate, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const SCENES = ["cones", "teddy", "tsukuba", "venus"];
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const weights = (matcher, hue, saturation, value) => [
  `match.${matcher}.hueWeight=${hue}`,
  `match.${matcher}.saturationWeight=${saturation}`,
  `match.${matcher}.valueWeight=${value}`,
];
const side = (matcher, pixels) => [
  `match.${matcher}.windowWidth=${pixels}`,
  `match.${matcher}.windowHeight=${pixels}`,
];
const SHARED = {
  "without the speckle filter": ["refine.speckleSize=0"],
  "without the boundary's vote": ["refine.boundary=false"],
  "repaired by the product of the three measures": ["refine.repair=true", "refine.confidence=product"],
};
const CHANGES = {
  "sad-7-improved": {
    "as it is": [],
    "weights of the tables": weights("sad", 20, 30, 50),
    "value alone": weights("sad", 0, 0, 100),
    "sub-pixel": ["match.sad.subpixel=true"],
    "windows of 5": side("sad", 5),
    "windows of 9": side("sad", 9),
    "windows of 11": side("sad", 11),
    "four rounds of boundary and median": ["refine.rounds=4"],
    ...SHARED,
  },
  "pyramid-improved": {
    "as it is": [],
    "weights of the table": weights("pyramid", 20, 30, 50),
    "sub-pixel": ["match.pyramid.subpixel=true"],
    "hue, saturation and value of 10, 20 and 70": weights("pyramid", 10, 20, 70),
    "windows of 5 x 5": side("pyramid", 5),
    "windows of 7 x 7": side("pyramid", 7),
    "two smaller copies": ["match.pyramid.levels=2"],
    "three smaller copies": ["match.pyramid.levels=3"],
    "a peak ratio of 0": ["match.pyramid.peakRatio=0"],
    "a peak ratio of 5": ["match.pyramid.peakRatio=5"],
    "one round of boundary and median": ["refine.rounds=1"],
    "two rounds": ["refine.rounds=2"],
    "speckles of 60 pixels": ["refine.speckleSize=60"],
    ...SHARED,
  },
};

const folder = join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2");
const scenes = await Promise.all((await readDataset(folder)).map((entry) => readScene(entry, true)));
for (const scene of scenes) scene.numDisparities = LABELS[scene.name];
const rows = [];
for (const [preset, changes] of Object.entries(CHANGES)) {
  for (const [what, set] of Object.entries(changes)) {
    const all = ["board=none", "engine.backend=cpu", ...set];
    const { config } = loadConfig({ environment: {}, preset, set: all });
    const match = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
    const { scenes: results } = await evaluate(scenes, match);
    const badPercent = SCENES.map((name) =>
      Number(results.find((result) => result.name === name).masks.nonocc.badPercent.toFixed(3)),
    );
    rows.push({ kind: "measured", preset, what, set, badPercent });
    console.log(`${preset}, ${what}: ${badPercent.join(" ")}`);
  }
}
writeResult("window-improved", values, {
  what: "sad and pyramid with refinement, Middlebury v2, percent of non-occluded pixels off by more than 1 px",
  scenes: SCENES,
  labels: LABELS,
  rows,
});
