// SPDX-License-Identifier: Apache-2.0
// The limits by which a calibration judges pairs, boards and rigs, from both sides, and the numbers of a whole result.
import { describe, expect, test } from "vitest";
import {
  IDENTITY3,
  multiply,
  rotationMatrix,
  rotationVector,
  transpose,
} from "../../../../camera/calibration/matrix.js";
import {
  type Board,
  calibratePairs,
  type Detection,
  type LensModel,
  rectify,
  type SeenPair,
} from "../../../../camera/index.js";
import { boardPoint } from "../../../../camera/rig/calibrate/board.js";
import { cornerLimit, sortPairs, tooFew } from "../../../../camera/rig/calibrate/choose.js";
import { boardTilt, measureCoverage } from "../../../../camera/rig/calibrate/coverage.js";
import { type Absence, LENS_MODELS, type NativeSolveCall } from "../../../../camera/rig/calibrate/native.js";
import {
  meanShift,
  sameOrder,
  whyAbsent,
  whyBlurred,
  whySamePicture,
} from "../../../../camera/rig/calibrate/pairs.js";
import { checkCameras, checkFocus } from "../../../../camera/rig/calibrate/plausibility.js";
import { calibrationWarnings, whyRowsApart } from "../../../../camera/rig/calibrate/quality.js";
import { capturedPoint, pixelRay, rectifiedPoint } from "../../../../camera/rig/calibrate/rays.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { createPoses, createRig, seenPair, solveCall } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const board: Board = { pattern: "chessboard", columns: 4, rows: 3, squareMetres: 0.03 };

/** A board of 4 x 3 corners, 10 px apart, whose first corner is at (x, y). */
function seen(x: number, y: number, changes: Partial<Detection> = {}): Detection {
  return {
    absence: "none",
    columns: 4,
    rows: 3,
    missing: 0,
    ids: Int32Array.from({ length: 12 }, (_, id) => id),
    points: Float64Array.from({ length: 24 }, (_, at) =>
      at % 2 === 0 ? x + 10 * ((at >> 1) % 4) : y + 10 * Math.floor(at / 8),
    ),
    blurAlongRows: 1,
    blurAlongColumns: 0.8,
    contrast: 100,
    ...changes,
  };
}
const pair = (left: Partial<Detection> = {}, right: Partial<Detection> = {}): SeenPair => ({
  name: "pair",
  left: seen(50, 40, left),
  right: seen(30, 40, right),
});
const few = (count: number) => ({
  ids: seen(0, 0).ids.slice(0, count),
  points: seen(0, 0).points.slice(0, 2 * count),
});

