// SPDX-License-Identifier: Apache-2.0
// Each step of a calibration alone, on numbers worked out by hand: a stub of the addon detects and adjusts.
import { describe, expect, test } from "vitest";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import {
  type Board,
  calibratePairs,
  type Detection,
  type GreyImage,
  rectify,
  type SeenPair,
  type StereoCalibration,
  withHash,
} from "../../../../camera/index.js";
import { boardGrid, boardPoint, boardWords } from "../../../../camera/rig/calibrate/board.js";
import { misfits, tooFew } from "../../../../camera/rig/calibrate/choose.js";
import { detectIn, guessBoard, guessDetection } from "../../../../camera/rig/calibrate/detect.js";
import { checkMirrors } from "../../../../camera/rig/calibrate/mirror.js";
import type {
  CalibrateExports,
  NativeDetectCall,
  NativeSolution,
  NativeSolveCall,
} from "../../../../camera/rig/calibrate/native.js";
import { cornersOfOthers, resultsOfOthers } from "../../../../camera/rig/calibrate/others.js";
import type { Rejection } from "../../../../camera/rig/calibrate/pairs.js";
import {
  betterLens,
  estimateDepthErrors,
  rowDifferences,
  standardDeviations,
  tryRectify,
  whyWithoutRay,
} from "../../../../camera/rig/calibrate/quality.js";
import type { CalibrateOptions } from "../../../../camera/rig/calibrate/result.js";
import {
  boardDistances,
  buildCalibration,
  type Corner,
  cornersOf,
  listCorners,
  rms,
  solve,
} from "../../../../camera/rig/calibrate/solve.js";
import { DepthwattError } from "../../../../core/index.js";
import { createPoses, createRig, seenPair } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const near = (values: Iterable<number>) => [...values].map((value) => expect.closeTo(value, 12));
const board: Board = { pattern: "chessboard", columns: 4, rows: 3, squareMetres: 0.03 };
const imageSize = { width: 640, height: 480 };

const EMPTY: NativeSolution = {
  lenses: [],
  rigs: [],
  poses: new Float64Array(),
  residuals: new Float64Array(),
  rmsPixels: 0,
  covariance: new Float64Array(),
  parameters: 0,
  iterations: 1,
  depthDeviations: new Float64Array(),
};
/** A native part whose adjustment is `answer`; keeps the calls. */
function solver(answer: (call: NativeSolveCall, at: number) => Partial<NativeSolution>) {
  const calls: NativeSolveCall[] = [];
  const native: CalibrateExports = {
    detectBoard: () => Promise.reject(new Error("no detection was expected")),
    solveCalibration: async (call) => {
      calls.push(call);
      return { ...EMPTY, ...answer(call, calls.length - 1) };
    },
  };
  return { native, calls };
}
/** Residuals of a call, each along x. */
const residuals = (call: NativeSolveCall, of: (view: number, camera: number, at: number) => number) =>
  Float64Array.from({ length: 2 * call.count }, (_, i) =>
    i % 2 === 0 ? of(call.viewIndex[i / 2]!, call.cameraIndex[i / 2]!, i / 2) : 0,
  );

/** A board of 4 x 3 corners, 10 px apart. */
const seen = (x: number, y = 40): Detection => ({
  absence: "none",
  columns: 4,
  rows: 3,
  missing: 0,
  blurAlongRows: 1,
  blurAlongColumns: 1,
  contrast: 100,
  ids: Int32Array.from({ length: 12 }, (_, id) => id),
  points: Float64Array.from({ length: 24 }, (_, at) =>
    at % 2 === 0 ? x + 10 * ((at >> 1) % 4) : y + 10 * Math.floor(at / 8),
  ),
});

describe("boards", () => {
  test.each<[Board, grid: [number, number], words: string, point: [number, number]]>([
    [board, [4, 3], "4x3 inner corners", [0.03, 0.06]],
    [{ ...board, pattern: "charuco" }, [3, 2], "4x3 squares", [0, 0.09]],
    // Every other row of circles is shifted by half of the distance between two.
    [{ ...board, pattern: "circles" }, [4, 3], "4x3 circles", [0.06, 0.06]],
  ])("%j", (which, [columns, rows], words, point) => {
    expect(boardGrid(which)).toEqual({ columns, rows });
    expect(boardWords(which)).toBe(words);
    expect(boardPoint(which, 9)).toEqual(near(point));
    expect(boardPoint(which, 0)).toEqual([0, 0]);
  });

  test("circles of an odd row", () => {
    const circles = { ...board, pattern: "circles" } as const;
    expect(boardPoint(circles, 4)).toEqual(near([0.03, 0.03]));
    expect(boardPoint(circles, 7)).toEqual(near([0.21, 0.03]));
  });
});

