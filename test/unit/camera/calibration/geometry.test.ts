// SPDX-License-Identifier: Apache-2.0
// Lens models by their published equations, their inverses, rotations; numbers of rectification and registration.
import { describe, expect, test } from "vitest";
import type { Distortion } from "../../../../camera/calibration/calibration.js";
import {
  distortFunction,
  growsUntil,
  growsUpTo,
  isBeyondFlat,
  undistort,
  undistortExactly,
} from "../../../../camera/calibration/distortion.js";
import {
  IDENTITY3,
  inverse,
  multiply,
  rotationMatrix,
  rotationVector,
  type Vector3,
} from "../../../../camera/calibration/matrix.js";
import {
  buildMap,
  parseStereoCalibration,
  rectify,
  registrationView,
  stringifyCalibration,
  withHash,
} from "../../../../camera/index.js";
import { createRig } from "../../../doubles/calibration-rig.js";

const BROWN: Distortion = {
  model: "thin_prism",
  coefficients: [-0.21, 0.09, 0.003, -0.002, 0.04, 0.07, -0.03, 0.02, 0.004, -0.006, 0.005, 0.003],
};
const FISHEYE: Distortion = { model: "equidistant", coefficients: [-0.05, 0.02, -0.007, 0.001] };
const POINTS = [
  [0.3, -0.2],
  [-0.5, 0.4],
  [0.05, 0.6],
] as const;

function distorted(distortion: Distortion, x: number, y: number): [number, number] {
  const out = new Float64Array(2);
  distortFunction(distortion)(x, y, out);
  return [out[0]!, out[1]!];
}

describe("lens models", () => {
  test.each(POINTS)("the equation of OpenCV's documentation at (%f, %f)", (x, y) => {
    const [k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4] = BROWN.coefficients as number[] & { length: 12 };
    const [r2, r4, r6] = [2, 4, 6].map((power) => Math.hypot(x, y) ** power) as [number, number, number];
    const radial = (1 + k1! * r2 + k2! * r4 + k3! * r6) / (1 + k4! * r2 + k5! * r4 + k6! * r6);
    const [u, v] = distorted(BROWN, x, y);
    expect(u).toBeCloseTo(x * radial + 2 * p1! * x * y + p2! * (r2 + 2 * x * x) + s1! * r2 + s2! * r4, 12);
    expect(v).toBeCloseTo(y * radial + p1! * (r2 + 2 * y * y) + 2 * p2! * x * y + s3! * r2 + s4! * r4, 12);
  });

  test.each(POINTS)("the equation of Kannala and Brandt at (%f, %f)", (x, y) => {
    const [k1, k2, k3, k4] = FISHEYE.coefficients;
    const theta = Math.atan(Math.hypot(x, y));
    const bent = theta + k1! * theta ** 3 + k2! * theta ** 5 + k3! * theta ** 7 + k4! * theta ** 9;
    const [u, v] = distorted(FISHEYE, x, y);
    expect(Math.hypot(u, v)).toBeCloseTo(bent, 12);
    expect(Math.atan2(v, u)).toBeCloseTo(Math.atan2(y, x), 12);
    const [back, down] = undistort(FISHEYE, u, v);
    expect([back - x, down - y]).toEqual([expect.closeTo(0, 7), expect.closeTo(0, 7)]);
  });

  test("the axis of a lens, no lens, and five rounds of the inverse", () => {
    for (const lens of [BROWN, FISHEYE]) expect(distorted(lens, 0, 0)).toEqual([0, 0]);
    expect(undistort(FISHEYE, 1e-9, 2e-9)).toEqual([1e-9, 2e-9]);
    expect(undistort({ model: "none", coefficients: [] }, 0.3, 0.4)).toEqual([0.3, 0.4]);
    const five = POINTS.flatMap(([x, y]) => undistort(BROWN, x, y)).map((value) => value.toFixed(6));
    expect(five.join(" ")).toBe("0.312090 -0.209412 -0.554732 0.438952 0.055283 0.655555");
    // Where the radial term turns the point around, it is left where it is.
    expect(undistort({ model: "plumb_bob", coefficients: [-4, 0, 0, 0] }, 0.6, 0)).toEqual([0.6, 0]);
  });

  test("the exact inverse is within a millionth of a pixel", () => {
    const K = [500, 0, 320, 0, 510, 240, 0, 0, 1];
    for (const distortion of [BROWN, FISHEYE])
      for (const [x, y] of POINTS) {
        const [u, v] = distorted(distortion, x, y);
        const [back, down] = undistortExactly({ K, distortion }, 500 * u + 320, 510 * v + 240);
        expect(Math.hypot(back - x, down - y)).toBeLessThan(1e-8);
      }
  });

  test("the angle up to which a fisheye lens grows bounds its flat image", () => {
    // theta + k1 theta^3 grows up to the root of -1 / (3 k1); a step is a third of a degree.
    const lens = (k1: number): Distortion => ({ model: "equidistant", coefficients: [k1, 0, 0, 0] });
    const step = Math.PI / 540;
    expect(growsUntil(lens(-0.2))).toBeLessThanOrEqual(Math.sqrt(1 / 0.6));
    expect(growsUntil(lens(-0.2))).toBeGreaterThan(Math.sqrt(1 / 0.6) - step);
    expect(growsUntil(lens(0))).toBe(Math.PI / 2);
    expect(isBeyondFlat(lens(0), 0, 0.998 * (Math.PI / 2))).toBe(false);
    expect(isBeyondFlat(lens(0), 0.9995 * (Math.PI / 2), 0)).toBe(true);
    expect(isBeyondFlat(lens(0.1), 1.9, 0)).toBe(false);
    expect(isBeyondFlat(lens(0.1), 1.96, 0)).toBe(true);
    expect(isBeyondFlat(BROWN, 9, 9)).toBe(false);
  });

  test("an angle that no lens has is refused with the angle", () => {
    const lens: Distortion = { model: "equidistant", coefficients: [-0.5, 0, 0, 0] };
    expect(undistort(lens, 0.5, 0)[0]).toBeCloseTo(Math.tan(0.6180339887), 6);
    expect(() => undistort(lens, 0.6, 0.3)).toThrow(/no inverse at 0\.671 rad .*\[-0\.5, 0, 0, 0\]/);
  });
});

