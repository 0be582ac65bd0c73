// SPDX-License-Identifier: Apache-2.0
// How long commands take from nothing: `depthwatt --help`, `match` of one pair, `run` until its first frame is published and
// everything is closed again. Wall time and the CPU time of all threads; commands take turns.
//   node bench/run/start.mjs [--rounds N]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    rounds: { type: "string", default: "15" },
    ...RESULT_OPTIONS,
  },
});
const folder = mkdtempSync(join(tmpdir(), "depthwatt-start-"));
const depthwatt = (...words) => [process.execPath, PROGRAM, ...words];

/** A process from its start to its end. bash reports the CPU time of its child, which Node does not. */
function timed(command) {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>"$STDERR"';
  const STDERR = join(folder, "stderr");
  const { status, stderr } = spawnSync("bash", ["-c", script, "bash", ...command], {
    encoding: "utf8",
    env: { ...process.env, STDERR, LC_ALL: "C" },
  });
  if (status !== 0) throw new Error(`${command.slice(1).join(" ")} ended with ${status}: see ${STDERR}`);
  const [wall, user, system] = stderr.trim().split("\n").at(-1).split(" ").map(Number);
  return { wall, cpu: user + system };
}

timed(depthwatt("scene", "--frames", "1", "--out", folder));
const rows = [
  { what: "--help", command: depthwatt("--help") },
  {
    what: "match of one pair, 640x480, 64 disparities, written as PNG",
    command: depthwatt(
      "match",
      join(folder, "left/000000.png"),
      join(folder, "right/000000.png"),
      "-o",
      join(folder, "out.png"),
    ),
  },
  {
    what: "run on the built-in scene and broker, one frame, and its end",
    command: depthwatt("run", "--frames", "1", "--json"),
  },
].map((row) => ({ ...row, runs: [] }));
for (let round = 0; round < Number(values.rounds); ++round) {
  for (const { command, runs } of rows) runs.push(timed(command));
}
rmSync(folder, { recursive: true });

function summary(seconds) {
  return { median: median(seconds), least: Math.min(...seconds), max: Math.max(...seconds) };
}
writeResult("start", values, {
  what: "from a command's start to its end, seconds",
  rounds: Number(values.rounds),
  rows: rows.map(({ what, runs }) => ({
    kind: "measured",
    what,
    wallSeconds: summary(runs.map(({ wall }) => wall)),
    cpuSeconds: summary(runs.map(({ cpu }) => cpu)),
  })),
});
