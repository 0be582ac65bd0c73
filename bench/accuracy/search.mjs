// SPDX-License-Identifier: Apache-2.0
// Measures the accuracy of both searches of sgm on the research sets (DEPTHWATT_DATA): node bench/accuracy/search.mjs
// Draws docs/guides/search-*.svg from its result: node bench/accuracy/search.mjs --draw RESULT
// Thin foreground: pixels whose truth is more than 2 px above its opening by 11 x 11 pixels. Confidence: of matched pixels.
import { readFileSync, writeFileSync } from "node:fs";
import { mean } from "../../dist/core/statistics.js";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher } from "../../dist/edge/eval/index.js";
import { xyPlot } from "../../dist/edge/plot/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { countLevels, reliabilityBins, sparsification } from "./confidence.mjs";
import { badPercent, PERTURBATIONS } from "./perturbed.mjs";
import { researchSets } from "./tuning.mjs";

const { values } = scriptArguments({ options: { draw: { type: "string" }, ...RESULT_OPTIONS } });
const SETTINGS = [
  ["sgm.search=full"],
  ["sgm.search=coarseToFine"],
  ["sgm.search=coarseToFine", "sgm.uniqueness=8"],
  ["halfResolution=true", "sgm.search=coarseToFine"],
];
const PAIRS = ["as it is", "right exposure -30 %", "0.5 row", "1 row", "2 rows", "sigma 3", "sigma 6"];
const RADIUS = 5;
const THIN_PX = 2;
/** A truth for fewer pixels is too sparse for an opening. */
const DENSE = 1 / 2;

/** The best of each pixel's window along a row or column; pixels without a truth take no part. */
function spread(image, width, step, best) {
  const height = image.length / width;
  return image.map((_, at) => {
    const place = step === 1 ? at % width : Math.floor(at / width);
    const side = step === 1 ? width : height;
    let found = Number.NaN;
    for (let k = Math.max(-RADIUS, -place); k <= Math.min(RADIUS, side - 1 - place); ++k) {
      const value = image[at + k * step];
      if (!Number.isFinite(value)) continue;
      found = Number.isNaN(found) ? value : best(found, value);
    }
    return found;
  });
}

/** The truth of thin foreground only. */
function thinTruth({ truth, width }) {
  const known = truth.filter((value) => Number.isFinite(value)).length;
  if (known < truth.length * DENSE) return truth.map(() => Number.NaN);
  let opened = truth;
  for (const best of [Math.min, Math.max])
    for (const step of [1, width]) opened = spread(opened, width, step, best);
  return truth.map((value, i) => (value - opened[i] > THIN_PX ? value : Number.NaN));
}

/** How probable the confidence calls matched pixels, how many of them are right, and their share. */
function confidenceOf({ truth, badThresholdPx }, { disparityQ4, confidence }) {
  let known = 0;
  let matched = 0;
  let said = 0;
  let right = 0;
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    ++known;
    if (confidence[i] === 0) continue;
    ++matched;
    said += confidence[i] / 255;
    if (Math.abs(disparityQ4[i] / 16 - truth[i]) <= badThresholdPx) ++right;
  }
  return { matched: matched / known, said: said / matched, right: right / matched };
}

/** Cells of a pair that the search works on, all levels together. */
function cellsOf({ width, height, numDisparities }, { halfResolution, search }) {
  const halved = {
    width: (width + 1) >> 1,
    height: (height + 1) >> 1,
    numDisparities: (numDisparities + 1) >> 1,
  };
  if (halfResolution === true) return cellsOf(halved, { search });
  if (search === "full" || numDisparities <= 64) return width * height * numDisparities;
  return width * height * 32 + cellsOf(halved, { search });
}

/** Names of the sets in the plot. */
const LABELS = {
  kitti2015: "KITTI",
  midd_2005_2006_third: "third size",
  midd_2006_aloe: "Aloe",
  midd_2014: "MotorcycleQ",
};

