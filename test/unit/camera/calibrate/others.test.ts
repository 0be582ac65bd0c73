// SPDX-License-Identifier: Apache-2.0
// Cameras next to a pair that are calibrated with it: exact and noisy corners, missing and moved boards, too few images.
import { expect, test } from "vitest";
import {
  multiply,
  rotationMatrix,
  rotationVector,
  transpose,
} from "../../../../camera/calibration/matrix.js";
import {
  type Board,
  type CalibrationResult,
  calibratePairs,
  type Detection,
  parseStereoCalibration,
  type SeenPair,
  stringifyCalibration,
} from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { createPoses, createRig, seenPair } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const board: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const VIEWS = 20;
const SIZE = { width: 640, height: 480 };
const OTHERS = [
  { name: "rgb", lens: "radtan", imageSize: { width: 800, height: 600 } },
  { name: "thermal", lens: "fisheye", imageSize: { width: 320, height: 256 } },
] as const;
const pair = createRig("radtan", SIZE);
/** Rigs of the left camera and another one. */
const beside = OTHERS.map(({ lens, imageSize }, at) => ({
  ...pair,
  right: createRig(lens, imageSize).right,
  R: rotationMatrix([0.05, -0.03, 0.02 + 0.01 * at]),
  T: [0.02 - 0.06 * at, 0.05, -0.02] as const,
}));

type Change = (seen: Detection, camera: number, view: number) => Detection | undefined;

function observe(noisePixels: number, change: Change = (seen) => seen): SeenPair[] {
  const random = new Random(23);
  return createPoses(pair, board, VIEWS, random).map((pose, view) => ({
    ...seenPair(`${view}`, pair, board, pose, random, noisePixels),
    others: beside.map((rig, camera) =>
      change(seenPair("", rig, board, pose, random, noisePixels).right, camera, view),
    ),
  }));
}

const calibrate = (seen: readonly SeenPair[]) =>
  calibratePairs(native, seen, { board, lens: "radtan", imageSize: SIZE, others: OTHERS });

function errorsOf({ calibration }: CalibrationResult, at: number) {
  const { R, T, K } = calibration.others![at]!;
  const truth = beside[at]!;
  return {
    degrees: (Math.hypot(...rotationVector(multiply(R, transpose(truth.R)))) * 180) / Math.PI,
    metres: Math.hypot(...T.map((value, axis) => value - truth.T[axis]!)),
    focal: Math.abs(K[0] / truth.right.K[0] - 1),
  };
}

test("exact corners give the exact cameras, though images are missing, and the file keeps them", async () => {
  const result = await calibrate(
    observe(0, (seen, camera, view) => (view % 4 === camera ? undefined : seen)),
  );
  for (const at of [0, 1]) {
    const { degrees, metres, focal } = errorsOf(result, at);
    expect(degrees).toBeLessThan(1e-3);
    expect(metres).toBeLessThan(1e-5);
    expect(focal).toBeLessThan(1e-4);
  }
  expect(result.others).toMatchObject([
    { name: "rgb", images: 15, cornersLeftOut: 0 },
    { name: "thermal", images: 15, cornersLeftOut: 0 },
  ]);
  const read = parseStereoCalibration(stringifyCalibration(result.calibration), "rig.json").calibration;
  expect(read.others?.map(({ name, imageSize }) => ({ name, imageSize }))).toEqual(
    OTHERS.map(({ name, imageSize }) => ({ name, imageSize })),
  );
  expect(read.hash).toBe(result.calibration.hash);
});

test("with noise, errors are within four of the deviations that the result states", async () => {
  const result = await calibrate(observe(0.1));
  for (const at of [0, 1]) {
    const { degrees, metres, focal } = errorsOf(result, at);
    const { rmsPixels, deviations } = result.others[at]!;
    expect(rmsPixels).toBeGreaterThan(0.12);
    expect(rmsPixels).toBeLessThan(0.16);
    expect(degrees).toBeLessThan(4 * deviations!.rotationDegrees);
    expect(metres).toBeLessThan(4 * Math.sqrt(3) * deviations!.positionMetres);
    expect(focal * beside[at]!.right.K[0]).toBeLessThan(4 * deviations!.focalPixels);
    // The deviations are no upper bound of anything: they are as small as the noise allows.
    expect(deviations!.positionMetres).toBeLessThan(0.002);
  }
});

test("a board that moved between the images, and corners of something else, are left out", async () => {
  const moved = (seen: Detection, by: number) => ({
    ...seen,
    points: seen.points.map((value) => value + by),
  });
  const result = await calibrate(
    observe(0.1, (seen, camera, view) => {
      if (camera === 0 && view < 2) return moved(seen, 12);
      if (camera !== 1 || view !== 5) return seen;
      const points = seen.points.slice();
      points[7] = points[7]! + 9;
      return { ...seen, points };
    }),
  );
  expect(result.others).toMatchObject([
    { name: "rgb", images: VIEWS - 2 },
    { name: "thermal", images: VIEWS, cornersLeftOut: 1 },
  ]);
  expect(errorsOf(result, 0).metres).toBeLessThan(0.002);
});

test("without other cameras nothing changes; a camera with too few images is refused by name", async () => {
  const seen = observe(0.1);
  const options = { board, lens: "radtan", imageSize: SIZE } as const;
  const alone = await calibratePairs(native, seen, options);
  expect(alone.others).toEqual([]);
  expect(await calibratePairs(native, seen, { ...options, others: [] })).toEqual(alone);
  const absent = observe(0.1, (one, camera, view) =>
    camera === 1 && view >= 4 ? { ...one, absence: "nothing" } : one,
  );
  await expect(calibrate(absent)).rejects.toMatchObject({
    code: "CALIBRATION_TOO_FEW",
    message: expect.stringMatching(/camera thermal: expected .* at least 5 used pairs, found 4 of 20/),
  });
});
