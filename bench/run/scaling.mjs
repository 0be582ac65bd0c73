// SPDX-License-Identifier: Apache-2.0
// Measures size, search range and threads with the default settings: `depthwatt bench` for each point, in turns, the
// median of the rounds' medians. Prints a table in Markdown and writes a result file.
//   node bench/run/scaling.mjs [--rounds N] [--frames N]
import { cpus } from "node:os";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { runDepthwatt } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";
import { table } from "../shared/result-tables.mjs";

const { values } = scriptArguments({
  options: {
    rounds: { type: "string", default: "3" },
    frames: { type: "string" },
    ...RESULT_OPTIONS,
  },
});
const SIZES = [
  { width: 320, height: 240, numDisparities: 64, paths: 4 },
  { width: 640, height: 480, numDisparities: 64, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 8 },
  { width: 640, height: 480, numDisparities: 256, paths: 4 },
  { width: 1280, height: 720, numDisparities: 128, paths: 4 },
  { width: 1280, height: 720, numDisparities: 256, paths: 4 },
  { width: 1920, height: 1080, numDisparities: 128, paths: 4 },
];

/** 1, 2, 4 … threads, and as many as there are cores. */
function threadCounts(cores) {
  const counts = [];
  for (let threads = 1; threads < cores; threads *= 2) counts.push(threads);
  return [...counts, cores];
}

function bench({ width, height, numDisparities, paths, threads }) {
  const words = ["bench", "--backend", "cpu", "--width", width, "--height", height, "--threads", threads];
  words.push("--num-disparities", numDisparities);
  if (values.frames !== undefined) words.push("--frames", values.frames);
  return runDepthwatt(words, [`match.sgm.paths=${paths}`]);
}

const points = SIZES.flatMap((size) => threadCounts(cpus().length).map((threads) => ({ ...size, threads })));
const runs = points.map(() => []);
for (let round = 0; round < Number(values.rounds); ++round) {
  for (const [index, point] of points.entries()) runs[index].push(bench(point));
}

const rows = points.map((point, index) => {
  const [{ instructionSet, measured, joulesPerFrame, joulesPerFrameNet, changedSettings }] = runs[index];
  // The power of a GPU's board says nothing of frames that the CPU computed.
  const joules = measured?.sensor === "nvml" ? null : { measured, joulesPerFrame, joulesPerFrameNet };
  return {
    kind: "measured",
    ...point,
    instructionSet,
    medianMs: median(runs[index].map((run) => run.medianMs)),
    minMs: Math.min(...runs[index].map((run) => run.minMs)),
    peakResidentMb: median(runs[index].map((run) => run.peakResidentMb)),
    ...joules,
    changedSettings,
  };
});

const joulesCell = (value) => (typeof value === "number" ? value.toFixed(3) : "unavailable");
const heads = [
  "size",
  "disparities",
  "paths",
  "threads",
  "ms a frame",
  "memory of the process, MB",
  "joules a frame",
];
console.log(
  table(
    heads,
    rows.map((row) => [
      `${row.width}x${row.height}`,
      row.numDisparities,
      row.paths,
      row.threads,
      row.medianMs.toFixed(1),
      row.peakResidentMb.toFixed(0),
      joulesCell(row.joulesPerFrame),
    ]),
  ),
);
writeResult("scaling", values, {
  what: "depthwatt bench with the default settings: size, search range, threads",
  rounds: Number(values.rounds),
  rows,
});