describe("detection", () => {
  const asked = async (run: (native: CalibrateExports) => Promise<Detection>): Promise<NativeDetectCall> => {
    let call: NativeDetectCall | undefined;
    const detectBoard = async (one: NativeDetectCall) => {
      call = one;
      return seen(0);
    };
    await run({ ...solver(() => ({})).native, detectBoard });
    return call!;
  };

  test("the picture as it is, or brought from 16 bits to 8", async () => {
    const image: GreyImage = { data: Uint8Array.of(1, 2, 3, 4), width: 2, height: 2 };
    const plain = await asked((native) => detectIn(native, image, board));
    expect(plain).toEqual({
      image: image.data,
      width: 2,
      height: 2,
      pattern: 0,
      columns: 4,
      rows: 3,
      dictionary: 0,
      markerShare: 0,
    });
    expect(plain.image).toBe(image.data);
    // 255 / 4000: 63.75 and 31.875 are rounded.
    const deep = { ...image, data: Uint16Array.of(0, 1000, 4000, 500) };
    const charuco = { ...board, pattern: "charuco", dictionary: 7, markerMetres: 0.0225 } as const;
    expect(await asked((native) => detectIn(native, deep, charuco))).toEqual({
      width: 2,
      height: 2,
      pattern: 2,
      columns: 4,
      rows: 3,
      dictionary: 7,
      markerShare: 0.75,
      image: Uint8Array.of(0, 64, 255, 32),
    });
    const black = { ...image, data: new Uint16Array(4) };
    const guess = await asked((native) => guessDetection(native, black));
    expect(guess).toMatchObject({
      image: new Uint8Array(4),
      pattern: 0,
      columns: 0,
      rows: 0,
      markerShare: 0,
    });
  });

  const shows = (columns: number, rows: number, absence: Detection["absence"] = "none"): Detection => ({
    ...seen(0),
    columns,
    rows,
    absence,
  });

  test("the board that most pictures show; of two, the larger", () => {
    const nines = [shows(9, 6), shows(9, 6)];
    const guess = (...detections: Detection[]) => Object.values(guessBoard(detections));
    expect(guess(shows(8, 6), ...nines, shows(3, 9))).toEqual([9, 6, 2, 4]);
    expect(guess(shows(8, 6), shows(8, 6), ...nines)).toEqual([9, 6, 2, 4]);
    expect(guess(...nines, shows(8, 6), shows(8, 6), shows(8, 6))).toEqual([8, 6, 3, 5]);
    const [square, long] = [shows(7, 7), shows(8, 4)];
    expect([guess(square, long), guess(long, square)]).toEqual([
      [7, 7, 1, 2],
      [7, 7, 1, 2],
    ]);
    expect(guess(shows(20, 2), shows(2, 20), shows(3, 3), shows(9, 6, "incomplete"))).toEqual([3, 3, 1, 1]);
    expect(() => guessBoard([shows(2, 9), shows(0, 0, "nothing")])).toThrow(
      expect.objectContaining({
        code: "BOARD_NOT_FOUND",
        message: "expected a chessboard in the images, found none in any of 2",
      }),
    );
  });
});