describe("inverses of lenses and their limits", () => {
  test.each<readonly [name: string, coefficients: readonly number[]]>([
    ["pincushion", [0.1, 0, 0, 0]],
    ["barrel", [-0.1, 0.01, 0, 0]],
    ["tangential", [0, 0, 0.002, -0.003]],
    ["rational", [0.05, 0, 0, 0, 0, 0.1, 0.01, 0.002]],
    ["thin prism", [0, 0, 0, 0, 0, 0, 0, 0, 0.004, -0.002, 0.003, 0.001]],
  ])("five rounds of the inverse are near a weak lens: %s", (_, coefficients) => {
    const distortion: Distortion = { model: "thin_prism", coefficients };
    for (const [x, y] of POINTS) {
      const [back, down] = undistort(distortion, ...distorted(distortion, x, y));
      expect(Math.hypot(back - x, down - y)).toBeLessThan(1e-4);
    }
  });

  test("an angle of 90 degrees or more has no inverse; a place beyond it counts as one of 90 degrees", () => {
    const lens = (k1: number): Distortion => ({ model: "equidistant", coefficients: [k1, 0, 0, 0] });
    // theta - 0.1 theta^3 is 1.183 at 90 degrees and still grows there.
    const bent = 1.55 - 0.1 * 1.55 ** 3;
    expect(undistort(lens(-0.1), 0, -bent)[1]).toBeCloseTo(-Math.tan(1.55), 6);
    expect(() => undistort(lens(-0.1), 0, 1.19)).toThrow("no inverse at 1.190 rad off the axis");
    expect(() => undistort(lens(0), 1.02, 1.36)).toThrow("no inverse at 1.571 rad off the axis");
    // 1.25 + k1 x 1.25^3 is 90 degrees.
    const k1 = (Math.PI / 2 - 1.25) / 1.25 ** 3;
    const [x, y] = undistort(lens(k1), 1.02, 1.36);
    expect(Math.atan2(y, x)).toBeCloseTo(Math.atan2(1.36, 1.02), 9);
    expect(Math.hypot(x, y)).toBeCloseTo((1.7 / (Math.PI / 2)) * Math.tan(1.25), 6);
  });

  test.each([
    [0, -0.2, 1 / 0.6, 2],
    [1, -0.1, 1 / 0.5, 4],
    [2, -0.05, 1 / 0.35, 6],
    [3, -0.03, 1 / 0.27, 8],
  ])("a fisheye lens of k%i = %f alone grows up to the root of %f, power %i", (at, value, power, root) => {
    const lens: Distortion = { model: "equidistant", coefficients: [0, 0, 0, 0].with(at, value) };
    const theta = power ** (1 / root);
    const step = Math.PI / 540;
    expect(growsUntil(lens)).toBeLessThanOrEqual(theta);
    expect(growsUntil(lens)).toBeGreaterThan(theta - step);
    const last = growsUntil(lens);
    const edge = 0.999 * (last + value * last ** root * last);
    expect(isBeyondFlat(lens, 0.6 * (edge - 1e-9), 0.8 * (edge - 1e-9))).toBe(false);
    expect(isBeyondFlat(lens, -0.6 * (edge + 1e-9), 0.8 * (edge + 1e-9))).toBe(true);
  });

  test.each([
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
    [0.6, -0.8],
  ])("r - r^3 grows up to 0.577 in the direction of (%f, %f), and no further", (x, y) => {
    const fold = Math.sqrt(1 / 3);
    const barrel = distortFunction({ model: "plumb_bob", coefficients: [-1, 0, 0, 0] });
    const grows = (r: number) => growsUpTo(barrel, r * x, r * y);
    expect([fold - 0.001, fold + 0.001, 1.2, 3].map(grows)).toEqual([true, false, false, false]);
    // The slope 1 - 6 r^2 + 8 r^4 is below 0 between 0.5 and 0.707: the lens folds and unfolds again.
    const wavy = distortFunction({ model: "plumb_bob", coefficients: [-2, 1.6, 0, 0] });
    expect([0.49, 0.51, 0.9].map((r) => growsUpTo(wavy, r * x, r * y))).toEqual([true, false, false]);
  });
});

