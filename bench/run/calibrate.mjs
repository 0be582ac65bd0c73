// SPDX-License-Identifier: Apache-2.0
// What calibrating from many pairs costs: 100 rendered pairs of 1280x720 on disk, `depthwatt calibrate` over them in a terminal of
// its own, so that its progress bar is drawn. usage (needs a build): node bench/run/calibrate.mjs [--pairs 100] [--rounds 3]
// [--folder KEPT] [--machine NAME] [--load WORDS] [--out FILE]. A kept folder is filled up with the pairs that are not there yet;
// with --rounds 0 that is all.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { scriptArguments } from "../../scripts/arguments.mjs";
import { runnerImport } from "vite";
import { encodePng } from "../../dist/camera/index.js";
import { loadNow, writeResult } from "../shared/result-file.mjs";

const { values } = scriptArguments({
  options: {
    pairs: { type: "string", default: "100" },
    rounds: { type: "string", default: "3" },
    folder: { type: "string" },
    machine: { type: "string", default: "unnamed" },
    load: { type: "string" },
    out: { type: "string" },
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
  const { posesOf, rigOf } = await double("calibration-rig");
  const { Random } = await double("random");
  const rig = rigOf("radtan", SIZE);
  const random = new Random(100);
  const poses = posesOf(rig, BOARD, pairs, random, 0.7);
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

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

function calibrate() {
  const words = ["calibrate", "--left", join(folder, "left"), "--right", join(folder, "right"), "--json"];
  const told = join(folder, "told.json");
  const outputs = ["--square", "30mm", "-o", join(folder, "rig.json"), "--force"];
  const program = [process.execPath, "dist/edge/cli/main.js", ...words, ...outputs].map(quoted).join(" ");
  const times = join(folder, "times");
  const command = `TIMEFORMAT='%R %U %S'; { time ${program} >${told} 2>/dev/tty; } 2>${times}`;
  // A terminal for what looks for one; its screen comes back as the output.
  const screen = spawnSync("script", ["-qec", `bash -c ${quoted(command)}`, "/dev/null"], {
    encoding: "utf8",
    env: { ...process.env, COLUMNS: "100" },
  });
  if (screen.status !== 0) throw new Error(`calibrate ended with ${screen.status}: ${screen.stdout}`);
  const [wallSeconds, user, system] = readFileSync(times, "utf8").trim().split(" ").map(Number);
  const result = JSON.parse(readFileSync(told, "utf8"));
  const bars = [...screen.stdout.matchAll(/\] (\d+) % (\d+)\/(\d+)/g)];
  return { wallSeconds, cpuSeconds: user + system, bars: bars.length, last: bars.at(-1)?.[0], result };
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

try {
  const rig = await render();
  if (rounds === 0) process.exit(0);
  const before = loadNow();
  const runs = Array.from({ length: rounds }, calibrate);
  const { result } = runs[0];
  const off = (side) => Math.abs(result.calibration[side].K[0] / rig[side].K[0] - 1) * 100;
  writeResult(values.out, {
    what: `depthwatt calibrate over ${pairs} rendered pairs of ${SIZE.width}x${SIZE.height}, size of the board guessed: bench/run/calibrate.mjs --rounds ${rounds}`,
    machine: values.machine,
    load:
      values.load ?? `load average ${before} before, ${loadNow()} after, on ${availableParallelism()} cores`,
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
