// SPDX-License-Identifier: Apache-2.0
// Measures esaw and esmp on Middlebury v2 with all refinement: the paper's settings, default refinement, and the
// presets esaw-5-improved, esaw-9-improved and esmp-8-improved. Percent off by more than 1 px: `node
// bench/papers/exponential-improved.mjs [--only REGEX]` (needs DEPTHWATT_DATA; REGEX of "esmp-8, paper's settings").
import { join } from "node:path";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import {
  engineMatcher,
  middleburyV2Mean,
  readDataset,
  readScene,
  scoreScene,
} from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: { only: { type: "string" }, ...RESULT_OPTIONS } });
const wanted = new RegExp(values.only ?? "");
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const MASKS = ["nonocc", "all", "disc"];
const UNREFINED = ["leftRight=false", "speckleSize=0", "fill=off", "boundary=false"].map(
  (text) => `refine.${text}`,
);
const NO_SPECKLE_FILTER = "refine.speckleSize=0";
const MATCHERS = {
  "esaw-5": { matcher: "esaw", base: ["match.esaw.steps=5", "match.esaw.basePercent=260"], improved: [] },
  "esaw-9": { matcher: "esaw", base: [], improved: [] },
  "esmp-8": {
    matcher: "esmp",
    base: [],
    improved: ["lambdaThousandths=99", "slopeThousandths=660", "capTenThousandths=248"].map(
      (text) => `match.esmp.${text}`,
    ),
  },
  "esmp-8-printed": { matcher: "esmp", base: ["match.esmp.basePercent=280"] },
};

/** Settings of each row, by what it is. */
function tableRows({ matcher, base, improved }) {
  const begin = [`match.algorithm=${matcher}`, ...base, "match.denoise=off", "rectify.verticalOffset=0"];
  const gradients = [`match.${matcher}.gradientTruncation=4`, `match.${matcher}.gradientPercent=400`];
  const paper = { "paper's settings": [...begin, ...UNREFINED] };
  if (improved === undefined) return paper;
  const best = [...begin, ...gradients, ...improved, NO_SPECKLE_FILTER];
  return {
    ...paper,
    "default refinement, right view diagonal": [...begin, `match.${matcher}.rightView=diagonal`],
    "default refinement": begin,
    "default refinement without the speckle filter": [...begin, NO_SPECKLE_FILTER],
    "improved: gradients, no speckle filter": best,
    "improved, sub-pixel": [...best, `match.${matcher}.subpixel=true`],
  };
}

const folder = join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2");
const read = await Promise.all((await readDataset(folder)).map((entry) => readScene(entry, true)));
const scenes = Object.entries(LABELS).map(([name, numDisparities]) => ({
  ...read.find((scene) => scene.name === name),
  numDisparities,
}));
const rows = [];
for (const [preset, description] of Object.entries(MATCHERS)) {
  for (const [what, settings] of Object.entries(tableRows(description))) {
    if (!wanted.test(`${preset}, ${what}`)) continue;
    const set = ["board=none", "engine.backend=cpu", ...settings];
    const { config } = loadConfig({ environment: {}, set });
    const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 0, createEngine });
    const scores = [];
    for (const scene of scenes)
      scores.push(scoreScene(scene, (await matcher(scene)).disparityQ4, scene.badThresholdPx));
    const mean = Number(middleburyV2Mean(scores).toFixed(3));
    const badPercent = scores.map((one) => MASKS.map((mask) => Number(one[mask].badPercent.toFixed(2))));
    rows.push({ kind: "measured", preset, what, settings, badPercent, mean });
    console.log(
      `${preset}, ${what}: ${badPercent.map((three) => three.join(" ")).join(" | ")}, mean ${mean}`,
    );
  }
}
const what =
  "ESAW and ESMP with refinement and gradients, Middlebury v2: percent off by more than 1 px (nonocc, all, disc)";
writeResult("exponential-improved", values, { what, labels: LABELS, rows });