describe("rotations", () => {
  test.each<Vector3>([
    [0, 0, 0],
    [1e-12, -2e-12, 0],
    [0.4, -0.7, 0.2],
    [3.1, 0, 0],
    [Math.PI, 0, 0],
    [0, Math.PI, 0],
    [0, 0, Math.PI],
    [Math.PI * 0.6, 0, Math.PI * 0.8],
  ])("the vector (%f, %f, %f) and its matrix", (...vector) => {
    const matrix = rotationMatrix(vector);
    const back = rotationVector(matrix);
    const sign = Math.hypot(...back.map((value, axis) => value + vector[axis]!)) < 1e-6 ? -1 : 1;
    for (const axis of [0, 1, 2]) expect(sign * back[axis]!).toBeCloseTo(vector[axis]!, 9);
    const identity = multiply(matrix, inverse(matrix));
    for (const [at, value] of identity.entries()) expect(value).toBeCloseTo(IDENTITY3[at]!, 12);
  });
});

const sums = (values: Iterable<number>) =>
  [...values].reduce((sum, value, at) => sum + value * (1 + (at % 11)), 0).toPrecision(9);
const imageSize = { width: 640, height: 480 };

test.each([
  ["radtan", {}, "35.3445953 6287.72512 6037.89248 -2628.41131 0 0 640 480 0 0 640 480 5625.93152"],
  [
    "radtan",
    { crop: 0.4, outputSize: { width: 320, height: 200 } },
    "35.3445953 2756.51727 2648.94973 -1171.29086 7 0 295 200 22 0 294 200 2528.10619",
  ],
  [
    "radtan",
    { crop: 1, commonPrincipalPoint: false },
    "35.3445953 5600.23036 5289.96570 -4355.91182 51 47 546 389 42 50 544 384 5121.75600",
  ],
  [
    "rational",
    { outputSize: { width: 800, height: 600 }, commonPrincipalPoint: false },
    "35.3445953 7328.81302 6864.69815 -6222.90045 0 0 800 600 0 0 800 600 6436.83101",
  ],
  ["fisheye", {}, "35.3445953 3959.35931 3869.07463 -2958.06055 0 6 640 474 0 0 640 473 4625.50473"],
  [
    "fisheye",
    { crop: 0.3, outputSize: { width: 400, height: 320 }, commonPrincipalPoint: false },
    "35.3445953 2550.09961 2398.24973 -3360.24888 0 23 400 283 0 18 400 279 2797.39136",
  ],
] as const)("the numbers of rectification are reproduced: %s, %j", (lens, options, expected) => {
  const { R1, R2, P1, P2, qMatrix, validLeft, validRight, ...rest } = rectify(
    createRig(lens, imageSize, [0.02, -0.03, 0.04]),
    options,
  );
  const rectangles = [validLeft, validRight].flatMap(({ x, y, width, height }) => [x, y, width, height]);
  const figures = [sums([...R1, ...R2]), sums(P1), sums(P2), sums(qMatrix), ...rectangles];
  expect([...figures, sums(Object.values(rest))].join(" ")).toBe(expected);
});

