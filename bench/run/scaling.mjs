// SPDX-License-Identifier: Apache-2.0
// What size, search range and threads cost with the default settings: `depthwatt bench` for each point, in turns, the median of
// the rounds' medians. Prints a table in Markdown and writes a result file.
//   node bench/run/scaling.mjs --machine NAME [--rounds N] [--frames N] [--out FILE] [--load TEXT]      (needs a build)
import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadNow, writeResult } from "../shared/result-file.mjs";
import { table } from "../shared/result-tables.mjs";

const { values } = parseArgs({
  options: {
    machine: { type: "string", default: "unnamed" },
    rounds: { type: "string", default: "3" },
    frames: { type: "string" },
    out: { type: "string" },
    load: { type: "string" },
  },
});
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
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
  const words = ["bench", "--json", "--backend", "cpu", "--width", width, "--height", height];
  words.push("--num-disparities", numDisparities, "--set", `match.sgm.paths=${paths}`, "--threads", threads);
  if (values.frames !== undefined) words.push("--frames", values.frames);
  const program = [join(root, "dist/edge/cli/main.js"), ...words.map(String)];
  const { status, stdout, stderr } = spawnSync(process.execPath, program, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`depthwatt ${words.join(" ")} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

const middle = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const points = SIZES.flatMap((size) => threadCounts(cpus().length).map((threads) => ({ ...size, threads })));
const runs = points.map(() => []);
const load = loadNow();
for (let round = 0; round < Number(values.rounds); ++round) {
  for (const [index, point] of points.entries()) runs[index].push(bench(point));
}

const rows = points.map((point, index) => {
  const [{ instructionSet, measured, joulesPerFrame, joulesPerFrameNet, changedSettings }] = runs[index];
  // What a GPU's board takes says nothing of frames that the CPU computed.
  const joules = measured?.sensor === "nvml" ? null : { measured, joulesPerFrame, joulesPerFrameNet };
  return {
    kind: "measured",
    ...point,
    instructionSet,
    medianMs: middle(runs[index].map((run) => run.medianMs)),
    minMs: Math.min(...runs[index].map((run) => run.minMs)),
    peakResidentMb: middle(runs[index].map((run) => run.peakResidentMb)),
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
if (values.out !== undefined) {
  writeResult(values.out, {
    what: "depthwatt bench with the default settings: size, search range, threads",
    machine: values.machine,
    load: values.load ?? load,
    rounds: Number(values.rounds),
    rows,
  });
}