describe("the adjustment's call and answer", () => {
  const options: CalibrateOptions = { board, lens: "radtan", imageSize };

  test("the corners, the cameras and the wanted depths", async () => {
    const { native, calls } = solver(() => ({ rmsPixels: 0.5 }));
    const corners: Corner[] = [
      { view: 0, camera: 0, id: 5, x: 1, y: 2, used: true },
      { view: 1, camera: 1, id: 11, x: 3, y: 4, used: false },
    ];
    const cameras = [options, { lens: "fisheye", imageSize: { width: 320, height: 200 } }] as const;
    const depths = [
      [0, 0, 1],
      [0, 0, 3],
    ] as const;
    await solve(native, corners, 2, options, { robust: true, cameras, depths });
    await solve(
      native,
      [],
      0,
      { ...options, matchingErrorPixels: 0.4, withoutK3: true },
      { robust: false, cameras: [] },
    );
    expect(calls[0]).toEqual({
      cameras: 2,
      views: 2,
      robust: true,
      withoutK3: false,
      count: 2,
      depthCount: 2,
      disparityPixels: 0.25,
      cameraSpecs: Int32Array.of(0, 640, 480, 2, 320, 200),
      viewIndex: Int32Array.of(0, 1),
      cameraIndex: Uint8Array.of(0, 1),
      used: Uint8Array.of(1, 0),
      objects: Float64Array.of(0.03, 0.03, 0, 0.09, 0.06, 0),
      pixels: Float64Array.of(1, 2, 3, 4),
      depthPoints: Float64Array.of(0, 0, 1, 0, 0, 3),
    });
    expect(calls[1]).toMatchObject({ robust: false, withoutK3: true, disparityPixels: 0.4, depthCount: 0 });
  });

  test("no camera that fits is doubt about the pairs; other errors stay what they are", async () => {
    const failing = (error: Error) => ({
      ...solver(() => ({})).native,
      solveCalibration: () => Promise.reject(error),
    });
    const run = (error: Error) => solve(failing(error), [], 0, options, { robust: true, cameras: [] });
    const failed = new DepthwattError("ENGINE_FAILED", "singular");
    await expect(run(failed)).rejects.toMatchObject({
      code: "CALIBRATION_DOUBTFUL",
      message: "expected corners of one rig: singular",
      cause: failed,
      hint: expect.stringContaining("--lens fisheye"),
    });
    const other = new DepthwattError("ENGINE_PARAMETER", "odd");
    await expect(run(other)).rejects.toBe(other);
  });

  test("corners of pairs, distances and their mean", () => {
    const detection = { ...seen(50), ids: Int32Array.of(3, 7), points: Float64Array.of(1, 2, 3, 4) };
    const corner = (view: number, camera: number, id: number, x: number, y: number) => ({
      view,
      camera,
      id,
      x,
      y,
      used: true,
    });
    expect(cornersOf(detection, 4, 2)).toEqual([corner(4, 2, 3, 1, 2), corner(4, 2, 7, 3, 4)]);
    const pair = {
      name: "",
      left: detection,
      right: { ...detection, ids: Int32Array.of(3), points: Float64Array.of(5, 6) },
    };
    expect(listCorners([pair, pair]).map(({ view, camera, x }) => [view, camera, x])).toEqual([
      ...[0, 1].flatMap((view) => [
        [view, 0, 1],
        [view, 0, 3],
        [view, 1, 5],
      ]),
    ]);
    expect(rms([3, 4])).toBeCloseTo(Math.sqrt(12.5), 12);
    expect(rms([])).toBe(0);
    const solution = { ...EMPTY, residuals: Float64Array.of(3, 4, Number.NaN, 1, 0, -2) };
    expect(boardDistances(solution)).toEqual([5, Number.NaN, 2]);
  });

  test("the cameras of a solution", () => {
    const lenses = [1, 2, 3, 4].map((at) =>
      Float64Array.of(100 * at, 110 * at, 10 * at, 20 * at, at, 2 * at, 3 * at, 4 * at),
    );
    const turn = [1, 0, 0, 0, 0, -1, 0, 1, 0];
    const rigs = [
      { rotation: Float64Array.from(IDENTITY3), translation: Float64Array.of(-0.1, 0, 0) },
      { rotation: Float64Array.from(turn), translation: Float64Array.of(0.1, 0.2, 0.3) },
      { rotation: Float64Array.from(IDENTITY3), translation: Float64Array.of(0.4, 0.5, 0.6) },
    ];
    const other = { name: "rgb", lens: "fisheye", imageSize: { width: 320, height: 200 } } as const;
    const solution = { ...EMPTY, lenses, rigs };
    const camera = (name: string, at: number, model: string) => ({
      name,
      K: [100 * at, 0, 10 * at, 0, 110 * at, 20 * at, 0, 0, 1],
      distortion: { model, coefficients: [at, 2 * at, 3 * at, 4 * at] },
    });
    const { hash, ...found } = buildCalibration(solution, {
      ...options,
      lens: "rational",
      others: [other, { ...other, name: "ir" }],
    });
    expect(found).toEqual({
      imageSize,
      left: camera("left", 1, "rational_polynomial"),
      right: camera("right", 2, "rational_polynomial"),
      R: [...IDENTITY3],
      T: [-0.1, 0, 0],
      others: [
        { ...camera("rgb", 3, "equidistant"), imageSize: other.imageSize, R: turn, T: [0.1, 0.2, 0.3] },
        {
          ...camera("ir", 4, "equidistant"),
          imageSize: other.imageSize,
          R: [...IDENTITY3],
          T: [0.4, 0.5, 0.6],
        },
      ],
      files: [],
    });
    expect(buildCalibration(solution, options)).not.toHaveProperty("others");
  });
});

/** A covariance of these variances and, above and below the diagonal, of these pairs of parameters. */
function covarianceOf(
  variances: readonly number[],
  pairs: readonly [number, number, number][] = [],
): Float64Array {
  const n = variances.length;
  const out = new Float64Array(n * n);
  for (const [i, value] of variances.entries()) out[i * n + i] = value;
  for (const [i, j, value] of pairs) out[i * n + j] = out[j * n + i] = value;
  return out;
}
const DEGREES = 180 / Math.PI;