test.each([
  ["right", BROWN, 1, "640 480 14.0000000     0 0.00000000"],
  ["third", { model: "plumb_bob", coefficients: [0, 0, 0, 0, 0] }, 1, "330 250 -384.703440     0 0.00000000"],
  [
    "third",
    { model: "plumb_bob", coefficients: [0.11, -0.21, 0.0004, -0.0009, 0.07] },
    1,
    "330 250 -384.703440 -256 -256 45 35 0 89503996.0",
  ],
  [
    "third",
    { model: "equidistant", coefficients: [0, 0, 0, 0] },
    1,
    "330 250 -384.703440 -1536 -1024 54 41 0 123652899",
  ],
  [
    "third",
    { model: "equidistant", coefficients: [-0.02, 0.006, -0.002, 0.0003] },
    0.35,
    "330 250 697.677095 -14080 -15872 153 154 0 1.28123998e+9",
  ],
  // Folds back where the corners are.
  [
    "third",
    { model: "plumb_bob", coefficients: [-0.3, 0, 0, 0] },
    0.8,
    "330 250 -51.6632758 -3072 -2048 65 48 405 149543446",
  ],
] as const)(
  "the numbers of registration are reproduced: %s, %j, %f focal lengths",
  (name, distortion, focal, expected) => {
    const f = 300 * focal;
    const third = {
      name: "third",
      K: [f, 0, 165, 0, 1.01 * f, 118, 0, 0, 1] as const,
      distortion,
      imageSize: { width: 330, height: 250 },
      R: rotationMatrix([0.02, -0.05, 0.03]),
      T: [-0.03, 0.02, 0.01] as const,
    };
    const rig = withHash({ ...createRig("radtan", imageSize), others: [third] });
    const view = registrationView(rig, rectify(rig, { commonPrincipalPoint: false }), name);
    const { grid = [], gridX, gridY, gridWidth, gridHeight, width, height } = view;
    const folded = grid.filter((value) => value === -0x8000_0000).length;
    const nodes = sums(grid.map((value) => (value === -0x8000_0000 ? 0 : value)));
    const figures = [width, height, sums(view.matrix), gridX, gridY, gridWidth, gridHeight, folded, nodes];
    expect(figures.join(" ")).toBe(expected);
  },
);

test("the grid of a lens that folds back before every edge of its image reaches to the fold", () => {
  const third = {
    name: "third",
    K: [300, 0, 320, 0, 300, 240, 0, 0, 1] as const,
    distortion: { model: "plumb_bob", coefficients: [-1, 0, 0, 0] } as const,
    imageSize,
    R: rotationMatrix([0, 0, 0]),
    T: [-0.03, 0.02, 0.01] as const,
  };
  const rig = withHash({ ...createRig("radtan", imageSize), others: [third] });
  const { grid, gridX, gridY, gridWidth, gridHeight } = registrationView(rig, rectify(rig), "third");
  // The fold is at 0.577 focal lengths: 173 px from the centre.
  expect(gridX! / 32).toBeLessThanOrEqual(320 - 173);
  expect(gridX! / 32 + 8 * gridWidth!).toBeGreaterThanOrEqual(320 + 173);
  expect(gridY! / 32).toBeLessThanOrEqual(240 - 173);
  expect(gridY! / 32 + 8 * gridHeight!).toBeGreaterThanOrEqual(240 + 173);
  const nodes = Array.from({ length: grid!.length / 2 }, (_, node) => grid![2 * node]!);
  const within = Math.PI * (173 / 8) ** 2;
  expect(nodes.filter((x) => x !== -0x8000_0000).length / within).toBeCloseTo(1, 1);
});

