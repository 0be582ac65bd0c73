// SPDX-License-Identifier: Apache-2.0
// The adjustment automatically: corners of a known rig in, its numbers out, for each lens model.
import { expect, test } from "vitest";
import { multiply, rotationVector, transpose } from "../../../../camera/calibration/matrix.js";
import { type Board, calibratePairs, LENS_MODELS, type SeenPair } from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { createPoses, createRig, seenPair } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const board: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const imageSize = { width: 640, height: 480 };

function renderPairs(lens: (typeof LENS_MODELS)[number], count: number, noise: number, seed = 7) {
  const rig = createRig(lens, imageSize);
  const random = new Random(seed);
  const poses = createPoses(rig, board, count, random);
  const pairs = poses.map((pose, at) => seenPair(`pair ${at}`, rig, board, pose, random, noise));
  return { rig, poses, pairs };
}

const turnBetween = (a: readonly number[], b: readonly number[]) =>
  (Math.hypot(...rotationVector(multiply(a as never, transpose(b as never)))) * 180) / Math.PI;

test.each(LENS_MODELS)("exact corners give the exact rig: %s", async (lens) => {
  const { rig, pairs } = renderPairs(lens, 12, 0);
  const { calibration, rmsPixels, pairsUsed } = await calibratePairs(native, pairs, {
    board,
    lens,
    imageSize,
  });
  expect(pairsUsed).toBe(12);
  expect(rmsPixels).toBeLessThan(1e-4);
  for (const side of ["left", "right"] as const) {
    for (const at of [0, 2, 4, 5])
      expect(Math.abs(calibration[side].K[at]! / rig[side].K[at]! - 1), `${side} K[${at}]`).toBeLessThan(
        1e-4,
      );
  }
  expect(turnBetween(calibration.R, rig.R)).toBeLessThan(1e-3);
  for (const [at, value] of calibration.T.entries()) expect(value).toBeCloseTo(rig.T[at]!, 5);
});

test.each(LENS_MODELS)(
  "noise of 0.1 px moves nothing further than the uncertainty that is reported: %s",
  async (lens) => {
    const { rig, pairs } = renderPairs(lens, 20, 0.1, 11);
    const result = await calibratePairs(native, pairs, { board, lens, imageSize });
    const { calibration, deviations, rmsPixels } = result;
    // Two coordinates of 0.1 px each, less what the 6 numbers of each pose take up.
    expect(rmsPixels).toBeGreaterThan(0.13);
    expect(rmsPixels).toBeLessThan(0.145);
    expect(deviations!.leftFocalPixels / calibration.left.K[0]).toBeLessThan(0.002);
    const off = (value: number, truth: number, deviation: number) => Math.abs(value - truth) / deviation;
    expect(off(calibration.left.K[0], rig.left.K[0], deviations!.leftFocalPixels)).toBeLessThan(4);
    expect(off(calibration.right.K[0], rig.right.K[0], deviations!.rightFocalPixels)).toBeLessThan(4);
    expect(off(result.baselineMetres, Math.hypot(...rig.T), deviations!.baselineMetres)).toBeLessThan(4);
    expect(turnBetween(calibration.R, rig.R)).toBeLessThan(4 * deviations!.rotationDegrees);
  },
);

test("the uncertainty is what many calibrations scatter by", async () => {
  const focals: number[] = [];
  const reported: number[] = [];
  const { pairs } = renderPairs("radtan", 10, 0.2, 5);
  for (let seed = 1; seed <= 6; seed++) {
    const random = new Random(1000 + seed);
    // The same poses, other noise.
    const noisy = pairs.map((pair) => jittered(pair, random));
    const result = await calibratePairs(native, noisy, { board, lens: "radtan", imageSize });
    focals.push(result.calibration.left.K[0]);
    reported.push(result.deviations!.leftFocalPixels);
  }
  const mean = focals.reduce((sum, f) => sum + f, 0) / focals.length;
  const scatter = Math.sqrt(focals.reduce((sum, f) => sum + (f - mean) ** 2, 0) / (focals.length - 1));
  const middle = reported.sort((a, b) => a - b)[3]!;
  expect(scatter / middle).toBeGreaterThan(0.4);
  expect(scatter / middle).toBeLessThan(2.2);
});

/** Another 0.2 px in place of what the pair has: its own noise is the same in every round. */
function jittered(pair: SeenPair, random: Random): SeenPair {
  const side = (which: "left" | "right") => ({
    ...pair[which],
    points: pair[which].points.map((value) => value + (random.whole(-1000, 1000) / 1000) * 0.35),
  });
  return { ...pair, left: side("left"), right: side("right") };
}