describe("quality", () => {
  test("deviations out of the covariance: focal lengths, turn, and the baseline along itself", () => {
    const lenses = [new Float64Array(4), new Float64Array(5)];
    // Left lens 0 to 3, right lens 4 to 8, rotation 9 to 11, translation 12 to 14.
    const variances = [0.04, 9, 9, 9, 0.09, 9, 9, 9, 9, 4e-4, 1e-4, 4e-4, 1e-6, 2e-6, 9e-6];
    const solution = {
      ...EMPTY,
      lenses,
      parameters: 15,
      covariance: covarianceOf(variances, [[12, 13, -0.5e-6]]),
      rigs: [{ rotation: new Float64Array(9), translation: Float64Array.of(-3, -4, 0) }],
    };
    expect(standardDeviations(solution)).toEqual({
      leftFocalPixels: expect.closeTo(0.2, 12),
      rightFocalPixels: expect.closeTo(0.3, 12),
      // (0.6, 0.8): 0.36 x 1 + 0.64 x 2 - 2 x 0.48 x 0.5.
      baselineMetres: expect.closeTo(Math.sqrt(1.16e-6), 12),
      rotationDegrees: expect.closeTo(0.03 * DEGREES, 12),
    });
    const rounded = covarianceOf(variances.map(() => -1e-20));
    expect(standardDeviations({ ...solution, covariance: rounded })).toEqual({
      leftFocalPixels: 0,
      rightFocalPixels: 0,
      baselineMetres: 0,
      rotationDegrees: 0,
    });
    expect(standardDeviations({ ...solution, covariance: new Float64Array() })).toBeUndefined();
  });

  test("depth errors at 1, 3 and 10 m: both causes together", () => {
    const depthDeviations = Float64Array.of(3, 4, 5, 12, 8, 15);
    expect(estimateDepthErrors({ ...EMPTY, depthDeviations })).toEqual([
      { depthMetres: 1, calibrationMetres: 3, matchingMetres: 4, totalMetres: 5 },
      { depthMetres: 3, calibrationMetres: 5, matchingMetres: 12, totalMetres: 13 },
      { depthMetres: 10, calibrationMetres: 8, matchingMetres: 15, totalMetres: 17 },
    ]);
  });

  const K = [100, 0, 320, 0, 100, 240, 0, 0, 1] as const;
  const pinhole = (name: string, coefficients: number[] = []) =>
    ({ name, K, distortion: { model: "plumb_bob", coefficients } }) as const;
  const level: StereoCalibration = withHash({
    imageSize,
    left: pinhole("left"),
    right: pinhole("right"),
    R: IDENTITY3,
    T: [-0.1, 0, 0],
    files: [],
  });

  test("rows of the same corners, in pixels of the rectified images", () => {
    const rectification = rectify(level);
    const [left, right] = [seen(50), seen(30)];
    const shifts = [0, 1, -2, 0.5, ...Array<number>(8).fill(0)];
    for (const [id, shift] of shifts.entries()) right.points[2 * id + 1]! += shift;
    const zoom = rectification.focalPixels / 100;
    expect(rowDifferences({ name: "", left, right }, level, rectification, 12)).toEqual(
      shifts.map((shift) => expect.closeTo(-shift * zoom, 9)),
    );
    const few = { ...right, ids: right.ids.slice(1, 3), points: right.points.slice(2, 6) };
    expect(rowDifferences({ name: "", left, right: few }, level, rectification, 12)).toEqual(
      [1, -2].map((shift) => expect.closeTo(-shift * zoom, 9)),
    );
  });

  test("corners beyond the fold of a lens have no ray", () => {
    // r - r^3 is at most 0.385, at 38.5 px from the centre.
    const folded = withHash({ ...level, left: pinhole("left", [-1]) });
    const at = (...xs: number[]): Detection => ({
      ...seen(0),
      ids: Int32Array.from(xs.keys()),
      points: Float64Array.from(xs.flatMap((x) => [320 + x, 240])),
    });
    const pairs: SeenPair[] = [
      { name: "", left: at(38, 39, 45), right: at(50) },
      { name: "", left: at(-50, 0), right: at(90) },
    ];
    expect(whyWithoutRay(pairs, folded, "radtan")).toBe(
      "3 corners have no ray, though the corners fit: " +
        "the lens model turns back before the border of the image, so try --lens fisheye or rational",
    );
    expect(whyWithoutRay(pairs, folded, "fisheye")).toBeUndefined();
    expect(whyWithoutRay(pairs, level, "radtan")).toBeUndefined();
  });

  test("lenses that no flat image holds are not rectified", () => {
    const fisheye = (name: string) =>
      ({ ...pinhole(name), distortion: { model: "equidistant", coefficients: [-0.5, 0, 0, 0] } }) as const;
    expect(
      tryRectify(withHash({ ...level, left: fisheye("left"), right: fisheye("right") })),
    ).toBeUndefined();
    expect(tryRectify(level)).toEqual(rectify(level));
  });

  test("the other kind of lens is named if it leaves less than 85 % of the error", async () => {
    const compare = (lens: CalibrateOptions["lens"], rmsPixels: number, compareLenses = true) => {
      const { native, calls } = solver(() => ({ rmsPixels }));
      const options = { board, imageSize, lens, compareLenses };
      return { calls, warnings: betterLens(native, [], 3, options, 2) };
    };
    const better = compare("radtan", 1.699);
    expect(await better.warnings).toEqual([
      "this looks like a wide lens: its corners fit within 2.000 px as radtan and within 1.699 px as fisheye, " +
        "so calibrate with --lens fisheye",
    ]);
    expect(better.calls[0]).toMatchObject({ robust: false, cameras: 2, views: 3 });
    expect([...better.calls[0]!.cameraSpecs]).toEqual([2, 640, 480, 2, 640, 480]);
    expect((await compare("fisheye", 0.2).warnings)[0]).toMatch(
      /^this looks like no fisheye lens: .* 2\.000 px as fisheye and within 0\.200 px as radtan, .* --lens radtan$/,
    );
    expect(await compare("radtan", 1.7).warnings).toEqual([]);
    for (const none of [compare("rational", 0), compare("radtan", 0, false)]) {
      expect(await none.warnings).toEqual([]);
      expect(none.calls).toEqual([]);
    }
    const failing = (code: "ENGINE_FAILED" | "ENGINE_PARAMETER") => ({
      ...solver(() => ({})).native,
      solveCalibration: () => Promise.reject(new DepthwattError(code, "")),
    });
    const options = { board, imageSize, lens: "radtan", compareLenses: true } as const;
    expect(await betterLens(failing("ENGINE_FAILED"), [], 1, options, 1)).toEqual([]);
    await expect(betterLens(failing("ENGINE_PARAMETER"), [], 1, options, 1)).rejects.toMatchObject({
      code: "ENGINE_PARAMETER",
    });
  });
});