test.each([
  [0, 57],
  [0, -57],
  [1, 71],
  [1, -73],
])(
  "a camera turned about axis %i by %i degrees is the last one that sees a part of the left image",
  (axis, last) => {
    const rig = createRig("radtan", imageSize);
    const K = [400, 0, 310, 0, 410, 225, 0, 0, 1] as const;
    const other = { name: "third", K, distortion: BROWN, imageSize: { width: 600, height: 460 } };
    const view = (degrees: number) => () => {
      const turn = [0, 0, 0].map((_, at) => (at === axis ? (degrees * Math.PI) / 180 : 0));
      const R = rotationMatrix(turn as unknown as Vector3);
      const calibration = withHash({ ...rig, others: [{ ...other, R, T: [0, 0, 0] }] });
      return registrationView(calibration, rectify(rig), "third");
    };
    expect(view(last)()).toMatchObject({ camera: "third" });
    expect(view(last + Math.sign(last))).toThrow(/sees a part of the left image/);
  },
);

test.each([
  ["radtan", "330185068 315805857 79906016.0"],
  ["rational", "329482008 317077586 27389841.0"],
  ["fisheye", "329084694 323246797 66631872.0"],
] as const)("the numbers of a map are reproduced: %s", (lens, expected) => {
  const rig = createRig(lens, imageSize, [0.02, -0.03, 0.04]);
  const size = { width: 64, height: 48 };
  const { R1, P1, R2, P2 } = rectify(rig, { outputSize: size, crop: 0.5 });
  const backwards = rotationMatrix([0, 2, 0]);
  const maps = [
    buildMap(rig.left, R1, P1, imageSize, size),
    buildMap(rig.right, R2, P2, imageSize, size),
    buildMap(rig.right, backwards, P2, imageSize, size),
  ];
  expect(maps.map((map) => sums(map)).join(" ")).toBe(expected);
});

test("other cameras of up to 16384 pixels a side, and given focal lengths above 0", () => {
  const rig = createRig("radtan", imageSize);
  const refusal = (changes: object) => {
    const calibration = withHash({ ...rig, ...changes } as typeof rig);
    try {
      parseStereoCalibration(stringifyCalibration(calibration), "rig.json");
    } catch (error) {
      return (error as Error).message.replace(/^.*expected/, "expected");
    }
    return undefined;
  };
  const other = (width: number, height: number) => ({
    others: [{ ...rig.left, name: "third", imageSize: { width, height }, R: IDENTITY3, T: [0.1, 0, 0] }],
  });
  const sizes = [other(16_384, 16_384), other(16_385, 480), other(640, 16_385)];
  expect(sizes.map(refusal)).toEqual([
    undefined,
    expect.stringMatching(/at most 16384 pixels a side, found 16385 x 480/),
    expect.stringMatching(/found 640 x 16385/),
  ]);
  const { R1, R2, P1, P2 } = rectify(rig);
  const given = (at: number, value: number, both = true) => ({
    given: { R1, R2, P1: P1.with(at, value), P2: both ? P2.with(at, value) : P2 },
  });
  expect([given(0, P1[0]!), given(0, 0), given(5, 0), given(6, P1[6]! + 1, false)].map(refusal)).toEqual([
    undefined,
    expect.stringMatching(/focal lengths above 0, found 0 and/),
    expect.stringMatching(/focal lengths above 0, found [\d.]+ and 0/),
    expect.stringMatching(/as in the left P/),
  ]);
});
