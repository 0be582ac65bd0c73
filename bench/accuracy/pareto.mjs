// SPDX-License-Identifier: Apache-2.0
// Measures error against time of every matcher and every preset on Middlebury v2, on this machine: `node
// bench/accuracy/pareto.mjs [--backend cuda] [--plot docs/guides/pareto.svg]` (needs DEPTHWATT_DATA). Published points are printed
// errors, and times computed from printed rates. Cases take turns; for each scene
// the fastest of the frames counts, because other programs can only make one slower.
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { mean } from "../../dist/core/statistics.js";
import { ALGORITHMS, createEngine, readsColours } from "../../dist/cuda/index.js";
import { loadConfig } from "../../dist/edge/config/index.js";
import { engineMatcher, evaluate, readDataset, readScene } from "../../dist/edge/eval/index.js";
import { xyPlot } from "../../dist/edge/plot/index.js";
import { PRESET_NAMES } from "../../dist/edge/presets/index.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    plot: { type: "string" },
    backend: { type: "string" },
    device: { type: "string" },
    ...RESULT_OPTIONS,
  },
});
const backend = values.backend ?? "cpu";
/** The machine in the title of the plot. */
const device = values.device ?? `${cpus()[0].model.trim()}, ${cpus().length} cores`;
const ROUNDS = 9;
/** Disparities of the benchmark, as the papers search them. */
const LABELS = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
/** Printed errors, and rates in millions of disparities a second, of Yu et al. 2009 (table 3) and 2010 (table IV). */
const PUBLISHED = [
  { name: "ESAW 5 (2009)", badPercent: 10.5, rate: 219.2 },
  { name: "ESAW 9 (2009)", badPercent: 9.8, rate: 140.5 },
  { name: "ESAW 5 (2010)", badPercent: 9.6, rate: 307.2 },
  { name: "ESAW 9 (2010)", badPercent: 8.2, rate: 194.8 },
  { name: "ESMP 8 (2010)", badPercent: 7.42, rate: 144.4 },
];
const entries = await readDataset(join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2"));
const scenes = { grey: [], rgb: [] };
for (const entry of entries) {
  const numDisparities = LABELS[entry.name];
  scenes.grey.push({ ...(await readScene(entry, false)), numDisparities });
  scenes.rgb.push({ ...(await readScene(entry, true)), numDisparities });
}
const meanDisparities = mean(
  scenes.grey.map(({ width, height, numDisparities }) => width * height * numDisparities),
);
const published = PUBLISHED.map(({ name, badPercent, rate }) => ({
  kind: "published",
  name,
  badPercent,
  milliseconds: Number((meanDisparities / rate / 1000).toFixed(2)),
}));

const cases = [
  ...ALGORITHMS.map((algorithm) => ({
    name: `${algorithm}, defaults`,
    set: [`match.algorithm=${algorithm}`],
  })),
  ...PRESET_NAMES.map((preset) => ({ name: preset, preset, set: [] })),
].map(({ name, preset, set }) => {
  const { config, origins } = loadConfig({
    preset,
    set: [...set, `engine.backend=${backend}`, "board=none"],
    environment: {},
  });
  const { algorithm } = config.match;
  // A preset may search its own number; all are held against the same scenes.
  const fixedNumDisparities = origins.get("match.numDisparities")?.kind !== "default";
  const match = engineMatcher({ config, fixedNumDisparities, frames: 1, createEngine });
  return { name, algorithm, match, scenes: readsColours(algorithm) ? scenes.rgb : scenes.grey, fastest: [] };
});

for (let round = 0; round < ROUNDS; ++round) {
  for (const one of cases) {
    const { scenes: results, mean: means } = await evaluate(one.scenes, one.match);
    one.badPercent = means.middleburyV2BadPercent;
    for (const [at, { milliseconds }] of results.entries())
      one.fastest[at] = Math.min(one.fastest[at] ?? Infinity, milliseconds);
  }
}

const rows = cases.map(({ name, algorithm, badPercent, fastest }) => ({
  kind: "measured",
  name,
  algorithm,
  badPercent: Number(badPercent.toFixed(3)),
  milliseconds: Number(mean(fastest).toFixed(2)),
}));
for (const row of rows)
  row.onFront = !rows.some(
    (other) =>
      other !== row &&
      other.badPercent <= row.badPercent &&
      other.milliseconds <= row.milliseconds &&
      (other.badPercent < row.badPercent || other.milliseconds < row.milliseconds),
  );
rows.sort((a, b) => a.milliseconds - b.milliseconds);
console.table(rows.map(({ kind: _, ...row }) => row));
if (values.plot !== undefined) {
  const front = rows.filter(({ onFront }) => onFront);
  const plot = xyPlot({
    title: `Middlebury v2 on ${device}: error against time`,
    x: `milliseconds a frame, mean of four scenes (fastest of ${ROUNDS} frames each)`,
    y: "% bad",
    xScale: "log",
    yScale: "log",
    series: [
      ...ALGORITHMS.map((algorithm) => {
        const own = rows.filter((row) => row.algorithm === algorithm);
        return {
          name: algorithm,
          only: "marks",
          points: own.map(({ milliseconds, badPercent }) => [milliseconds, badPercent]),
          labels: own.map(({ name }) => name.replace(",", "")),
        };
      }),
      {
        name: "published",
        only: "marks",
        hollow: true,
        points: published.map(({ milliseconds, badPercent }) => [milliseconds, badPercent]),
        labels: published.map(({ name }) => name),
      },
      {
        name: "Pareto front of ours",
        only: "line",
        points: front.map(({ milliseconds, badPercent }) => [milliseconds, badPercent]),
      },
    ],
  });
  writeFileSync(values.plot, plot);
}
const what = `error and time of every matcher and preset on Middlebury v2, fastest of ${ROUNDS} frames, ${backend}`;
writeResult(backend === "cpu" ? "pareto" : `pareto-${backend}`, values, {
  what,
  labels: LABELS,
  rows: [...rows, ...published],
});
