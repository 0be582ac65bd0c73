// SPDX-License-Identifier: Apache-2.0
// Measures error against time of every matcher and every preset on Middlebury v2, on this machine: `node
// bench/accuracy/pareto.mjs [--plot docs/guides/pareto.svg]` (needs DEPTHWATT_DATA). Cases take turns; for each scene
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

const { values } = scriptArguments({ options: { plot: { type: "string" }, ...RESULT_OPTIONS } });
const ROUNDS = 5;
const entries = await readDataset(join(process.env.DEPTHWATT_DATA ?? ".", "midd_v2"));
const scenes = { grey: [], rgb: [] };
for (const entry of entries) {
  scenes.grey.push(await readScene(entry, false));
  scenes.rgb.push(await readScene(entry, true));
}

const cases = [
  ...ALGORITHMS.map((algorithm) => ({
    name: `${algorithm}, defaults`,
    set: [`match.algorithm=${algorithm}`],
  })),
  ...PRESET_NAMES.map((preset) => ({ name: preset, preset, set: [] })),
].map(({ name, preset, set }) => {
  const { config, origins } = loadConfig({
    preset,
    set: [...set, "engine.backend=cpu", "board=none"],
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
    title: `Middlebury v2 on ${cpus()[0].model.trim()}, ${cpus().length} cores: error against time`,
    x: "milliseconds a frame, mean of four scenes (fastest of 5 frames each)",
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
        name: "Pareto front",
        only: "line",
        points: front.map(({ milliseconds, badPercent }) => [milliseconds, badPercent]),
      },
    ],
  });
  writeFileSync(values.plot, plot);
}
const what = `error and time of every matcher and preset on Middlebury v2, fastest of ${ROUNDS} frames`;
writeResult("pareto", values, { what, rows });
