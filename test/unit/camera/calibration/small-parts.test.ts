// SPDX-License-Identifier: Apache-2.0
// Parts of a calibration by hand: its hash, a rectification that is given, single points, registration, texts.
import { describe, expect, test } from "vitest";
import {
  baselineMetres,
  type OtherCamera,
  rectify,
  rectifyPoint,
  registrationView,
  type StereoCalibration,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
  withHash,
} from "../../../../camera/calibration/index.js";
import { IDENTITY3, rotationMatrix } from "../../../../camera/calibration/matrix.js";
import { composeMotions, invertMotion } from "../../../../camera/calibration/motion.js";
import { parseCalibrationText } from "../../../../camera/calibration/parse.js";

const near = (values: Iterable<number>, digits = 12) =>
  [...values].map((value) => expect.closeTo(value, digits));
const K = [400, 0, 320, 0, 410, 240, 0, 0, 1] as const;
const none = { model: "none", coefficients: [] } as const;
const level: StereoCalibration = withHash({
  imageSize: { width: 640, height: 480 },
  left: { name: "left", K, distortion: none },
  right: { name: "right", K, distortion: none },
  R: IDENTITY3,
  T: [-0.1, 0, 0],
  files: [],
});
/** A quarter turn about x: (x, y, z) becomes (x, -z, y). */
const QUARTER = [1, 0, 0, 0, 0, -1, 0, 1, 0] as const;
const third: OtherCamera = {
  name: "rgb",
  imageSize: { width: 64, height: 48 },
  K,
  distortion: none,
  R: IDENTITY3,
  T: [0.1, 0, 0],
};

