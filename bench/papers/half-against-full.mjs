// SPDX-License-Identifier: Apache-2.0
// chang-half against chang-full on the scenes of full size, and where each is wrong: `node bench/papers/half-against-full.mjs`
// (needs DEPTHWATT_DATA). Percent of the pixels with a ground truth that are off by more than the scene's threshold.
import { join } from "node:path";
import { createEngine } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({ options: RESULT_OPTIONS });
const INVALID = -32_768;
const FOLDERS = ["midd_2006_aloe", "kitti2015"];
/** A pixel is near a step where the ground truth within so many pixels spans more than STEP_PX. */
const REACH = 4;
const STEP_PX = 4;

const cbca = (armX, armY, similarity) => [
  `match.cbca.armX=${armX}`,
  `match.cbca.armY=${armY}`,
  `match.cbca.similarity=${similarity}`,
];
/** Arms and delta of the paper, then one thing changed at a time. */
const CASES = [
  { preset: "chang-half", set: [] },
  { preset: "chang-full", set: [] },
  { preset: "chang-half", set: cbca(10, 15, 13) },
  { preset: "chang-full", set: cbca(21, 31, 13) },
  { preset: "chang-half", set: cbca(21, 31, 6) },
  { preset: "chang-full", set: cbca(41, 61, 6) },
  { preset: "chang-half", set: cbca(3, 3, 30) },
  { preset: "chang-full", set: cbca(9, 9, 20) },
];

function nearSteps({ truth, width, height }) {
  const near = new Uint8Array(truth.length);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      let [min, max] = [Infinity, -Infinity];
      for (let j = Math.max(0, y - REACH); j <= Math.min(height - 1, y + REACH); ++j) {
        for (let i = Math.max(0, x - REACH); i <= Math.min(width - 1, x + REACH); ++i) {
          const value = truth[j * width + i];
          if (!Number.isFinite(value)) continue;
          if (value < min) min = value;
          if (value > max) max = value;
        }
      }
      near[y * width + x] = max - min > STEP_PX ? 1 : 0;
    }
  }
  return near;
}

const percent = (part, whole) => (whole === 0 ? null : Number(((100 * part) / whole).toFixed(3)));

/** wrong(i): whether pixel i is off; kind(i): any of a few words. */
function shares(truth, kinds, wrong, kind) {
  const count = Object.fromEntries(kinds.map((name) => [name, { all: 0, bad: 0 }]));
  for (let i = 0; i < truth.length; ++i) {
    if (!Number.isFinite(truth[i])) continue;
    const of = count[kind(i)];
    ++of.all;
    if (wrong(i)) ++of.bad;
  }
  const total = Object.values(count).reduce((sum, { all }) => sum + all, 0);
  return Object.fromEntries(
    kinds.map((name) => [
      name,
      {
        areaPercent: percent(count[name].all, total),
        badPercent: percent(count[name].bad, count[name].all),
      },
    ]),
  );
}

function scored(scene, near, { disparityQ4, confidence }) {
  const { truth, badThresholdPx } = scene;
  const off = (i) => disparityQ4[i] === INVALID || Math.abs(disparityQ4[i] / 16 - truth[i]) > badThresholdPx;
  const whole = shares(truth, ["all"], off, () => "all").all.badPercent;
  return {
    badPercent: whole,
    byPlace: shares(truth, ["nearSteps", "elsewhere"], off, (i) => (near[i] ? "nearSteps" : "elsewhere")),
    // Confidence is above 0 at ground control points alone.
    bySource: shares(truth, ["controlPoints", "estimated"], off, (i) =>
      confidence[i] > 0 ? "controlPoints" : "estimated",
    ),
  };
}

const rows = [];
for (const folder of FOLDERS) {
  for (const entry of await readDataset(join(process.env.DEPTHWATT_DATA ?? ".", folder))) {
    const scene = await readScene(entry);
    const near = nearSteps(scene);
    for (const { preset, set } of CASES) {
      const { config } = loadConfig({ preset, set: [...set, "engine.backend=cpu"] });
      const matched = await engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine })(
        scene,
      );
      const row = {
        kind: "measured",
        scene: entry.name,
        size: `${scene.width}x${scene.height}`,
        numDisparities: matched.numDisparities,
        thresholdPx: scene.badThresholdPx,
        preset,
        set,
        ...scored(scene, near, matched),
      };
      rows.push(row);
      const { nearSteps: steps, elsewhere } = row.byPlace;
      const { controlPoints, estimated } = row.bySource;
      console.log(
        [
          entry.name.padEnd(10),
          `${preset} ${set.map((word) => word.split("=")[1]).join(" ")}`.padEnd(22),
          row.badPercent,
          `near steps ${steps.badPercent} (${steps.areaPercent})`,
          `elsewhere ${elsewhere.badPercent}`,
          `control points ${controlPoints.badPercent} (${controlPoints.areaPercent})`,
          `estimated ${estimated.badPercent}`,
        ].join("  "),
      );
    }
  }
}
writeResult("half-against-full", values, { what: "chang-half and chang-full on scenes of full size", rows });