describe("pairs", () => {
  test.each<[Absence, string | undefined, RegExp]>([
    ["none", undefined, /^$/],
    ["incomplete", "incomplete", /3 of 12 corners .* right/],
    ["otherSize", "incomplete", /3 of 12 corners .* right/],
    ["outOfOrder", "outOfOrder", /right/],
    ["nothing", "noBoard", /right/],
    ["tooSmall", "noBoard", /right/],
  ])("a right image whose board is %s", (absence, cause, reason) => {
    const found = whyAbsent(pair({}, { absence, missing: 3 }), board);
    expect(found?.cause).toBe(cause);
    expect(found?.reason ?? "").toMatch(reason);
  });

  test("eight corners of each image are enough", () => {
    expect(whyAbsent(pair(few(8), few(8)), board)).toBeUndefined();
    expect(whyAbsent(pair(few(7)), board)?.reason).toContain("7 corners were found in the left");
    expect(whyAbsent(pair({}, few(7)), board)?.reason).toContain("7 corners were found in the right");
    const moved = seen(3, 4);
    expect(
      meanShift({ ...moved, ids: moved.ids.slice(4), points: moved.points.slice(8) }, seen(0, 0), 12),
    ).toBe(5);
    expect(
      meanShift({ ...moved, ids: moved.ids.slice(5), points: moved.points.slice(10) }, seen(0, 0), 12),
    ).toBe(Number.POSITIVE_INFINITY);
  });

  test("the same picture twice, and pictures that differ in one number or in length", () => {
    const left = seen(50, 40);
    expect(whySamePicture({ name: "", left, right: left })?.cause).toBe("duplicate");
    const points = left.points.slice();
    points[23]! += 0.5;
    expect(whySamePicture({ name: "", left, right: { ...left, points } })).toBeUndefined();
    expect(whySamePicture({ name: "", left: { ...left, ...few(8) }, right: seen(0, 0) })).toBeUndefined();
  });

  test("blur is the larger direction: twice the usual, and one pixel more than it", () => {
    const blurred = (blur: Partial<Detection>, usual: number) =>
      whyBlurred(pair({}, blur), { left: 1, right: usual })?.reason;
    expect(blurred({ blurAlongRows: 2 }, 1)).toBeUndefined();
    expect(blurred({ blurAlongRows: 2.01 }, 1)).toContain("right image is blurred: 2.0 px, 1.0 px");
    expect(blurred({ blurAlongColumns: 1.5 }, 0.5)).toBeUndefined();
    expect(blurred({ blurAlongColumns: 1.51 }, 0.5)).toBeDefined();
    expect(blurred({ blurAlongColumns: 6 }, 3)).toBeUndefined();
    expect(blurred({ blurAlongColumns: 6.01 }, 3)).toBeDefined();
    expect(whyBlurred(pair({ blurAlongRows: 2.01 }), { left: 1, right: 9 })?.reason).toContain("left image");
  });

  test.each<[Board["pattern"], number, number, "turned" | "refused" | "kept"]>([
    ["chessboard", 4, 3, "refused"],
    ["chessboard", 3, 3, "turned"],
    ["circles", 3, 4, "turned"],
    ["circles", 4, 3, "refused"],
    ["charuco", 5, 4, "kept"],
  ])(
    "a right image of a %s of %i x %i that is read from the other end is %s",
    (pattern, columns, rows, outcome) => {
      const grid = pattern === "charuco" ? [4, 3] : [columns, rows];
      const count = grid[0]! * grid[1]!;
      const at = (x: number, turned: boolean): Detection => ({
        ...seen(0, 0),
        ids: Int32Array.from({ length: count }, (_, id) => (turned ? count - 1 - id : id)),
        points: Float64Array.from({ length: 2 * count }, (_, i) =>
          i % 2 === 0 ? x + 10 * ((i >> 1) % grid[0]!) : 2 + 9 * Math.floor((i >> 1) / grid[0]!),
        ),
      });
      const one = { name: "", left: at(50, false), right: at(20, true) };
      const found = sameOrder(one, { ...board, pattern, columns, rows });
      if (outcome === "refused") expect(found).toMatchObject({ cause: "outOfOrder" });
      else expect("right" in found && [...found.right.ids]).toEqual([...at(0, outcome === "kept").ids]);
      const straight = { ...one, right: at(20, false) };
      expect(sameOrder(straight, { ...board, pattern, columns, rows })).toBe(straight);
    },
  );

  test.each([
    ["left", [0, 5], []],
    ["right", [], [3, 7, 8]],
    ["both", [0, 1, 2], [9, 11]],
  ])(
    "the order of corners is found although the %s image lacks some and the right one is larger",
    (_, left, right) => {
      const at = (scale: number, x: number, y: number, lacking: readonly number[], turned: boolean) => {
        const whole = seen(0, 0);
        const kept = [...whole.ids].filter((id) => !lacking.includes(id));
        return seen(0, 0, {
          ids: Int32Array.from(kept, (id) => (turned ? 11 - id : id)),
          points: Float64Array.from(
            kept.flatMap((id) => [x + scale * whole.points[2 * id]!, y + scale * whole.points[2 * id + 1]!]),
          ),
        });
      };
      const seenBy = (turned: boolean): SeenPair => ({
        name: "",
        left: at(1, 50, 400, left, false),
        right: at(3, 900, 20, right, turned),
      });
      const straight = seenBy(false);
      expect(sameOrder(straight, board)).toBe(straight);
      expect(sameOrder(seenBy(true), board)).toMatchObject({ cause: "outOfOrder" });
    },
  );

  test("a pose is new when one image moved by 0.3 % of the diagonal; too few pairs name the commonest cause", () => {
    const options = { board, lens: "radtan", imageSize: { width: 300, height: 400 } } as const;
    const named = (name: string, x: number, y: number): SeenPair => ({
      name,
      left: seen(x, 40),
      right: seen(y, 40),
    });
    const pairs = [named("a", 50, 30), named("b", 51.4, 31.4), named("c", 51.6, 31.4), named("d", 50, 28.4)];
    const { kept, rejected } = sortPairs([...pairs, pair({ absence: "nothing" })], options);
    expect(kept.map(({ index }) => index)).toEqual([0, 2, 3]);
    expect([...rejected]).toMatchObject([
      [4, { cause: "noBoard" }],
      [1, { cause: "duplicate", reason: expect.stringMatching(/ a$/) }],
    ]);
    expect(tooFew(3, pairs, rejected, board)).toMatchObject({
      code: "CALIBRATION_TOO_FEW",
      context: { usable: 3, pairs: 4 },
      message: expect.stringMatching(/at least 5 .* 3 of 4 .*, 1 of 4\)/),
    });
    expect(tooFew(0, pairs, rejected, board)).toMatchObject({ code: "BOARD_NOT_FOUND" });
    const turned = (count: number) =>
      tooFew(
        0,
        pairs,
        new Map(pairs.slice(0, count).map((_, at) => [at, { cause: "outOfOrder", reason: "" }])),
        board,
      );
    expect([2, 3].map((count) => (turned(count) as { code?: string }).code)).toEqual([
      "BOARD_NOT_FOUND",
      "CALIBRATION_DOUBTFUL",
    ]);
  });

  test("a corner's limit is five deviations, at least a quarter pixel", () => {
    expect(cornerLimit([0.1, Number.NaN, 0.2, 0.3])).toBeCloseTo(1 / 1.1774, 9);
    expect(cornerLimit([0.01])).toBe(0.25);
  });
});