test("wrong corners, a board that moved and a pose seen twice are left out with the reason", async () => {
  const { rig, pairs, poses } = renderPairs("radtan", 14, 0.1, 3);
  const random = new Random(5);
  const wrong = pairs.map((pair) => ({ ...pair }));
  // One corner caught by something else.
  wrong[0]!.left = {
    ...wrong[0]!.left,
    points: wrong[0]!.left.points.map((v, at) => (at === 20 ? v + 6 : v)),
  };
  // The board moved by 2 mm and half a degree between the cameras.
  const moved = {
    R: poses[3]!.R,
    t: [poses[3]!.t[0] + 0.004, poses[3]!.t[1] + 0.003, poses[3]!.t[2]] as const,
  };
  wrong[3]!.right = seenPair("moved", rig, board, moved, random, 0.1).right;
  const twin = { ...seenPair("twin", rig, board, poses[5]!, random, 0.1) };
  const blurred = { ...wrong[7]!, right: { ...wrong[7]!.right, blurAlongRows: 4 } };
  wrong[7] = blurred;
  const nothing: SeenPair = { ...wrong[8]!, left: { ...wrong[8]!.left, absence: "nothing" } };
  wrong[8] = nothing;
  const count = boardCount();
  const upsideDown = { ...wrong[9]!.right, ids: wrong[9]!.right.ids.map((id) => count - 1 - id) };
  wrong[9]!.right = upsideDown;
  const result = await calibratePairs(native, [...wrong, twin], { board, lens: "radtan", imageSize });
  const causes = result.pairs.map(({ cause }) => cause);
  expect(causes[3]).toBe("motion");
  expect(causes[7]).toBe("blur");
  expect(causes[8]).toBe("noBoard");
  expect(causes[9]).toBe("outOfOrder");
  expect(causes[14]).toBe("duplicate");
  expect(result.pairs[0]!.cornersLeftOut).toBe(1);
  expect(result.pairsUsed).toBe(10);
  expect(Math.abs(result.calibration.left.K[0] / rig.left.K[0] - 1)).toBeLessThan(0.003);
});

const boardCount = () => board.columns * board.rows;

test("exchanged cameras, a mirrored camera, wrong squares and too few pairs are refused with what to do", async () => {
  const { pairs } = renderPairs("radtan", 12, 0.05, 21);
  const options = { board, lens: "radtan", imageSize } as const;
  const swapped = pairs.map(({ name, left, right }) => ({ name, left: right, right: left }));
  await expect(calibratePairs(native, swapped, options)).rejects.toMatchObject({
    code: "CALIBRATION_DOUBTFUL",
    message: expect.stringContaining("left and right are swapped"),
  });
  await expect(calibratePairs(native, pairs, { ...options, baselineMetres: 0.06 })).rejects.toMatchObject({
    code: "CALIBRATION_DOUBTFUL",
    message: expect.stringContaining("the squares are probably 0.015"),
  });
  await expect(calibratePairs(native, pairs.slice(0, 3), options)).rejects.toMatchObject({
    code: "CALIBRATION_TOO_FEW",
  });
  const soft = pairs.map((pair) => ({
    ...pair,
    right: { ...pair.right, blurAlongRows: 4, blurAlongColumns: 4 },
  }));
  await expect(calibratePairs(native, soft, options)).rejects.toMatchObject({
    code: "CALIBRATION_DOUBTFUL",
    message: expect.stringContaining("the right camera is out of focus"),
  });
  // Simulates a detector on a mirrored image: the board is mirrored, but numbered as if it were not.
  const mirrored = pairs.map((pair) => ({
    ...pair,
    right: {
      ...pair.right,
      ids: pair.right.ids.map((id) => Math.floor(id / 9) * 9 + 8 - (id % 9)),
      points: pair.right.points.map((value, at) => (at % 2 === 0 ? 639 - value : value)),
    },
  }));
  await expect(calibratePairs(native, mirrored, options)).rejects.toMatchObject({
    code: "CALIBRATION_DOUBTFUL",
    message: expect.stringContaining("the right images are mirrored"),
  });
});

test("without k3 it stays 0", async () => {
  const { pairs } = renderPairs("radtan", 12, 0.05, 9);
  const { calibration, deviations } = await calibratePairs(native, pairs, {
    board,
    lens: "radtan",
    imageSize,
    withoutK3: true,
  });
  expect(calibration.left.distortion.coefficients[4]).toBe(0);
  expect(calibration.right.distortion.coefficients[4]).toBe(0);
  expect(deviations!.leftFocalPixels).toBeGreaterThan(0);
});

test.each([
  ["fisheye", "radtan", /this looks like a wide lens: .* calibrate with --lens fisheye/],
  ["radtan", "fisheye", /this looks like no fisheye lens: .* calibrate with --lens radtan/],
] as const)(
  "a %s lens that is calibrated as %s is detected by the fit of the other model",
  async (lens, as, reported) => {
    const { pairs } = renderPairs(lens, 14, 0.03, 15);
    const options = { board, imageSize, compareLenses: true } as const;
    const wrong = await calibratePairs(native, pairs, { ...options, lens: as });
    expect(wrong.warnings.join("\n")).toMatch(reported);
    const right = await calibratePairs(native, pairs, { ...options, lens });
    expect(right.warnings.join("\n")).not.toMatch(/--lens/);
  },
);

test("a lens model that folds back before the border is reported", async () => {
  const { pairs } = renderPairs("fisheye", 14, 0.03, 15);
  const { warnings } = await calibratePairs(native, pairs, {
    board,
    lens: "radtan",
    imageSize,
  });
  expect(warnings.join("\n")).toMatch(/[1-9]\d* corners have no ray.* turns back before the border/);
});