describe("the hash", () => {
  const same = (changes: Partial<StereoCalibration>) =>
    withHash({ ...level, ...changes }).hash === level.hash;
  const P = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

  test("is of the geometry alone, in which -0 is 0", () => {
    expect(level.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(same({ files: ["a.yaml"], left: { ...level.left, name: "other" }, corrections: [] })).toBe(true);
    expect(same({ T: [-0.1, -0, 0], R: [1, -0, 0, 0, 1, 0, 0, 0, 1] })).toBe(true);
    expect(same({ others: [] })).toBe(true);
  });

  test.each<[string, Partial<StereoCalibration>]>([
    ["the width", { imageSize: { width: 641, height: 480 } }],
    ["the height", { imageSize: { width: 640, height: 481 } }],
    ["the left camera", { left: { ...level.left, K: [401, 0, 320, 0, 410, 240, 0, 0, 1] } }],
    ["the right lens", { right: { ...level.right, distortion: { model: "plumb_bob", coefficients: [] } } }],
    ["a coefficient", { right: { ...level.right, distortion: { model: "none", coefficients: [1e-9] } } }],
    ["the rotation", { R: QUARTER }],
    ["the translation", { T: [-0.1, 1e-12, 0] }],
    ["a rectification", { given: { R1: IDENTITY3, R2: IDENTITY3, P1: P, P2: P } }],
    ["another camera", { others: [third] }],
  ])("answers to %s", (_, changes) => expect(same(changes)).toBe(false));

  test("of other cameras: every number, and their order", () => {
    const hash = (...others: OtherCamera[]) => withHash({ ...level, others }).hash;
    const changed: OtherCamera[] = [
      { ...third, imageSize: { width: 65, height: 48 } },
      { ...third, imageSize: { width: 64, height: 49 } },
      { ...third, K: [401, 0, 320, 0, 410, 240, 0, 0, 1] },
      { ...third, R: QUARTER },
      { ...third, T: [0.1, 0, 0.2] },
    ];
    expect(new Set([third, ...changed].map((one) => hash(one))).size).toBe(6);
    expect(hash(third)).toBe(hash({ ...third, name: "thermal" }));
    expect(hash(third, changed[0]!)).not.toBe(hash(changed[0]!, third));
  });
});

test("motions by hand, and the length of a baseline", () => {
  const turn = { R: QUARTER, T: [1, 2, 3] as const };
  // x = R^T (y - T), and R^T (1, 2, 3) is (1, 3, -2).
  expect(invertMotion(turn)).toEqual({ R: near([1, 0, 0, 0, 0, 1, 0, -1, 0]), T: near([-1, -3, 2]) });
  expect(composeMotions(turn, { R: IDENTITY3, T: [10, 20, 30] })).toEqual({
    R: near(QUARTER),
    T: near([11, -28, 23]),
  });
  expect(composeMotions(turn, invertMotion(turn))).toEqual({ R: near(IDENTITY3), T: near([0, 0, 0]) });
  expect(baselineMetres({ T: [-2, 3, 6] })).toBe(7);
});

describe("a rectification that the file gives", () => {
  const P1 = [400, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0];
  const P2 = [400, 0, 330, -40, 0, 500, 240, 0, 0, 0, 1, 0];
  const given = withHash({ ...level, files: ["rig.yaml"], given: { R1: QUARTER, R2: IDENTITY3, P1, P2 } });

  test("is taken as it is, with the matrix that makes points of disparities", () => {
    const found = rectify(given, { crop: "given" });
    expect(found).toMatchObject({
      width: 640,
      height: 480,
      R1: QUARTER,
      R2: IDENTITY3,
      P1,
      P2,
      focalPixels: 400,
      cx: 320,
      cy: 240,
      baselineMetres: expect.closeTo(0.1, 12),
      disparityOffsetPixels: 10,
      // y has rows of 4/5 the height; 1 / B is 10, and 10 px of offset are 100.
      qMatrix: near([1, 0, 0, -320, 0, 0.8, 0, -192, 0, 0, 0, 400, 0, 0, 10, 100]),
    });
    // A disparity of 30 px and the offset are 40 px: 400 x 0.1 / 40 = 1 m.
    const q = found.qMatrix;
    const [z, w] = [2, 3].map((row) => q[4 * row + 2]! * 30 + q[4 * row + 3]!);
    expect(z! / w!).toBeCloseTo(1, 12);
  });

  test("is refused where there is none, and for another size", () => {
    const message = (run: () => unknown) => {
      try {
        return run();
      } catch (error) {
        return [(error as { code: string }).code, (error as Error).message];
      }
    };
    const expected = 'expected a rectification (R1, R2, P1, P2) because crop is "given", found none.';
    expect(message(() => rectify(level, { crop: "given" }))).toEqual([
      ...["CALIBRATION_INVALID", `the calibration: ${expected}`],
    ]);
    expect(message(() => rectify(withHash({ ...level, files: ["a", "b"] }), { crop: "given" }))).toEqual([
      ...["CALIBRATION_INVALID", `a: ${expected}`],
    ]);
    for (const [width, height] of [
      [641, 480],
      [640, 479],
    ] as const)
      expect(message(() => rectify(given, { crop: "given", outputSize: { width, height } }))).toEqual([
        "CALIBRATION_SIZE_MISMATCH",
        `rig.yaml: expected an output of 640x480 because crop is "given", found ${width}x${height}.`,
      ]);
  });

  test("a crop is a number from 0 to 1", () => {
    for (const crop of [0, 1]) expect(rectify(level, { crop }).width).toBe(640);
    for (const crop of [-0.01, 1.01, Number.NaN])
      expect(message(crop)).toBe(`calibration.crop: expected a number from 0 to 1, found ${crop}.`);
    function message(crop: number) {
      try {
        rectify(level, { crop });
      } catch (error) {
        return (error as Error).message;
      }
      return "accepted";
    }
  });
});

test("single points: into the rectified image, and none behind it or at 90 degrees", () => {
  const P = [200, 0, 60, 0, 0, 300, 70, 0, 0, 0, 1, 0];
  // (360, 281) is the ray (0.1, 0.1).
  expect(rectifyPoint({ K, distortion: none }, IDENTITY3, P, 360, 281)).toEqual({
    x: expect.closeTo(80, 9),
    y: expect.closeTo(100, 9),
  });
  // (0.1, 0.1, 1) becomes (0.1, -1, 0.1).
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 281)).toEqual({
    x: expect.closeTo(260, 9),
    y: expect.closeTo(-2930, 9),
  });
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 199)).toBeUndefined();
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 240)).toBeUndefined();
  const fisheye = { model: "equidistant", coefficients: [0, 0, 0, 0] } as const;
  const across = (px: number) => rectifyPoint({ K, distortion: fisheye }, IDENTITY3, P, px, 240);
  expect(across(320 + 400 * 1.5)!.x).toBeCloseTo(60 + 200 * Math.tan(1.5), 6);
  expect(across(320 + 400 * 1.57)).toBeUndefined();
});

