// SPDX-License-Identifier: Apache-2.0
// depthwatt check-calibration as its users run it: figures, verdict, what to do, exit code.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { lastJson, runProgram } from "../doubles/program.js";

const SIZE = { width: 640, height: 480 };
let folder: string;

const scene = async (name: string, turnedDegrees: [number, number, number]) => {
  const at = join(folder, name);
  await writeScene(loadNative(), { ...SIZE, folder: at, frames: 3, truth: "none", turnedDegrees });
  return at;
};

let still: string;
let turned: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-check-calibration-"));
  still = await scene("still", [0, 0, 0]);
  turned = await scene("turned", [0, 0, 0.2]);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const check = (left: string, right: string, ...words: string[]) =>
  runProgram(["check-calibration", left, right, "--set", "power.sensor=none", ...words]);
const ofScene = (at: string, ...words: string[]) =>
  check(join(at, "left"), join(at, "right"), "--calibration", join(at, "calibration.json"), ...words);

interface Report {
  fits: boolean;
  calibrated: boolean;
  pairs: number;
  problem: { code: string; text: string; hint: string } | null;
  alignment: {
    rows: { mean: number; p95: number; overWidth: number; overHeight: number };
    rotationDegrees: { total: number; pitch: number; yaw: number; roll: number };
    scalePercent: number;
    focalPixels: number;
  };
}

test("a rig as it was calibrated: every figure, ok, and exit code 0", async () => {
  const ran = await ofScene(still);
  expect(ran.code, ran.stderr).toBe(0);
  for (const figure of ["rows", "pitch", "yaw", "roll", "scale", "from"])
    expect(ran.stdout).toMatch(new RegExp(`^${figure} +.*\\d`, "m"));
  expect(ran.stdout).toMatch(/^ok +the images lie as the calibration says \(3 pairs\)$/m);
});

test("a right camera turned by 0.2 degrees: how far, a verdict with what to do, and exit code 3", async () => {
  const ran = await ofScene(turned);
  expect(ran.code, ran.stderr).toBe(3);
  expect(ran.stdout).toMatch(/^roll +0\.(19|20|21)\d* degrees \+- 0\.\d+$/m);
  expect(ran.stdout).toMatch(/^BAD +RIG_MOVED: .* rotation 0\.(19|20|21) degrees$/m);
  expect(ran.stdout).toMatch(/^hint +.*calibrate again/m);
  const reported = lastJson<Report>(await ofScene(turned, "--json"));
  expect(reported).toMatchObject({ fits: false, calibrated: true, pairs: 3, problem: { code: "RIG_MOVED" } });
  const { rows, rotationDegrees, scalePercent, focalPixels } = reported.alignment;
  expect(rotationDegrees.roll).toBeCloseTo(0.2, 1);
  // About the axis of sight the rows part over the width and not in the mean.
  expect(Math.abs(rows.overWidth)).toBeGreaterThan(1.5);
  expect(Math.abs(rows.mean)).toBeLessThan(0.2);
  expect(Math.abs(scalePercent)).toBeLessThan(0.1);
  expect(Math.abs(focalPixels)).toBeLessThan(0.6);
});

test("a right lens that was refocused: the scale and the focal lengths part", async () => {
  const at = join(folder, "refocused");
  for (const side of ["left", "right"]) mkdirSync(join(at, side), { recursive: true });
  const [width, height] = [Math.round(SIZE.width * 1.01), Math.round(SIZE.height * 1.01)];
  const [left, top] = [Math.round((width - SIZE.width) / 2), Math.round((height - SIZE.height) / 2)];
  for (const name of ["000000.png", "000001.png", "000002.png"]) {
    copyFileSync(join(still, "left", name), join(at, "left", name));
    await sharp(join(still, "right", name))
      .resize(width, height, { fit: "fill" })
      .extract({ left, top, ...SIZE })
      .toFile(join(at, "right", name));
  }
  copyFileSync(join(still, "calibration.json"), join(at, "calibration.json"));
  const reported = lastJson<Report>(await ofScene(at, "--json"));
  expect(reported.problem?.code).toBe("RIG_MOVED");
  expect(reported.alignment.scalePercent).toBeGreaterThan(0.7);
  expect(reported.alignment.scalePercent).toBeLessThan(1.3);
});

test("swapped images, one picture twice, LEFT alone and a missing folder: a sentence each", async () => {
  const [left, right] = [join(still, "left"), join(still, "right")];
  const calibration = ["--calibration", join(still, "calibration.json")];
  const swapped = await check(right, left, ...calibration);
  expect(swapped.code).toBe(3);
  expect(swapped.stdout).toMatch(/^BAD +PAIR_SWAPPED: /m);
  const twice = await check(left, left, ...calibration);
  expect(twice.code).toBe(3);
  expect(twice.stdout).toMatch(/^BAD +PAIR_IDENTICAL: /m);
  const alone = await runProgram(["check-calibration", left]);
  expect(alone.code).toBe(2);
  expect(alone.stderr).toMatch(/expected LEFT and RIGHT.*got LEFT alone[\s\S]*hint: /);
  const missing = await check(left, join(folder, "nowhere"), ...calibration);
  expect(missing.code).toBe(3);
  expect(missing.stderr).toMatch(/nowhere[\s\S]*hint: /);
});

test("without a calibration the images are taken as rectified, and what needs a focal length is unavailable", async () => {
  const reported = lastJson<Report>(await check(join(still, "left"), join(still, "right"), "--json"));
  expect(reported.calibrated).toBe(false);
  expect(reported.alignment.rotationDegrees.pitch).toMatchObject({ available: false });
  expect(reported.alignment.focalPixels).toMatchObject({ available: false });
});