/** The curves of the page of accuracy. */
function draw(file) {
  const { rows } = JSON.parse(readFileSync(file, "utf8"));
  const sets = [...new Set(rows.map(({ data }) => data))].filter((data) =>
    rows.some((row) => row.data === data && row.settings === "sgm.search=coarseToFine" && row.cells < 1),
  );
  const cells = xyPlot({
    title: "Error against cells: half resolution, coarse to fine, full",
    x: "cells, share of the full search",
    y: "% bad",
    yScale: "log",
    series: sets.map((data) => ({
      name: LABELS[data] ?? data,
      points: rows
        .filter((row) => row.data === data && !row.settings.includes("uniqueness"))
        .sort((a, b) => a.cells - b.cells)
        .map((row) => [row.cells, row.badPercent["as it is"]]),
    })),
  });
  writeFileSync("docs/guides/search-cells.svg", cells);
  const reliability = xyPlot({
    title: "Matched pixels by confidence, sets with more than 64 disparities",
    x: "confidence",
    y: "% within its set's threshold",
    series: [
      ...["full", "coarseToFine"].map((search) => ({
        name: search,
        points: rows
          .find(({ settings, data }) => data === "all" && settings === `sgm.search=${search}`)
          .reliability.map(({ confidence, withinThreshold }) => [confidence, 100 * withinThreshold]),
      })),
      {
        name: "c / 255",
        points: [
          [0, 0],
          [255, 100],
        ],
        only: "line",
      },
    ],
  });
  writeFileSync("docs/guides/search-reliability.svg", reliability);
}

if (values.draw !== undefined) {
  draw(values.draw);
  process.exit(0);
}

const rounded = (value) => Number(value.toFixed(3));
const rows = [];
for (const settings of SETTINGS) {
  const set = ["board=none", "engine.backend=cpu", ...settings.map((setting) => `match.${setting}`)];
  const { config } = loadConfig({ environment: {}, set });
  const matcher = engineMatcher({ config, fixedNumDisparities: false, frames: 0, createEngine });
  const levels = [];
  for (const [data, scenes] of Object.entries(await researchSets())) {
    const { halfResolution, sgm } = config.match;
    const cells = (asked) => mean(scenes.map((scene) => cellsOf(scene, asked)));
    const share = cells({ halfResolution, search: sgm.search }) / cells({ search: "full" });
    const row = {
      kind: "measured",
      settings: settings.join(" "),
      data,
      cells: rounded(share),
      badPercent: {},
    };
    for (const pair of PAIRS) {
      const errors = [];
      const thin = [];
      const confidences = [];
      const areas = [];
      for (const scene of scenes) {
        const matched = await matcher(PERTURBATIONS[pair](scene));
        errors.push(badPercent(scene, matched.disparityQ4));
        if (pair !== "as it is") continue;
        confidences.push(confidenceOf(scene, matched));
        const counts = countLevels(scene, matched);
        areas.push(sparsification(counts).areaPercent);
        if (scene.numDisparities > 64) levels.push(counts);
        const thinBad = badPercent({ ...scene, truth: thinTruth(scene) }, matched.disparityQ4);
        if (!Number.isNaN(thinBad)) thin.push(thinBad);
      }
      row.badPercent[pair] = rounded(mean(errors));
      if (pair !== "as it is") continue;
      if (thin.length > 0) row.thinBadPercent = rounded(mean(thin));
      for (const key of ["matched", "said", "right"])
        row[key] = rounded(mean(confidences.map((each) => each[key])));
      row.sparsificationAreaPercent = rounded(mean(areas));
    }
    rows.push(row);
    console.log(JSON.stringify(row));
  }
  const reliability = reliabilityBins(levels).map((bin) =>
    Object.fromEntries(Object.entries(bin).map(([key, value]) => [key, rounded(value)])),
  );
  rows.push({ kind: "measured", settings: settings.join(" "), data: "all", reliability });
}
writeResult("search-errors", values, {
  what: "percent of pixels off by more than the scene's threshold, all refinement on, mean of each set; shares of confidence",
  rows,
});