describe("pairs that do not fit", () => {
  /** Views of one corner in each image. @param distances of both images, or of the left and the right one */
  const judged = (distances: readonly (number | readonly [number, number])[], alone: readonly number[][]) => {
    const bySide = distances.map((one) => (typeof one === "number" ? [one, one] : one));
    const corners = bySide.flatMap((_, view) =>
      [0, 1].map((camera) => ({ view, camera, id: 0, x: 0, y: 0, used: true })),
    );
    const pairs = distances.map(() => ({ name: "", left: seen(0), right: seen(0) }));
    const solution = { ...EMPTY, residuals: Float64Array.from(bySide.flat().flatMap((one) => [one, 0])) };
    return [...misfits(pairs, corners, solution, alone)].map(([view, { cause, reason }]) => [
      view,
      cause,
      reason,
    ]);
  };
  const alone = (left: number, right: number) => [
    [0, 0, left],
    [0, 0, right],
  ];
  const moved = (px: string) =>
    `the board moved between the cameras: each image fits alone, together they are ${px} apart`;
  const misfit = (px: string) => `its corners lie ${px} from where the others put them`;

  test("five times the usual distance, and 0.4 px more than it", () => {
    expect(judged([0.25, 0.25, 1.25], alone(0, 0))).toEqual([]);
    expect(judged([0.25, 0.25, 1.26], alone(0, 0))).toEqual([[2, "motion", moved("1.3 px")]]);
    expect(judged([0.0625, 0.0625, 0.4625], alone(0, 0))).toEqual([]);
    expect(judged([0.0625, 0.0625, 0.47], alone(0, 0))).toEqual([[2, "motion", moved("0.5 px")]]);
  });

  test("one image is enough", () => {
    for (const [left, right] of [
      [0.25, 1.26],
      [1.26, 0.25],
    ] as const)
      expect(judged([0.25, 0.25, [left, right]], alone(0, 0))).toEqual([[2, "motion", moved("1.3 px")]]);
    expect(judged([0.25, 0.25, [0.25, Number.NaN]], alone(0, 0))[0]![1]).toBe("misfit");
  });

  test("each image alone: a third of the distance, or twice the usual one", () => {
    expect(judged([0.25, 0.25, 3], alone(0.99, 0.5))).toEqual([[2, "motion", moved("3.0 px")]]);
    expect(judged([0.25, 0.25, 3], alone(0.5, 1))).toEqual([[2, "misfit", misfit("3.0 px")]]);
    expect(judged([0.25, 0.25, 3], alone(1, 0.5))).toEqual([[2, "misfit", misfit("3.0 px")]]);
    expect(judged([0.25, 0.25, 1.3], alone(0.49, 0))).toEqual([[2, "motion", moved("1.3 px")]]);
    expect(judged([0.25, 0.25, 1.3], alone(0.5, 0))).toEqual([[2, "misfit", misfit("1.3 px")]]);
    expect(judged([0.25, 0.25, Number.NaN], alone(0, 0))).toEqual([
      [2, "misfit", misfit("out of the image")],
    ]);
  });

  test("too few are left: the commonest reason, without its numbers and names", () => {
    const rejections = (...reasons: string[]) =>
      new Map(reasons.map((reason, at): [number, Rejection] => [at, { cause: "blur", reason }]));
    const pairs = Array.from({ length: 6 }, () => ({ name: "", left: seen(0), right: seen(0) }));
    const message = (usable: number, ...reasons: string[]) =>
      tooFew(usable, pairs, rejections(...reasons), board).message;
    expect(
      message(2, "one", "the left image is blurred: 3.0 px, 1.0 px", "the left image is blurred: 9"),
    ).toBe("expected at least 5 usable pairs, found 2 of 6 (most often: the left image is blurred, 2 of 6)");
    expect(
      message(0, "the board is where it was in a.png", "the board is where it was in b.png", "one"),
    ).toBe(
      "expected a board of 4x3 inner corners in both images of a pair, found none in 6 pairs " +
        "(most often: the board is where it was in another pair, 2 of 6)",
    );
    expect(message(1)).toBe("expected at least 5 usable pairs, found 1 of 6");
  });
});

