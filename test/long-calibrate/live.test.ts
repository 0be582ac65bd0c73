// SPDX-License-Identifier: Apache-2.0
// Tests depthwatt calibrate with a running camera: it takes pairs automatically, names the missing poses, and ends when
// there are enough.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StereoCalibration } from "../../camera/index.js";
import { type Board, loadStereoCalibration } from "../../camera/index.js";
import { type BoardStream, boardStream } from "../doubles/board-stream.js";
import { type BoardPose, createPoses, createRig } from "../doubles/calibration-rig.js";
import { until } from "../doubles/frames.js";
import { startProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

const SIZE = { width: 400, height: 300 };
const BOARD: Board = { pattern: "chessboard", columns: 8, rows: 5, squareMetres: 0.03 };
const QUIET = ["--set", "power.sensor=none"];

let folder: string;
let rig: StereoCalibration;
let poses: BoardPose[];
let camera: BoardStream;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-live-calibration-"));
  rig = createRig("radtan", SIZE);
  const random = new Random(77);
  poses = createPoses(rig, BOARD, 36, random, 0.75);
  // Held for 1.2 s: a machine with much to do has its two looks all the same.
  camera = boardStream(join(folder, "boards.grey"), rig, BOARD, poses, random, { rateHz: 10, hold: 12 });
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const focalOff = ({ left, right }: StereoCalibration) =>
  Math.max(Math.abs(left.K[0] / rig.left.K[0] - 1), Math.abs(right.K[0] / rig.right.K[0] - 1));

test("takes pairs until it is enough, and the rig comes back", async () => {
  const output = join(folder, "rig.json");
  const saved = join(folder, "taken");
  const words = ["calibrate", ...camera.words, "--square", "30mm", "-o", output, "--save", saved, ...QUIET];
  const { code, stderr, stdout } = await startProgram(words).ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain("the board is taken to have 8x5 inner corners");
  expect(stderr).toMatch(/hold it into the .*(left|right).* of the (left|right) image/);
  expect(stderr).toMatch(/its (left|right|upper|lower) side nearer/);
  expect(stderr).toMatch(/taken: pair 7;/);
  expect(stderr).toMatch(/depth error .* at 1 m, .* at 3 m, .* at 10 m/);
  expect(stderr).not.toContain("ended before");
  expect(stdout).toMatch(/expected error .* at 10 m/);
  const { calibration } = loadStereoCalibration(output, { imageSize: SIZE });
  expect(focalOff(calibration)).toBeLessThan(0.005);
  const [left, right] = ["left", "right"].map((side) => readdirSync(join(saved, side)).sort());
  expect(left).toEqual(right);
  expect(left!.length).toBeGreaterThanOrEqual(15);
}, 120_000);

test("without a board it asks for one; the signal ends it with an error", async () => {
  const output = join(folder, "none.json");
  const size = ["--set", "source.synthetic.width=320", "--set", "source.synthetic.height=240"];
  const words = [
    "calibrate",
    "--live",
    "--source",
    "synthetic",
    ...size,
    "--square",
    "30mm",
    "-o",
    output,
    ...QUIET,
  ];
  const run = startProgram(words);
  await until("it says what to show", () => run.stderr().includes("show the whole chessboard"), 60_000);
  run.child.kill("SIGINT");
  const { code, stderr } = await run.ended;
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/saw none in \d+ looks/);
  expect(existsSync(output)).toBe(false);
}, 90_000);