describe("registration", () => {
  const rectification = rectify(level);
  const { focalPixels, cx, cy } = rectification;
  const own = [focalPixels, 0, cx, 0, focalPixels, cy, 0, 0, 1] as const;
  const view = (camera: Partial<OtherCamera>, files: readonly string[] = []) =>
    registrationView(
      withHash({ ...level, files, others: [{ ...third, imageSize: level.imageSize, ...camera }] }),
      rectification,
      "rgb",
    );

  test("a camera like the rectified left one, moved by half the baseline and ahead", () => {
    // disparity / (f B) is 1 / Z: x moves by f tx / Z, and w by tz / Z.
    const { matrix, ...rest } = view({ K: own, T: [-0.05, 0, 0] });
    expect(rest).toEqual({ camera: "rgb", width: 640, height: 480 });
    expect([...matrix]).toEqual(near([1, 0, 0, -0.5, 0, 1, 0, 0, 0, 0, 1, 0]));
    const ahead = view({ K: own, T: [0, 0.02, -0.04] }).matrix;
    const f = focalPixels * 0.1;
    expect([...ahead]).toEqual(
      near(
        [1, 0, 0, (cx * -0.04) / f, 0, 1, 0, (focalPixels * 0.02 + cy * -0.04) / f, 0, 0, 1, -0.04 / f],
        9,
      ),
    );
  });

  test("a disparity offset is a part of the distance", () => {
    const apart = withHash({ ...level, right: { ...level.right, K: [400, 0, 330, 0, 410, 240, 0, 0, 1] } });
    const rectified = rectify(apart, { commonPrincipalPoint: false });
    expect(Math.abs(rectified.disparityOffsetPixels)).toBeGreaterThan(5);
    const left = [
      ...rectified.P1.slice(0, 3),
      ...rectified.P1.slice(4, 7),
      0,
      0,
      1,
    ] as unknown as OtherCamera["K"];
    const others = [{ ...third, K: left, imageSize: level.imageSize, T: [-0.05, 0, 0] as const }];
    const { matrix } = registrationView(withHash({ ...apart, others }), rectified, "rgb");
    expect([...matrix]).toEqual(
      near([1, 0, -0.5 * rectified.disparityOffsetPixels, -0.5, 0, 1, 0, 0, 0, 0, 1, 0], 9),
    );
  });

  test("an unknown camera, and one that sees nothing of the pair's view", () => {
    const named =
      (files: readonly string[], ...names: string[]) =>
      () =>
        registrationView(
          withHash({ ...level, files, others: names.map((name) => ({ ...third, name })) }),
          rectification,
          "ir",
        );
    expect(named(["rig.yaml"], "rgb", "nir")).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: 'registration.camera: expected a camera of rig.yaml (right, rgb, nir), got "ir"',
      }),
    );
    expect(named([])).toThrow('expected a camera of the calibration (right), got "ir"');
    const away = { R: rotationMatrix([0, Math.PI, 0]) };
    const refused = "expected a camera that sees a part of the left image between 0.2 m and 60 m, found none";
    expect(() => view(away)).toThrow(`the calibration: rgb: ${refused}`);
    expect(() => view(away, ["rig.yaml"])).toThrow(`rig.yaml: rgb: ${refused}`);
  });
});

describe("texts for other programs", () => {
  const radtan = { model: "plumb_bob", coefficients: [0.1, 0.2, 0.3, 0.4, 0] } as const;
  const mixed = withHash({ ...level, left: { ...level.left, distortion: radtan } });

  test("Kalibr's camchain", () => {
    const camera = (name: string, word: string, values: string) =>
      [
        `${name}:`,
        "  camera_model: pinhole",
        "  intrinsics: [400, 410, 320, 240]",
        `  distortion_model: ${word}`,
        `  distortion_coeffs: [${values}]`,
        "  resolution: [640, 480]",
        `  rostopic: /${name}/image_raw`,
        "",
      ].join("\n");
    const step = `  T_cn_cnm1:
  - [1, 0, 0, -0.1]
  - [0, 1, 0, 0]
  - [0, 0, 1, 0]
  - [0.0, 0.0, 0.0, 1.0]
`;
    expect(stringifyKalibr(mixed)).toBe(
      camera("cam0", "radtan", "0.1, 0.2, 0.3, 0.4") + camera("cam1", "radtan", "0, 0, 0, 0") + step,
    );
    const equidistant = { model: "equidistant", coefficients: [1, 2, 3, 4] } as const;
    const wide = withHash({ ...level, right: { ...level.right, distortion: equidistant } });
    expect(stringifyKalibr(wide)).toContain(camera("cam1", "equidistant", "1, 2, 3, 4"));
  });

  test("OpenCV's FileStorage: every matrix in its shape, lenses of none as zeros", () => {
    const { root } = parseCalibrationText("stereo.yml", stringifyOpenCv(mixed));
    const { R1, R2, P1, P2, qMatrix } = rectify(mixed);
    const matrix = (rows: number, cols: number, data: readonly number[]) => ({
      rows,
      cols,
      dt: "d",
      data: near(data),
    });
    expect(root).toEqual({
      image_width: 640,
      image_height: 480,
      M1: matrix(3, 3, K),
      D1: matrix(1, 5, radtan.coefficients),
      M2: matrix(3, 3, K),
      D2: matrix(1, 4, [0, 0, 0, 0]),
      R: matrix(3, 3, IDENTITY3),
      T: matrix(3, 1, level.T),
      R1: matrix(3, 3, R1),
      R2: matrix(3, 3, R2),
      P1: matrix(3, 4, P1),
      P2: matrix(3, 4, P2),
      Q: matrix(4, 4, qMatrix),
    });
  });

  test("ROS camera_info of both cameras", () => {
    const { R1, R2, P1, P2 } = rectify(mixed);
    const { left, right } = stringifyRos(mixed);
    const matrix = (rows: number, cols: number, data: readonly number[]) => ({
      rows,
      cols,
      data: near(data),
    });
    const info = (name: string, D: readonly number[], R: readonly number[], P: readonly number[]) => ({
      image_width: 640,
      image_height: 480,
      camera_name: name,
      distortion_model: "plumb_bob",
      camera_matrix: matrix(3, 3, K),
      distortion_coefficients: matrix(1, 5, D),
      rectification_matrix: matrix(3, 3, R),
      projection_matrix: matrix(3, 4, P),
    });
    expect(parseCalibrationText("left.yaml", left).root).toEqual(info("left", radtan.coefficients, R1, P1));
    expect(parseCalibrationText("right.yaml", right).root).toEqual(info("right", [0, 0, 0, 0, 0], R2, P2));
  });
});