describe("mirrored images", () => {
  const options: CalibrateOptions = { board, lens: "radtan", imageSize };
  const pairs = [{ name: "", left: seen(50), right: seen(30) }];
  /** Distances of the four tries: right, right from its other end, left, left from its other end. */
  const tried = (...distances: number[]) => {
    const { native, calls } = solver((call, at) => {
      if (Number.isNaN(distances[at]!)) throw new DepthwattError("ENGINE_FAILED", "");
      return { residuals: residuals(call, () => distances[at]!) };
    });
    return { calls, outcome: checkMirrors(native, pairs, options, 4) };
  };

  test.each<[number[], string | undefined, number]>([
    [[0.99], "right", 1],
    [[1, 0.99], "right", 2],
    [[1, 1, 0.99], "left", 3],
    [[Number.NaN, 1, Number.NaN, 0.99], "left", 4],
    [[1, 1, 1, 1], undefined, 4],
  ])("medians of %j px, a quarter of 4 px: %s", async (distances, side, count) => {
    const { outcome, calls } = tried(...distances);
    if (side === undefined) await outcome;
    else
      await expect(outcome).rejects.toMatchObject({
        code: "CALIBRATION_DOUBTFUL",
        message: `the ${side} images are mirrored: expected both cameras to see the board the same way round`,
      });
    expect(calls).toHaveLength(count);
    for (const call of calls) expect(call).toMatchObject({ robust: true, cameras: 2, views: 1, count: 24 });
  });

  test("each try mirrors one side, once from either end of the board", async () => {
    const { outcome, calls } = tried(1, 1, 1, 1);
    await outcome;
    /** The first corner of each side: its place on the board, in squares, and its x. */
    const firsts = calls.map(({ objects, pixels }) =>
      [0, 12].map((at) =>
        [objects[3 * at]!, objects[3 * at + 1]!].map((m) => Math.round(m / 0.03)).concat(pixels[2 * at]!),
      ),
    );
    // Columns 0 to 3 become 3 to 0; from the other end, rows 0 to 2 become 2 to 0 as well. 639 - x.
    expect(firsts).toEqual([
      [
        [0, 0, 50],
        [3, 0, 609],
      ],
      [
        [0, 0, 50],
        [0, 2, 609],
      ],
      [
        [3, 0, 589],
        [0, 0, 30],
      ],
      [
        [0, 2, 589],
        [0, 0, 30],
      ],
    ]);
    expect([...calls[0]!.pixels.subarray(24, 28)]).toEqual([609, 40, 599, 40]);
    const places = Array.from({ length: 12 }, (_, id) => [3 - (id % 4), Math.floor(id / 4)]);
    const found = places.map((_, id) =>
      [36, 37].map((at) => Math.round(calls[0]!.objects[at + 3 * id]! / 0.03)),
    );
    expect(found).toEqual(places);
  });
});