test("coverage: the cells of corners, the border in the last ones, points outside in none", () => {
  const points = Float64Array.of(0, 0, 99.9, 59.9, 100, 60, 19.9, 14.9, 20, 15, 60, -1, -1, 30, 79.9, 44.9);
  const counts = Array.from({ length: 20 }, (_, cell) => ({ 0: 2, 6: 1, 13: 1, 19: 2 })[cell] ?? 0);
  expect(measureCoverage([seen(0, 0, { points })], 100, 60)).toEqual({ counts, share: 0.2 });
});

test("tilt: the ratio of opposite sides, whichever corner is the first", () => {
  const corners = (places: number[]) => {
    const { points } = seen(0, 0);
    for (const [i, id] of [0, 3, 11, 8].entries())
      [points[2 * id], points[2 * id + 1]] = [places[2 * i]!, places[2 * i + 1]!];
    return seen(0, 0, { points });
  };
  // Sides of 30 above, 50 on the right, 60 below, 40 on the left.
  expect(boardTilt(corners([0, 0, 30, 0, 60, 40, 0, 40]), board)).toEqual({
    sideways: expect.closeTo((50 - 40) / 90, 12),
    upDown: expect.closeTo((60 - 30) / 90, 12),
  });
  expect(boardTilt(corners([60, 40, 0, 40, 0, 0, 30, 0]), board)).toEqual({
    sideways: expect.closeTo((50 - 40) / 90, 12),
    upDown: expect.closeTo((60 - 30) / 90, 12),
  });
  expect(boardTilt(seen(0, 0, few(11)), board)).toBeUndefined();
  // The same outline elsewhere, whichever corner the board begins with.
  const outline = [100, 50, 130, 50, 160, 90, 100, 90];
  for (const first of [0, 2, 4, 6])
    expect(boardTilt(corners([...outline.slice(first), ...outline.slice(0, first)]), board)).toEqual({
      sideways: expect.closeTo((50 - 40) / 90, 12),
      upDown: expect.closeTo((60 - 30) / 90, 12),
    });
});

