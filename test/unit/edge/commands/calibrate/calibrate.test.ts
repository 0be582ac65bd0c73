// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate from images: what its flags change in the result, the files and notes, and what it refuses first.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type Board,
  type CalibrationResult,
  encodePng,
  loadStereoCalibration,
} from "../../../../../camera/index.js";
import "../../../../../edge/commands/calibrate/command.js";
import { boardPicture } from "../../../../doubles/board-pictures.js";
import { createPoses, createRig } from "../../../../doubles/calibration-rig.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { Random } from "../../../../doubles/random.js";

const BOARD: Board = { pattern: "chessboard", columns: 5, rows: 4, squareMetres: 0.03 };
const PAIRS = 5;

const folder = mkdtempSync(join(tmpdir(), "depthwatt-calibrate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const [left, right] = [join(folder, "left"), join(folder, "right")];
let output = "";
let runs = 0;
beforeAll(async () => {
  const rig = createRig("radtan", { width: 200, height: 150 });
  const random = new Random(5);
  for (const side of ["left", "right"]) mkdirSync(join(folder, side));
  for (const [at, pose] of createPoses(rig, BOARD, PAIRS, random, 0.6).entries())
    for (const side of ["left", "right"] as const)
      writeFileSync(
        join(folder, side, `${at}.png`),
        await encodePng(boardPicture(rig, BOARD, pose, side, { noise: 1, random })),
      );
});
beforeEach(() => {
  output = join(folder, `${runs++}.json`);
});

const calibrate = (...words: string[]) =>
  runInProcess(["calibrate", "--left", left, "--right", right, "-o", output, ...words]);

interface Printed extends CalibrationResult {
  files: string[];
  seconds: number;
}

async function result(...words: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await calibrate("--board", "5x4", "--json", ...words);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

test("the board is guessed, and the result is printed and written", async () => {
  const { code, stdout, stderr } = await calibrate("--square", "30mm");
  expect(code, stderr).toBe(0);
  const lines = stdout.split("\n");
  expect(lines.map((line) => line.split(" ", 1)[0])).toEqual([
    "pairs",
    "error",
    "left",
    "right",
    "rig",
    "depth",
    "written",
    "",
  ]);
  expect(lines[0]).toBe("pairs    5 of 5 used, board 5x4 inner corners");
  expect(lines[6]).toBe(`written  ${output}`);
  expect(stderr).toMatch(
    /^note: the board has 5x4 inner corners, found in 10 of 10 images\nwarning: only 5 pairs/,
  );
  const { calibration } = loadStereoCalibration(output);
  // The rig's numbers: 170 px, and 0.12 m. Five pairs of small images determine them within 2 %.
  expect(Math.abs(calibration.left.K[0] / 170 - 1)).toBeLessThan(0.02);
  expect(Math.abs(-calibration.T[0] / 0.12 - 1)).toBeLessThan(0.02);
});

test("--json has the result, with the board, and the calibration of the file", async () => {
  const { board, lens, pairsUsed, files, seconds, calibration, pairs } = await result(
    ...["--square", "30mm", "--opencv", `${output}.yaml`],
  );
  expect({ board, lens, pairsUsed, files }).toEqual({
    board: BOARD,
    lens: "radtan",
    pairsUsed: 5,
    files: [output, `${output}.yaml`],
  });
  expect(pairs.map(({ name }) => name)).toEqual(["0.png", "1.png", "2.png", "3.png", "4.png"]);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThan(60);
  expect(loadStereoCalibration(output).calibration.hash).toBe(calibration.hash);
  const coefficients = (side: "left" | "right") => calibration[side].distortion.coefficients;
  expect([coefficients("left").length, coefficients("left")[4] === 0]).toEqual([5, false]);
});

test("--baseline replaces --square: the rig has that baseline, and the board the squares that follow", async () => {
  const { board, baselineMetres, calibration } = await result("--baseline", "24cm", "--no-k3");
  expect(baselineMetres).toBeCloseTo(0.24, 9);
  // Twice the true baseline: squares of twice 30 mm.
  expect(Math.abs(board.squareMetres / 0.06 - 1)).toBeLessThan(0.02);
  expect(board).toEqual({ ...BOARD, squareMetres: board.squareMetres });
  for (const side of ["left", "right"] as const) expect(calibration[side].distortion.coefficients[4]).toBe(0);
});

test("--baseline next to --square is checked", async () => {
  const wrong = await calibrate("--square", "30mm", "--baseline", "0.15");
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain("expected 0.15 m");
  expect(existsSync(output)).toBe(false);
  const { baselineMetres } = await result("--square", "30mm", "--baseline", "0.12");
  expect(Math.abs(baselineMetres / 0.12 - 1)).toBeLessThan(0.02);
});

test("a further camera is in the calibration file, and not in the others, with a note", async () => {
  const [yaml, ros] = [`${output}.yaml`, `${output}.ros`];
  const words = ["--square", "30mm", "--other", `rgb:fisheye=${left}`, "--opencv", yaml, "--ros", ros];
  const { code, stdout, stderr } = await calibrate("--board", "5x4", "--json", ...words);
  const note = `note: further cameras are in ${output} only; these files have the pair: ${yaml}, ${ros}\n`;
  expect([code, stderr]).toEqual([0, note]);
  const { others, files } = JSON.parse(stdout) as Printed;
  expect(others.map(({ name, images }) => [name, images])).toEqual([["rgb", 5]]);
  expect(files).toEqual([output, yaml, join(ros, "left.yaml"), join(ros, "right.yaml")]);
  expect(files.every((file) => existsSync(file))).toBe(true);
  const [camera] = loadStereoCalibration(output).calibration.others!;
  expect([camera!.name, camera!.distortion.model]).toEqual(["rgb", "equidistant"]);
});

test("--report shows the middle one of the pairs that fit", async () => {
  const page = `${output}.html`;
  const { files, pairs } = await result("--square", "30mm", "--report", page);
  expect(files).toEqual([output, page]);
  const middle = [...pairs].sort((a, b) => a.epipolarRmsPixels! - b.epipolarRmsPixels!)[2]!;
  expect(readFileSync(page, "utf8")).toContain(`<h2>Rectified pair</h2><p>${middle.name}.`);
});

test("--lens", async () => {
  const { lens, calibration } = await result("--square", "30mm", "--lens", "fisheye");
  expect([lens, calibration.left.distortion.model]).toEqual(["fisheye", "equidistant"]);
});

test("a file that is there is kept without --force", async () => {
  writeFileSync(output, "mine");
  const kept = await calibrate("--square", "30mm");
  expect([kept.code, kept.stdout, readFileSync(output, "utf8")]).toEqual([2, "", "mine"]);
  expect(kept.stderr).toContain(`error: ${output}: expected no such file, it is there already\n`);
  await result("--square", "30mm", "--force");
  expect(loadStereoCalibration(output).calibration.imageSize).toEqual({ width: 200, height: 150 });
});

const SQUARE = ["--square", "25mm"];
test.each([
  [[], "expected --square, the side of a square of the printed board, got nothing"],
  [[...SQUARE, "--baseline", "wide"], "expected --baseline to be a length"],
  [SQUARE, "expected --left and --right, or --side-by-side, or --source FILE.mcap"],
  [[...SQUARE, "--source", "film.avi"], 'expected --source to be a recording (.mcap), got "film.avi"'],
  [
    [...SQUARE, "--source", "a.mcap", "--other", "rgb=b"],
    "expected --other with --left and --right, got --source",
  ],
  [[...SQUARE, "--live", "--other", "rgb=b"], "expected --other with images, got cameras"],
  [[...SQUARE, "--live", "--other", "rgb"], "expected --other to be NAME=IMAGES"],
  [
    [...SQUARE, "--other", "a=b", "--other", "a=c"],
    "expected every camera to have its own name, got a twice",
  ],
  [[...SQUARE, "--interval", "3601"], "expected seconds, 0 to 3600"],
])("%j is refused before anything is read or written", async (words, message) => {
  const { code, stdout, stderr } = await runInProcess(["calibrate", "-o", output, ...words]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
  expect(existsSync(output)).toBe(false);
});
