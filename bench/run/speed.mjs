// SPDX-License-Identifier: Apache-2.0
// `npm run bench`: the matcher side by side with OpenCV, its growth over five sizes, and the share of this machine's limit.
//   npm run bench -- [--rounds N] [--frames N] [--set key=value]... [--plot FILE.svg]
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM, runDepthwatt, spawnJson } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, root, writeResult } from "../shared/result-file.mjs";
import { printRows } from "../shared/tables.mjs";
import { shareOfLimit } from "./derived-rows.mjs";
import { growthPlot } from "./growth-plot.mjs";
import { LIKE_FOR_LIKE, secondCore } from "./second-core.mjs";

const { values } = scriptArguments({
  options: {
    rounds: { type: "string", default: "3" },
    frames: { type: "string", default: "40" },
    plot: { type: "string" },
    ...RESULT_OPTIONS,
    set: { type: "string", multiple: true, default: [] },
  },
});
const rounds = Number(values.rounds);
const PYTHON = "/usr/bin/python3";
const SIZES = [
  [320, 240, 64],
  [480, 360, 96],
  [640, 480, 128],
  [960, 540, 128],
  [1280, 720, 128],
];
const PEERS = [
  { mode: "HH4", paths: 4 },
  { mode: "3WAY", paths: 4 },
  { mode: "HH", paths: 8 },
];
function bench({
  width,
  height,
  numDisparities,
  paths,
  threads,
  isa,
  set = LIKE_FOR_LIKE,
  algorithm = "sgm",
}) {
  const words = [
    "bench",
    "--backend",
    "cpu",
    "--frames",
    values.frames,
    "--width",
    width,
    "--height",
    height,
  ];
  words.push("--num-disparities", numDisparities, "--threads", threads, "--algorithm", algorithm);
  const settings = [`match.sgm.paths=${paths}`, ...set, ...values.set];
  const { parameters, ...figures } = runDepthwatt(words, settings, isa && { DEPTHWATT_ISA: isa });
  return { ...figures, paths };
}

/** Merges several runs: the median of medians, the smallest minimum, the largest memory. */
function merged(runs) {
  const { p95Ms, stages, ...last } = runs.at(-1);
  const medianMs = median(runs.map((run) => run.medianMs));
  return {
    ...last,
    medianMs,
    minMs: Math.min(...runs.map((run) => run.minMs)),
    ...(last.fps && {
      fps: 1000 / medianMs,
      megaDisparitiesPerSecond: (last.width * last.height * last.numDisparities) / 1e3 / medianMs,
      peakResidentMb: Math.max(...runs.map((run) => run.peakResidentMb)),
    }),
    rounds: runs.length,
  };
}

/** Vector operations and copied bytes per second, one thread: what limits.cc measures on this machine. */
function measuredLimits(folder) {
  const program = join(folder, "limits");
  const source = join(root, "bench/run/limits.cc");
  execFileSync("g++", ["-O2", "-march=native", "-std=c++17", "-o", program, source]);
  return spawnJson(program, []);
}

function scenePictures(folder) {
  const words = ["scene", "--frames", "1", "--first", "40", "--out", folder];
  execFileSync(process.execPath, [PROGRAM, ...words, "--truth", "none", "--json"]);
  const listed = (side) =>
    execFileSync("find", [folder, "-path", `*${side}*`, "-name", "*.png"], { encoding: "utf8" });
  return ["left", "right"].map((side) => listed(side).trim().split("\n")[0]);
}

function hasOpencv() {
  return spawnSync(PYTHON, ["-c", "import cv2"]).status === 0;
}

/** Ours and the peers in turn, so that a disturbance meets both. */
function sideBySide(folder) {
  const threadCounts = cpus().length > 1 ? [1, 2] : [1];
  const peers = hasOpencv() ? PEERS : [];
  if (peers.length === 0) {
    console.error("skipped  OpenCV: python3-opencv is not installed; apt-get install python3-opencv");
  }
  const pictures = peers.length > 0 ? scenePictures(folder) : [];
  const ours = new Map();
  const theirs = new Map();
  const note = (map, key, run) => map.set(key, [...(map.get(key) ?? []), run]);
  for (let round = 0; round < rounds; ++round) {
    for (const threads of threadCounts) {
      for (const paths of [4, 8]) {
        const size = { width: 640, height: 480, numDisparities: 128 };
        note(ours, `${paths} ${threads}`, bench({ ...size, paths, threads }));
      }
      for (const { mode } of peers) {
        const script = join(root, "bench/run/opencv_sgbm.py");
        const words = [script, ...pictures, "128", mode, String(threads), "5"];
        note(theirs, `${mode} ${threads}`, spawnJson(PYTHON, words));
      }
    }
  }
  const rows = [...ours.values()].map((runs) => ({ kind: "measured", what: "depthwatt", ...merged(runs) }));
  for (const runs of theirs.values())
    rows.push({ kind: "measured", what: "OpenCV StereoSGBM", ...merged(runs) });
  for (const { mode, paths } of peers) {
    for (const threads of threadCounts) {
      const our = merged(ours.get(`${paths} ${threads}`));
      const their = merged(theirs.get(`${mode} ${threads}`));
      const byMedian = their.medianMs / our.medianMs;
      rows.push({ what: "times OpenCV", paths, mode, threads, byMedian, byMinimum: their.minMs / our.minMs });
    }
  }
  return rows;
}

function growth() {
  return SIZES.map(([width, height, numDisparities]) => {
    const runs = Array.from({ length: rounds }, () =>
      bench({ width, height, numDisparities, paths: 4, threads: 0 }),
    );
    return { kind: "measured", what: "growth", ...merged(runs) };
  });
}

/** The narrower registers, and the cross-based matcher at half resolution with its own defaults. */
function others() {
  const size = { width: 640, height: 480, numDisparities: 128, paths: 4 };
  const several = (options) => merged(Array.from({ length: rounds }, () => bench(options)));
  const rows = [];
  if (process.arch === "x64") {
    for (const threads of [1, 2])
      rows.push({ what: "forced avx2", ...several({ ...size, threads, isa: "avx2" }) });
  }
  rows.push({ what: "defaults", ...several({ ...size, threads: 0, set: [] }) });
  rows.push({
    what: "sgm, half resolution, defaults",
    ...several({ ...size, threads: 0, set: ["match.halfResolution=true"] }),
  });
  rows.push({
    what: "cbca, half resolution",
    ...several({ ...size, threads: 0, algorithm: "cbca", set: ["match.halfResolution=true"] }),
  });
  return rows.map((row) => ({ kind: "measured", ...row }));
}

const folder = mkdtempSync(join(tmpdir(), "depthwatt-bench-"));
try {
  const compared = sideBySide(folder);
  const grown = growth();
  const rest = others();
  const second = cpus().length > 1 ? await secondCore(rounds) : [];
  const limits = measuredLimits(folder);
  const shares = compared.filter((row) => row.what === "depthwatt").map((row) => shareOfLimit(row, limits));
  const rows = [...compared, ...second, ...grown, ...rest, ...shares];
  printRows(rows);
  writeResult("speed", values, {
    what: "depthwatt bench and OpenCV StereoSGBM in turn, 640x480, 128 disparities, census to checked and smoothed disparity",
    limits: { kind: "measured", ...limits },
    rows,
  });
  if (values.plot !== undefined) writeFileSync(values.plot, growthPlot(grown));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