describe("rigs", () => {
  test.each([
    [1.99, 0.5, undefined],
    [2, 0.81, undefined],
    [2, 0.8, "left"],
    [0.7, 2.1, "right"],
    [1.99, 0, undefined],
  ])("blur of %f and %f px: out of focus is %s", (left, right, soft) => {
    const check = () => checkFocus({ left, right });
    if (soft === undefined) check();
    else expect(check).toThrow(`the ${soft} camera is out of focus`);
  });

  const rig = createRig("radtan", { width: 640, height: 480 });
  const degrees = (angle: number) => rotationMatrix([0, (angle * Math.PI) / 180, 0]);
  test.each<[number, readonly [number, number, number], number | undefined, RegExp | undefined]>([
    [59.9, [-0.1, 0, 0], undefined, undefined],
    [60.1, [-0.1, 0, 0], undefined, /turn of 60 degrees/],
    [0, [-0.1, 0.08, 0.05], undefined, undefined],
    [0, [-0.1, 0.08, 0.07], undefined, /0\.146 m away mostly above/],
    [0, [-0.1, -0.08, 0.07], undefined, /mostly below/],
    [0, [-0.1, 0.07, -0.08], undefined, /mostly before or behind/],
    [0, [0.1, 0, 0], undefined, /swapped.* 0\.100 m/],
    [0, [-0.1, 0, 0], 0.1029, undefined],
    [0, [-0.1, 0, 0], 0.0971, undefined],
    [
      0,
      [-0.1, 0, 0],
      0.1031,
      /probably 0\.0309 m: with 0\.03 m the baseline is 0\.1000 m, expected 0\.1031 m/,
    ],
    [0, [-0.1, 0, 0], 0.0969, /probably 0\.0291 m/],
  ])("a turn of %f degrees and a translation of %j, measured as %s", (turn, T, baselineMetres, refused) => {
    const check = () =>
      checkCameras(
        { ...rig, R: degrees(turn), T },
        { board, ...(baselineMetres !== undefined && { baselineMetres }) },
      );
    if (refused === undefined) check();
    else expect(check).toThrow(refused);
  });

  test("warnings: few pairs, a part of an image, a focal length, undetermined numbers, rows apart", () => {
    const calibration = { ...rig, left: { ...rig.left, K: [500, 0, 320, 0, 500, 240, 0, 0, 1] as const } };
    const warnings = (used: number, left: number, right: number, focal: number | undefined) => {
      const deviations = focal === undefined ? undefined : { ...ZERO, leftFocalPixels: focal };
      const coverage = { left: { counts: [], share: left }, right: { counts: [], share: right } };
      return calibrationWarnings(used, coverage, deviations, calibration).map(
        (text) => /[\d.]+ %|\d+ pairs|tilt/.exec(text)?.[0],
      );
    };
    const ZERO = { leftFocalPixels: 0, rightFocalPixels: 0, baselineMetres: 0, rotationDegrees: 0 };
    expect(warnings(10, 0.6, 0.6, 2.5)).toEqual([]);
    expect(warnings(9, 0.594, 0.55, 2.6)).toEqual(["9 pairs", "59 %", "55 %", "0.52 %"]);
    expect(warnings(10, 1, 1, undefined)).toEqual(["tilt"]);
    expect([undefined, 1, 0.7].map((rows) => whyRowsApart(rows, 0.25))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(whyRowsApart(1.01, 0.25)).toMatch(/1\.0 px apart.* 0\.25 px/);
  });
});

describe("rays", () => {
  test.each(["radtan", "rational", "fisheye"] as const)(
    "%s: a captured pixel and its rectified place",
    (lens) => {
      const rig = createRig(lens, { width: 640, height: 480 });
      const rectification = rectify(rig);
      for (const side of ["left", "right"] as const)
        for (const [u, v] of [
          [320, 240],
          [100, 90],
          [500, 400],
        ] as const) {
          const [x, y] = rectifiedPoint(rig[side], rectification, side, u, v);
          const back = capturedPoint(rig[side], rectification, side, x, y);
          expect(Math.hypot(back[0] - u, back[1] - v)).toBeLessThan(1e-5);
        }
      expect(rectifiedPoint(rig.left, rectification, "left", 100, 90)[1]).not.toBeCloseTo(90, 1);
    },
  );

  test("where a lens has no ray, and where a rectified pixel looks back", () => {
    const K = [100, 0, 0, 0, 100, 0, 0, 0, 1] as const;
    const fisheye = {
      name: "",
      K,
      distortion: { model: "equidistant", coefficients: [0, 0, 0, 0] },
    } as const;
    expect(pixelRay(fisheye, 149, 0)[0]).toBeCloseTo(Math.tan(1.49), 6);
    expect(pixelRay(fisheye, 0, 0)).toEqual([0, 0]);
    expect(pixelRay(fisheye, 151, 0)).toEqual([Number.NaN, Number.NaN]);
    // r / (1 + r^2) is at most 0.5.
    const coefficients = [0, 0, 0, 0, 0, 1, 0, 0];
    const folded = { name: "", K, distortion: { model: "rational_polynomial", coefficients } } as const;
    expect(pixelRay(folded, 40, 0)[0]).toBeCloseTo(0.5, 9);
    expect(pixelRay(folded, 60, 0)[0]).toBeNaN();
    // r - r^3 grows up to 0.385 at 0.577; -1.18 also gives 0.45.
    const barrel = { name: "", K, distortion: { model: "plumb_bob", coefficients: [-1] } } as const;
    expect(pixelRay(barrel, 45, 0)).toEqual([Number.NaN, Number.NaN]);
    expect(pixelRay(barrel, 0, -39)).toEqual([Number.NaN, Number.NaN]);
    const [x, y] = [0.57 * 0.6, -0.57 * 0.8].map((value) => 100 * value * (1 - 0.57 ** 2));
    expect(pixelRay(barrel, x!, y!)[0]).toBeCloseTo(0.342, 9);
    expect(pixelRay(barrel, x!, y!)[1]).toBeCloseTo(-0.456, 9);
    const rig = createRig("radtan", { width: 640, height: 480 });
    const turned = { ...rectify(rig), R1: rotationMatrix([0, Math.PI, 0]), R2: IDENTITY3 };
    expect(capturedPoint(rig.left, turned, "left", 320, 240)).toEqual([Number.NaN, Number.NaN]);
    expect(capturedPoint(rig.right, turned, "right", 320, 240)[0]).toBeGreaterThan(0);
  });
});

// The turns are about the board's first corner.
test.each([
  ["3 px to the right", 0, 3],
  ["40 px to the right", 0, 40],
  ["by a turn of 1 degree", 1, 0],
  ["by a turn of 30 degrees", 30, 0],
  ["by a turn of 60 degrees", 60, 0],
])("of six boards, one that moved between the cameras is left out: %s", async (_, degrees, pixels) => {
  const imageSize = { width: 640, height: 480 };
  const rig = createRig("radtan", imageSize);
  const options = {
    board: { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 },
    lens: "radtan",
    imageSize,
  } as const;
  for (const [seed, noisePixels] of [
    [1, 0.1],
    [2, 0.1],
    [3, 0],
  ] as const) {
    const random = new Random(seed);
    const pairs = createPoses(rig, options.board, 6, random).map(({ R, t }, view) => {
      const turned = {
        R: multiply(R, rotationMatrix([0, 0, view === 2 ? (degrees * Math.PI) / 180 : 0])),
        t,
      };
      const { left } = seenPair("", rig, options.board, { R, t }, random, noisePixels);
      const { right } = seenPair("", rig, options.board, turned, random, noisePixels);
      const points = right.points.map((value, at) => value + (view === 2 && at % 2 === 0 ? pixels : 0));
      return { name: `${view}`, left, right: { ...right, points } };
    });
    const result = await calibratePairs(loadNative(), pairs, options);
    const leftOut = result.pairs.flatMap(({ name, used, cause }) => (used ? [] : [`${name} ${cause}`]));
    expect(leftOut, `seed ${seed}`).toEqual(["2 motion"]);
    const off = rotationVector(multiply(result.calibration.R, transpose(rig.R)));
    expect(Math.hypot(...off), `seed ${seed}, radians`).toBeLessThan(0.005);
  }
});

test("the numbers of a whole result are reproduced", async () => {
  const big: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
  const imageSize = { width: 640, height: 480 };
  const other = { name: "rgb", lens: "fisheye", imageSize: { width: 320, height: 256 } } as const;
  const rig = createRig("radtan", imageSize);
  const third = {
    ...rig,
    right: createRig("fisheye", other.imageSize).right,
    T: [0.02, 0.05, -0.02] as const,
  };
  const random = new Random(8);
  const poses = createPoses(rig, big, 9, random);
  const pairs = poses.map((pose, view) => ({
    ...seenPair(`${view}`, rig, big, pose, random, 0.1),
    others: [view === 2 ? undefined : seenPair("", third, big, pose, random, 0.1).right],
  }));
  // A wrong corner, and a board that moved by 5 mm.
  pairs[1]!.left.points[40]! += 6;
  const { R, t } = poses[4]!;
  const moved = seenPair("", rig, big, { R, t: [t[0] + 0.004, t[1] + 0.003, t[2]] }, random, 0.1);
  pairs[4] = { ...pairs[4]!, right: moved.right };
  const options = { board: big, lens: "radtan", imageSize, others: [other], compareLenses: true } as const;
  const result = await calibratePairs(loadNative(), pairs, { ...options, matchingErrorPixels: 0.3 });
  const { coverage, warnings } = result;
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value;
  const lines = [
    ...result.pairs,
    ...result.others,
    result.deviations,
    ...result.depthErrors,
    result.blurPixels,
    [result.leftRmsPixels, result.rightRmsPixels, result.rmsPixels, result.epipolarRmsPixels],
    [
      result.pairsUsed,
      result.baselineMetres,
      result.matchingErrorPixels,
      coverage.left.share,
      coverage.right.share,
    ],
    [result.calibration.others![0]!.T, warnings.length],
  ].map((part) => JSON.stringify(part, rounded).replaceAll('"', "").replaceAll(/\w+:/g, ""));
  expect(lines).toMatchInlineSnapshot(`
    [
      "{0,true,0,0.1182,0.1266,0.1088}",
      "{1,true,1,0.1514,0.1427,0.1432}",
      "{2,true,0,0.1498,0.149,0.1351}",
      "{3,true,0,0.1315,0.1387,0.1235}",
      "{4,false,0,motion,the board moved between the  each image fits alone, together they are 3.8 px apart}",
      "{5,true,0,0.1376,0.1356,0.1296}",
      "{6,true,0,0.1237,0.1287,0.1261}",
      "{7,true,0,0.1506,0.1448,0.1592}",
      "{8,true,0,0.1424,0.1469,0.1454}",
      "{rgb,7,0,0.1369,{0.2222,0.0004358,0.2373}}",
      "{0.3871,0.3742,0.00004974,0.09375}",
      "{1,0.0006895,0.004635,0.004686}",
      "{3,0.005375,0.04117,0.04152}",
      "{10,0.06478,0.4566,0.4612}",
      "{1,1}",
      "[0.1386,0.1393,0.139,0.1346]",
      "[8,0.12,0.3,0.75,0.7]",
      "[[0.02007,0.05009,-0.0194],1]",
    ]
  `);
});

// These pin the results of the code that adjustment.test.ts finds correct, so that no change of any step is overlooked.
describe("the adjustment alone", () => {
  const small: Board = { ...board, columns: 5, rows: 4 };
  const imageSize = { width: 320, height: 240 };
  const ones = (values: { length: number }) => Array.from(values as ArrayLike<unknown>, () => 1);

  /** Corners of views that cameras next to a left one have, with noise of 0.1 px. */
  function problem(
    lenses: LensModel[],
    views: number,
    changes: Partial<NativeSolveCall> = {},
  ): NativeSolveCall {
    const random = new Random(31);
    const rig = createRig(lenses[0]!, imageSize);
    const rigs = lenses.map((lens, c) => ({
      ...rig,
      right: createRig(lens, imageSize).right,
      R: rotationMatrix([0.01 * c, -0.02, 0.015 * c]),
      T: [-0.08 * c, 0.01 * c, 0.004] as const,
    }));
    const corners = createPoses(rig, small, views, random, 0.8).flatMap((pose, view) =>
      rigs.flatMap((one, camera) => {
        const { left, right } = seenPair("", one, small, pose, random, 0.1);
        const { points } = camera === 0 ? left : right;
        return Array.from({ length: 20 }, (_, id) => ({
          view,
          camera,
          object: boardPoint(small, id),
          pixel: [points[2 * id]!, points[2 * id + 1]!] as const,
        }));
      }),
    );
    return solveCall(
      lenses.map((lens) => [LENS_MODELS.indexOf(lens), imageSize.width, imageSize.height]),
      views,
      corners,
      {
        depthCount: 3,
        // Two points that both cameras see, and one behind them.
        depthPoints: Float64Array.of(0.1, -0.05, 1, -0.4, 0.3, 2, 0, 0, -1),
        ...changes,
      },
    );
  }

  /** Each value counts by its place; NaN is 1000. */
  const sum = (values: ArrayLike<number>) =>
    Array.from(values).reduce((all, x, at) => all + (Number.isNaN(x) ? 1000 + at : x * (1 + (at % 31))), 0);

  test.each<[string, () => NativeSolveCall, string]>([
    [
      "one camera without k3",
      () => problem(["radtan"], 4, { withoutK3: true }),
      "1765.936196 155.9765927 -12.32555067 967.2184974 6015 0.1220953704 81 9 8",
    ],
    [
      "two fisheyes, robust",
      () => problem(["fisheye", "fisheye"], 5, { robust: true }),
      "1363.011525 1374.513403 15.13052387 -0.04888934261 182.475927 18.24118635 34.51472937 2009.57542 0.1336080052 484 22 32",
    ],
    [
      "two rational lenses",
      () => problem(["rational", "rational"], 5),
      "2000.019308 4080.005204 15.11866993 -0.04706234014 219.5859851 -1.565547432 - 2009.386355 0.1289970453 900 30 49",
    ],
    [
      "wrong and unused corners",
      () => {
        const call = problem(["radtan", "radtan"], 5, { robust: true });
        call.pixels[20]! += 6;
        call.pixels[61]! -= 4;
        call.used[30] = 0;
        return call;
      },
      "1775.239092 1774.243637 15.10909677 -0.05359734312 222.1105146 -58.03898586 10009.65948 2009.730994 0.4552668565 576 24 42",
    ],
    [
      "three cameras, of which two miss a view",
      () => {
        const call = problem(["radtan", "fisheye", "radtan"], 5);
        const { viewIndex: view, cameraIndex: camera } = call;
        call.used.forEach((_, i) => {
          if ((view[i] === 2 && camera[i] === 0) || (view[i] === 4 && camera[i] === 1)) call.used[i] = 0;
        });
        return call;
      },
      "1773.062576 1314.82013 1772.540007 15.12905345 -0.04109103559 15.15784395 -0.1125951001 222.2832658 9.426478016 -31757.20064 2009.714486 0.1381496461 1444 38 11",
    ],
  ])("results stay the same to nine digits: %s", async (name, call, expected) => {
    const s = await loadNative().solveCalibration(call());
    const rigs = s.rigs.flatMap(({ rotation, translation }) => [sum(rotation), sum(translation)]);
    const sizes = [s.covariance.length, s.parameters, s.iterations];
    const figures = [
      ...s.lenses.map(sum),
      ...rigs,
      ...[s.poses, s.residuals, s.covariance, s.depthDeviations].map(sum),
      s.rmsPixels,
      ...sizes,
    ];
    expect(figures.length).toBe(expected.split(" ").length);
    for (const [at, text] of expected.split(" ").entries()) {
      // Rational coefficients compensate each other: they have fewer digits, and their covariance has none.
      const tolerance = name.includes("rational") ? 1e-6 : 1e-8;
      const off = Math.abs(figures[at]! / Number(text) - 1);
      if (text !== "-") expect(off, `figure ${at}: ${figures[at]}`).toBeLessThan(tolerance);
    }
  });

  test("corners that determine no deviation give none, and corners that fit no camera are refused", async () => {
    const call = problem(["radtan"], 2);
    call.used.fill(0);
    for (const id of [0, 4, 7, 15, 19]) call.used[id] = call.used[20 + id] = 1;
    const { covariance, depthDeviations } = await loadNative().solveCalibration(call);
    expect(covariance.length).toBe(0);
    expect([...depthDeviations]).toEqual(ones(depthDeviations).map(() => Number.NaN));
    call.used.fill(0);
    await expect(loadNative().solveCalibration(call)).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  });
});
