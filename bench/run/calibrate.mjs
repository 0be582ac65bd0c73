// SPDX-License-Identifier: Apache-2.0
// Measures calibration from many pairs: 100 rendered pairs of 1280x720 on disk, `depthwatt calibrate` over them in a
// terminal, so that its progress bar is drawn.
//   node bench/run/calibrate.mjs [--pairs 100] [--rounds 3] [--folder KEPT]
// A kept folder gets the missing pairs; with --rounds 0 that is all.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runnerImport } from "vite";
import { encodePng } from "../../dist/camera/index.js";
import { median } from "../../dist/core/statistics.js";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { PROGRAM } from "../shared/depthwatt.mjs";
import { RESULT_OPTIONS, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    pairs: { type: "string", default: "100" },
    rounds: { type: "string", default: "3" },
    folder: { type: "string" },
    ...RESULT_OPTIONS,
  },
});
const SIZE = { width: 1280, height: 720 };
const BOARD = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const [pairs, rounds] = [Number(values.pairs), Number(values.rounds)];
const folder = values.folder ?? mkdtempSync(join(tmpdir(), "depthwatt-bench-calibrate-"));

/** The renderer of the tests, which is TypeScript. */
const double = async (name) => (await runnerImport(`/test/doubles/${name}.ts`)).module;

async function render() {
  const { boardPicture } = await double("board-pictures");
  const { createPoses, createRig } = await double("calibration-rig");
  const { Random } = await double("random");
  const rig = createRig("radtan", SIZE);
  const random = new Random(100);
  const poses = createPoses(rig, BOARD, pairs, random, 0.7);
  for (const side of ["left", "right"]) {
    mkdirSync(join(folder, side), { recursive: true });
    for (const [at, pose] of poses.entries()) {
      const file = join(folder, side, `${String(at).padStart(3, "0")}.png`);
      if (existsSync(file)) continue;
      const picture = boardPicture(rig, BOARD, pose, side, { noise: 3, random });
      writeFileSync(file, await encodePng(picture));
    }
  }
  return rig;
}

function calibrate() {
  const command = `TIMEFORMAT='%R %U %S'; { time "$NODE" "$PROGRAM" calibrate --left "$FOLDER/left" --right "$FOLDER/right" --json \\
    --square 30mm -o "$FOLDER/rig.json" --force >"$FOLDER/report.json" 2>/dev/tty; } 2>"$FOLDER/times"`;
  // A terminal for what looks for one; its screen comes back as the output.
  const screen = spawnSync("script", ["-qec", command, "/dev/null"], {
    encoding: "utf8",
    env: {
      ...process.env,
      SHELL: "/bin/bash",
      COLUMNS: "100",
      NODE: process.execPath,
      PROGRAM,
      FOLDER: folder,
    },
  });
  if (screen.status !== 0) throw new Error(`calibrate ended with ${screen.status}: ${screen.stdout}`);
  const [wallSeconds, user, system] = readFileSync(join(folder, "times"), "utf8")
    .trim()
    .split(" ")
    .map(Number);
  const result = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
  const bars = [...screen.stdout.matchAll(/\] (\d+) % (\d+)\/(\d+)/g)];
  return { wallSeconds, cpuSeconds: user + system, bars: bars.length, last: bars.at(-1)?.[0], result };
}

try {
  const rig = await render();
  if (rounds === 0) process.exit(0);
  const runs = Array.from({ length: rounds }, calibrate);
  const { result } = runs[0];
  const off = (side) => Math.abs(result.calibration[side].K[0] / rig[side].K[0] - 1) * 100;
  writeResult("calibrate", values, {
    what: `depthwatt calibrate over ${pairs} rendered pairs of ${SIZE.width}x${SIZE.height}, size of the board guessed: bench/run/calibrate.mjs --rounds ${rounds}`,
    rows: [
      {
        kind: "measured",
        what: "median of the rounds",
        wallSeconds: median(runs.map(({ wallSeconds }) => wallSeconds)),
        cpuSeconds: median(runs.map(({ cpuSeconds }) => cpuSeconds)),
        pairsUsed: result.pairsUsed,
        rmsPixels: result.rmsPixels,
        focalOffPercent: { left: off("left"), right: off("right") },
      },
      ...runs.map(({ wallSeconds, cpuSeconds, bars, last }, round) => ({
        kind: "measured",
        what: `round ${round + 1}`,
        wallSeconds,
        cpuSeconds,
        progressBarDrawn: bars,
        progressBarLast: last ?? null,
      })),
    ],
  });
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