describe("cameras next to the pair", () => {
  const rgb = { name: "rgb", lens: "fisheye", imageSize: { width: 320, height: 200 } } as const;
  const options: CalibrateOptions = { board, lens: "radtan", imageSize, others: [rgb] };
  const pairsOf = (...others: (Detection | undefined)[]): SeenPair[] =>
    others.map((one, view) => ({
      name: `${view}`,
      left: seen(50 + view),
      right: seen(30 + view),
      others: [one],
    }));
  const six = () => pairsOf(...Array.from({ length: 6 }, (_, view) => seen(10 + view)));

  test("corners far from where they should be are kept as unused, numbered as the left image's", async () => {
    const pairs = six();
    // A corner of 2.2 px in view 3; the others' 0.5 px allow five deviations, 2.12 px.
    const { native, calls } = solver((call) => ({
      residuals: residuals(call, (view, camera, at) =>
        view === 3 && camera === 1 && call.pixels[2 * at] === 13 ? 2.2 : 0.5,
      ),
    }));
    const corners = await cornersOfOthers(native, pairs, options);
    expect(corners).toHaveLength(72);
    expect(new Set(corners.map(({ camera }) => camera))).toEqual(new Set([2]));
    const unused = corners.filter(({ used }) => !used);
    expect(unused.map(({ view, x }) => [view, x])).toEqual(Array.from({ length: 3 }, () => [3, 13]));
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ robust: true, cameras: 2, views: 6, count: 144 });
    expect([...calls[0]!.cameraSpecs]).toEqual([0, 640, 480, 2, 320, 200]);
  });

  test("images whose board is elsewhere are left out, and the rest is adjusted again", async () => {
    const { native, calls } = solver((call) => ({
      residuals: residuals(call, (view) => (view === 2 ? 2.6 : 0.5)),
    }));
    const corners = await cornersOfOthers(native, six(), options);
    expect(calls.map(({ count }) => count)).toEqual([144, 120]);
    expect([...new Set(corners.map(({ view }) => view))]).toEqual([0, 1, 3, 4, 5]);
    const limit = solver((call) => ({ residuals: residuals(call, (view) => (view === 2 ? 2.5 : 0.5)) }));
    expect(await cornersOfOthers(limit.native, six(), options)).toHaveLength(72);
    // 0.4 px more than the usual 0.0625 px.
    const small = (px: number) =>
      solver((call) => ({ residuals: residuals(call, (view) => (view === 2 ? px : 0.0625)) }));
    expect(await cornersOfOthers(small(0.46).native, six(), options)).toHaveLength(72);
    expect(await cornersOfOthers(small(0.47).native, six(), options)).toHaveLength(60);
  });

  test("each camera has its number", async () => {
    const { native } = solver((call) => ({ residuals: residuals(call, () => 0.5) }));
    const pairs = six().map((pair) => ({ ...pair, others: [pair.others![0], seen(90)] }));
    const corners = await cornersOfOthers(native, pairs, {
      ...options,
      others: [rgb, { ...rgb, name: "thermal" }],
    });
    expect([2, 3].map((at) => corners.filter(({ camera }) => camera === at).length)).toEqual([72, 72]);
  });

  test("five images with eight corners each are needed", async () => {
    const { native } = solver((call) => ({
      residuals: residuals(call, (view) => (view < 2 ? Number.NaN : 0.5)),
    }));
    await expect(cornersOfOthers(native, six(), options)).rejects.toMatchObject({
      code: "CALIBRATION_TOO_FEW",
      message:
        "camera rgb: expected the board in its images of at least 5 used pairs, found 4 of 6: " +
        "in 2 the board is elsewhere than the left image shows it",
      context: { camera: "rgb", usable: 4, pairs: 6 },
    });
    const few = (count: number): Detection => ({
      ...seen(10),
      ids: seen(0).ids.slice(0, count),
      points: seen(10).points.slice(0, 2 * count),
    });
    const absent: Detection = { ...seen(10), absence: "incomplete" };
    const good = [seen(10), seen(11), seen(12), seen(13)];
    for (const last of [undefined, absent, few(7)])
      await expect(cornersOfOthers(native, pairsOf(...good, last), options)).rejects.toThrow(/found 4 of 5$/);
    const fine = solver((call) => ({ residuals: residuals(call, () => 0.5) }));
    expect(await cornersOfOthers(fine.native, pairsOf(...good, few(8)), options)).toHaveLength(4 * 12 + 8);
    expect(await cornersOfOthers(fine.native, six(), { ...options, others: [] })).toEqual([]);
  });

  test("their part of the result", () => {
    const lenses = [4, 6, 5, 4].map((length) => new Float64Array(length));
    // 16: lens of the third camera, 21 its rotation, 24 its translation; 27: lens of the fourth, 31, 34.
    const variances = new Array<number>(37).fill(99);
    const set = (first: number, values: readonly number[]) =>
      variances.splice(first, values.length, ...values);
    set(16, [0.04]);
    set(21, [4e-4, 1e-4, 4e-4, 1e-6, 9e-6, 4e-6]);
    set(27, [0.25]);
    set(31, [4e-4, 0, 0, 4e-6, 1e-6, -1]);
    const corner = (camera: number, view: number, used: boolean): Corner => ({
      camera,
      view,
      used,
      id: 0,
      x: 0,
      y: 0,
    });
    const corners = [
      corner(0, 0, true),
      corner(2, 0, true),
      corner(2, 1, true),
      corner(2, 1, false),
      corner(3, 4, true),
    ];
    const solution = {
      ...EMPTY,
      lenses,
      parameters: 37,
      covariance: covarianceOf(variances),
      residuals: Float64Array.of(9, 9, 3, 0, 0, 4, 50, 0, 0.6, 0.8),
    };
    const other = (name: string) => ({ ...rgb, name });
    const both = { ...options, others: [other("rgb"), other("thermal")] };
    const parts = [
      { name: "rgb", images: 2, cornersLeftOut: 1, rmsPixels: expect.closeTo(Math.sqrt(12.5), 12) },
      { name: "thermal", images: 1, cornersLeftOut: 0, rmsPixels: expect.closeTo(1, 12) },
    ];
    const deviation = (focal: number, metres: number, radians: number) => ({
      focalPixels: expect.closeTo(focal, 12),
      positionMetres: expect.closeTo(metres, 12),
      rotationDegrees: expect.closeTo(radians * DEGREES, 12),
    });
    expect(resultsOfOthers(solution, corners, both)).toEqual([
      { ...parts[0], deviations: deviation(0.2, 0.003, 0.03) },
      { ...parts[1], deviations: deviation(0.5, 0.002, 0.02) },
    ]);
    const singular = { ...solution, covariance: new Float64Array() };
    expect(resultsOfOthers(singular, corners, both)).toEqual(
      parts.map((part) => ({ ...part, deviations: undefined })),
    );
  });
});

