// SPDX-License-Identifier: Apache-2.0
// Measures the confidence: how many of the pixels that have it are right by the threshold of their set, and how well it
// sorts right from wrong. Part of `npm run bench:accuracy`; alone, with DEPTHWATT_DATA set:
//   node bench/accuracy/confidence.mjs [--svg FILE] [--set key=value]...    the table, and the reliability plot
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { xyPlot } from "../../dist/edge/plot/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";

const INVALID = -32_768;
const LEVELS = 256;
/** Confidences to a point of the plot. */
const BIN = 16;
/** The share of the pixels below which a point says nothing. */
const FEWEST = 0.001;

function createMatcher(set) {
  const { config } = loadConfig({ set });
  return engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
}

/** Pixels with a truth by confidence: how many, how many off by more than the scene's threshold, how many not. */
export function countLevels({ truth, badThresholdPx }, { disparityQ4, confidence }) {
  const counts = {
    pixels: new Array(LEVELS).fill(0),
    bad: new Array(LEVELS).fill(0),
    within: new Array(LEVELS).fill(0),
  };
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    const error = disparityQ4[i] === INVALID ? Infinity : Math.abs(disparityQ4[i] / 16 - truth[i]);
    const level = confidence[i];
    ++counts.pixels[level];
    if (error > badThresholdPx) ++counts.bad[level];
    if (error <= badThresholdPx) ++counts.within[level];
  }
  return counts;
}

/**
 * Area under the sparsification curve, percent: the share of bad pixels among the surest k, averaged over k from 1 to all. Pixels of one confidence
 * come in the mean of all orders. random: the share among all; best: every bad pixel last.
 */
export function sparsification({ pixels, bad }) {
  let [kept, wrong, area] = [0, 0, 0];
  for (let level = LEVELS - 1; level >= 0; --level) {
    if (pixels[level] === 0) continue;
    const rate = bad[level] / pixels[level];
    const end = kept + pixels[level];
    // The integral over k of (wrong + (k - kept) rate) / k.
    area += rate * pixels[level] + (kept === 0 ? 0 : (wrong - kept * rate) * Math.log(end / kept));
    [kept, wrong] = [end, wrong + bad[level]];
  }
  const good = kept - wrong;
  const best = good === 0 ? 1 : (wrong - good * Math.log(kept / good)) / kept;
  return { areaPercent: (100 * area) / kept, randomPercent: (100 * wrong) / kept, bestPercent: 100 * best };
}

/** Share within the threshold by confidence, sixteen confidences together, every scene with the same weight. */
export function reliabilityBins(scenes) {
  const points = [];
  for (let first = 1; first < LEVELS; first += BIN) {
    let [weight, within, at] = [0, 0, 0];
    for (const { pixels, within: good } of scenes) {
      const all = pixels.reduce((sum, count) => sum + count, 0);
      for (let level = first; level < Math.min(LEVELS, first + BIN); ++level) {
        weight += pixels[level] / all;
        within += good[level] / all;
        at += (level * pixels[level]) / all;
      }
    }
    // A bin that hardly a pixel is in says nothing.
    if (weight / scenes.length < FEWEST) continue;
    points.push({
      confidence: at / weight,
      withinThreshold: within / weight,
      share: weight / scenes.length,
    });
  }
  return points;
}

/** By scene the sparsification of filled maps; by data set, and over all, the reliability. */
export async function confidenceFigures(folders, set) {
  const matcher = createMatcher(set);
  const sparsified = {};
  const bySet = {};
  for (const folder of folders) {
    const name = folder.split("/").at(-1);
    bySet[name] = [];
    for (const entry of await readDataset(folder)) {
      const scene = await readScene(entry);
      const counts = countLevels(scene, await matcher(scene));
      sparsified[scene.name] = sparsification(counts);
      bySet[name].push(counts);
    }
  }
  const reliability = Object.fromEntries(
    Object.entries(bySet).map(([name, scenes]) => [name, reliabilityBins(scenes)]),
  );
  reliability.all = reliabilityBins(Object.values(bySet).flat());
  return { sparsified, reliability };
}

export function reliabilityPlot(reliability) {
  const series = Object.entries(reliability).map(([name, points]) => ({
    name,
    points: points.map(({ confidence, withinThreshold }) => [confidence, 100 * withinThreshold]),
  }));
  const exact = {
    name: "c / 255",
    points: [
      [0, 0],
      [255, 100],
    ],
    only: "line",
  };
  return xyPlot({
    title: "Matched pixels by confidence",
    x: "confidence",
    y: "% within its set's threshold",
    series: [...series, exact],
  });
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const { values } = scriptArguments({
    options: { svg: { type: "string" }, set: { type: "string", multiple: true, default: [] } },
  });
  const data = process.env.DEPTHWATT_DATA ?? "";
  const folders = readdirSync(data)
    .map((name) => join(data, name))
    .filter((folder) => existsSync(join(folder, "dataset.json")));
  const { sparsified, reliability } = await confidenceFigures(folders, values.set);
  for (const [scene, { areaPercent, randomPercent, bestPercent }] of Object.entries(sparsified)) {
    console.log(
      `${scene.padEnd(14)} area ${areaPercent.toFixed(2)} %, random ${randomPercent.toFixed(2)}, best ${bestPercent.toFixed(2)}`,
    );
  }
  for (const { confidence, withinThreshold, share } of reliability.all) {
    console.log(
      `confidence ${confidence.toFixed(0).padStart(4)}: ${(100 * withinThreshold).toFixed(1)} % within the threshold, ${(100 * share).toFixed(2)} % of pixels`,
    );
  }
  if (values.svg !== undefined) writeFileSync(values.svg, reliabilityPlot(reliability));
}