describe("a whole calibration whose adjustment is known", () => {
  const rig = createRig("radtan", imageSize);
  const random = new Random(8);
  const pairs = createPoses(rig, board, 7, random).map((pose, view) =>
    seenPair(`${view}`, rig, board, pose, random, 0),
  );
  const numbers = ({ K, distortion }: StereoCalibration["left"]) =>
    Float64Array.of(K[0], K[4], K[2], K[5], ...distortion.coefficients);
  const parameters = 9 + 9 + 6;
  const known = {
    lenses: [numbers(rig.left), numbers(rig.right)],
    rigs: [{ rotation: Float64Array.from(rig.R), translation: Float64Array.from(rig.T) }],
    parameters,
    covariance: covarianceOf(new Array<number>(parameters).fill(1e-8)),
    rmsPixels: 0.77,
    depthDeviations: Float64Array.of(3, 4, 3, 4, 3, 4),
  };
  const options: CalibrateOptions = { board, lens: "radtan", imageSize };
  /** Residuals of 0.5 px; of the pair's adjustment `joint`. */
  const run = async (
    joint: (view: number, camera: number, at: number, views: number) => number,
    changes: Partial<CalibrateOptions> = {},
  ) => {
    const { native, calls } = solver((call) => ({
      ...known,
      residuals: residuals(call, (view, camera, at) =>
        call.cameras === 1 ? 0.5 : joint(view, camera, at, call.views),
      ),
    }));
    const result = calibratePairs(native, pairs, { ...options, ...changes });
    return { calls, result: await result };
  };
  const used = (name: string, cornersLeftOut = 0, left = 0.5) => ({
    name,
    used: true,
    cornersLeftOut,
    leftRmsPixels: expect.closeTo(left, 9),
    rightRmsPixels: expect.closeTo(0.5, 9),
    epipolarRmsPixels: expect.closeTo(0, 6),
  });

  test("its result, its rounds, and a corner that is left out", async () => {
    // The corner 5 of view 1 in the left image, at 2.2 px: five deviations of 0.5 px are 2.12 px.
    const { calls, result } = await run((view, camera, at) =>
      view === 1 && camera === 0 && at === 29 ? 2.2 : 0.5,
    );
    expect(calls.map(({ cameras, robust }) => `${cameras}${robust}`)).toEqual([
      ...["1true", "1true", "2true", "2true", "2false"],
    ]);
    expect(calls.map(({ depthCount }) => depthCount)).toEqual([0, 0, 0, 0, 3]);
    expect(calls.at(-1)!.used.indexOf(0)).toBe(29);
    expect(result).toEqual({
      calibration: { ...rig, left: rig.left, right: rig.right, R: near(rig.R), hash: expect.any(String) },
      lens: "radtan",
      board,
      rmsPixels: 0.77,
      pairsUsed: 7,
      matchingErrorPixels: 0.25,
      others: [],
      leftRmsPixels: expect.closeTo(0.5, 9),
      rightRmsPixels: expect.closeTo(0.5, 9),
      epipolarRmsPixels: expect.closeTo(0, 6),
      pairs: pairs.map(({ name }) => used(name, name === "1" ? 1 : 0)),
      baselineMetres: expect.closeTo(Math.hypot(0.12, 0.0013, 0.0009), 9),
      deviations: {
        leftFocalPixels: expect.closeTo(1e-4, 12),
        rightFocalPixels: expect.closeTo(1e-4, 12),
        baselineMetres: expect.closeTo(1e-4, 12),
        rotationDegrees: expect.closeTo(Math.sqrt(3e-8) * DEGREES, 12),
      },
      depthErrors: [1, 3, 10].map((depthMetres) => ({
        depthMetres,
        calibrationMetres: 3,
        matchingMetres: 4,
        totalMetres: 5,
      })),
      coverage: { left: expect.anything(), right: expect.anything() },
      blurPixels: { left: 1, right: 1 },
      warnings: expect.arrayContaining([expect.stringMatching(/^only 7 pairs were used/)]),
    });
    for (const side of ["left", "right"] as const)
      expect(result.coverage[side].counts.reduce((sum, one) => sum + one, 0)).toBe(7 * 12);
  });

  test("a pair that moved is left out, and the others are adjusted again", async () => {
    const { calls, result } = await run((view, _camera, _at, views) =>
      views === 7 && view === 4 ? 2.6 : 0.5,
    );
    expect(calls.map(({ views }) => views)).toEqual([7, 7, 7, 6, 6, 6]);
    expect(result.pairsUsed).toBe(6);
    expect(result.pairs[4]).toEqual({
      name: "4",
      used: false,
      cornersLeftOut: 0,
      cause: "motion",
      reason: "the board moved between the cameras: each image fits alone, together they are 2.6 px apart",
    });
    expect(result.pairs.filter(({ used: one }) => one).map(({ name }) => name)).toEqual([..."012356"]);
  });

  test("mirrored images are looked for if both cameras together fit four times worse than each alone", async () => {
    // Four more tries, none of which fits better.
    expect((await run(() => 2.01)).calls).toHaveLength(9);
    expect((await run(() => 2)).calls).toHaveLength(5);
  });

  test("four pairs left of seven are too few", async () => {
    await expect(run((view) => (view < 3 ? 2.6 : 0.5))).rejects.toMatchObject({
      code: "CALIBRATION_TOO_FEW",
      context: { usable: 4, pairs: 7 },
    });
  });
});
