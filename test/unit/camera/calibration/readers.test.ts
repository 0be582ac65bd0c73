// SPDX-License-Identifier: Apache-2.0
// Whole calibrations out of small files of each format, in which every number differs, and what each reader refuses.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  describe as describeValue,
  readNumber,
  readNumbers,
  readSize,
} from "../../../../camera/calibration/draft.js";
import {
  loadStereoCalibration,
  loadStereoCalibrationAsync,
  parseStereoCalibration,
} from "../../../../camera/calibration/index.js";
import { parseCalibrationText } from "../../../../camera/calibration/parse.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-readers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const put = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

/** The calibration of a text, without its hash. */
function read(text: string, name = "rig.yaml") {
  const { calibration, format } = parseStereoCalibration(text, name);
  const { hash, ...rest } = calibration;
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  return { ...rest, format };
}
const refusal = (text: string, name = "rig.yaml") => {
  try {
    parseStereoCalibration(text, name);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
};
const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12));
const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const K = (fx: number, fy: number, cx: number, cy: number) => [fx, 0, cx, 0, fy, cy, 0, 0, 1];
const none = { model: "none", coefficients: [] };

describe("benchmarks", () => {
  test("Middlebury's calib.txt", () => {
    const text = `# rectified
 cam0 = [1000, 0, 310; 0 1010 240; 0 0 1]
cam1=[1000 0 330; 0 1010 240; 0 0 1 ]
baseline=200
width=640
height=480
`;
    expect(read(text, "calib.txt")).toEqual({
      format: "Middlebury calib.txt",
      imageSize: { width: 640, height: 480 },
      left: { name: "left", K: K(1000, 1010, 310, 240), distortion: none },
      right: { name: "right", K: K(1000, 1010, 330, 240), distortion: none },
      R: IDENTITY,
      T: near([-0.2, 0, 0]),
      given: {
        R1: IDENTITY,
        R2: IDENTITY,
        P1: near([1000, 0, 310, 0, 0, 1010, 240, 0, 0, 0, 1, 0]),
        P2: near([1000, 0, 330, -200, 0, 1010, 240, 0, 0, 0, 1, 0]),
      },
      files: ["calib.txt"],
    });
    expect(refusal(text.replace("cam0 = [1000,", "cam0 = 1000,"), "calib.txt")).toMatch(
      /cam0: expected 9 numbers, found '1000, 0, 310/,
    );
  });

  test("KITTI's projection matrices: the colour cameras before the grey ones", () => {
    const P = (fx: number, fy: number, shift: number, cx = 600) =>
      `${fx} 0 ${cx} ${shift} 0 ${fy} 180 0.2 0 0 1 0.003`;
    const text = `S_rect_00: 100 90
S_rect_02: 1242 375
P_rect_00: ${P(9, 9, 0)}
P_rect_01: ${P(9, 9, -1)}
P_rect_02: ${P(700, 710, 45)}
P_rect_03: ${P(700, 710, -340, 605)}
`;
    expect(read(text, "000000.txt")).toEqual({
      format: "KITTI calibration",
      imageSize: { width: 1242, height: 375 },
      left: { name: "left", K: K(700, 710, 600, 180), distortion: none },
      right: { name: "right", K: K(700, 710, 605, 180), distortion: none },
      R: IDENTITY,
      T: near([-0.55, 0, 0]),
      given: {
        R1: IDENTITY,
        R2: IDENTITY,
        P1: near([700, 0, 600, 0, 0, 710, 180, 0, 0, 0, 1, 0]),
        P2: near([700, 0, 605, -385, 0, 710, 180, 0, 0, 0, 1, 0]),
      },
      files: ["000000.txt"],
    });
    expect(refusal(`P2: ${P(700, 710, 45)}\nP3: ${P(0, 710, -340)}\n`)).toBe(
      "rig.yaml: P3[0]: expected a focal length above 0, found 0.",
    );
    expect(refusal(`P2: ${P(700, 710, 45)}\n`)).toMatch(/expected an OpenCV, .* found the keys P2\.$/);
    expect(refusal(text.replace("1242 375", "1242"))).toMatch(/S_rect_02: expected 2 numbers, found 1\.$/);
  });
});

describe("Kalibr's camchain", () => {
  const rows = (values: readonly number[]) =>
    `[${[0, 4, 8, 12].map((at) => `[${values.slice(at, at + 4).join(", ")}]`).join(", ")}]`;
  /** A quarter turn about z, then a shift. */
  const turned = (x: number, y: number, z: number) => [0, -1, 0, x, 1, 0, 0, y, 0, 0, 1, z, 0, 0, 0, 1];
  const shifted = (x: number, y: number, z: number) => [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1];
  const cam = (number: number, focal: number, lines: readonly string[]) =>
    [
      `cam${number}:`,
      `  intrinsics: [${focal}, ${focal + 1}, ${focal + 2}, ${focal + 3}]`,
      ...lines.map((line) => `  ${line}`),
      "",
    ].join("\n");
  const lensLines = [
    "distortion_model: radtan",
    "distortion_coeffs: [0.1, 0.2, 0.003, 0.004]",
    "resolution: [900, 800]",
  ];
  const cameraAt = (name: string, focal: number) => ({
    name,
    K: K(focal, focal + 1, focal + 2, focal + 3),
    distortion: { model: "plumb_bob", coefficients: [0.1, 0.2, 0.003, 0.004, 0] },
  });

  test("through the inertial unit, with a third camera, in any order", () => {
    // x_cam = Rz x_imu + t for both: R is the identity, and T the difference of the shifts.
    const imu = (x: number) => `T_cam_imu: ${rows(turned(x, 0.2, 0.3))}`;
    const text =
      cam(10, 430, [...lensLines, `T_cn_cnm1: ${rows(shifted(0.02, 0.03, 0.04))}`]) +
      cam(2, 420, [...lensLines, imu(-0.05)]) +
      cam(1, 410, [...lensLines, imu(0.1)]);
    const expected = {
      format: "Kalibr camchain",
      imageSize: { width: 900, height: 800 },
      left: cameraAt("cam1", 410),
      right: cameraAt("cam2", 420),
      R: near(IDENTITY),
      T: near([-0.15, 0, 0]),
      others: [
        {
          ...cameraAt("cam10", 430),
          imageSize: { width: 900, height: 800 },
          R: near(IDENTITY),
          T: near([-0.13, 0.03, 0.04]),
        },
      ],
      files: ["rig.yaml"],
    };
    expect(read(text)).toEqual(expected);
    // The third camera through the unit, too: 0.3 - 0.1 from the left one. Other keys are no cameras.
    const third = cam(10, 430, [...lensLines, imu(0.3)]);
    const all = `${third}${text.slice(text.indexOf("cam2:"))}cam7: none\nnotes: { a: 1 }\n`;
    expect(read(all).others![0]!.T).toEqual(near([0.2, 0, 0]));
    // The step from the camera before goes before the inertial unit.
    const direct = text.replace("cam2:\n", `cam2:\n  T_cn_cnm1: ${rows(shifted(-0.25, 0, 0))}\n`);
    expect(read(direct).T).toEqual(near([-0.25, 0, 0]));
  });

  test("the second camera as the left one, with a third", () => {
    const text =
      cam(0, 400, lensLines) +
      cam(1, 410, [...lensLines, `T_cn_cnm1: ${rows(shifted(0.1, 0, 0.01))}`]) +
      cam(2, 420, [...lensLines, `T_cn_cnm1: ${rows(turned(0.02, 0.03, 0.04))}`]);
    const path = put("chain.yaml", text);
    expect(() => loadStereoCalibration(path)).toThrow(
      expect.objectContaining({ hint: "Set calibration.leftName to cam1." }),
    );
    const { calibration } = loadStereoCalibration(path, { leftName: "cam1" });
    expect(calibration).toMatchObject({
      left: cameraAt("cam1", 410),
      right: cameraAt("cam0", 400),
      R: near(IDENTITY),
      T: near([-0.1, 0, -0.01]),
      others: [{ name: "cam2", R: near([0, -1, 0, 1, 0, 0, 0, 0, 1]), T: near([0.02, 0.03, 0.04]) }],
    });
    expect(() => loadStereoCalibration(path, { leftName: "cam2" })).toThrow(
      `${path}: calibration.leftName: expected cam0 or cam1, found 'cam2'.`,
    );
  });

  test("lenses: none, and a name that is left out", () => {
    const step = `T_cn_cnm1: ${rows(shifted(-0.1, 0, 0))}`;
    const text =
      cam(0, 400, ["distortion_model: none", "resolution: [900, 800]"]) +
      cam(1, 410, ["camera_model: pinhole", "distortion_coeffs: [1, 2, 3, 4]", step]);
    expect(read(text)).toMatchObject({
      imageSize: { width: 900, height: 800 },
      left: { distortion: none },
      right: { distortion: { model: "plumb_bob", coefficients: [1, 2, 3, 4, 0] } },
    });
  });

  test("refusals", () => {
    const first = cam(0, 400, lensLines);
    const second = (transform: readonly number[]) =>
      cam(1, 410, [...lensLines, `T_cn_cnm1: ${rows(transform)}`]);
    expect(refusal(first)).toBe("rig.yaml: cam1: expected two cameras in the chain, found 1.");
    expect(refusal(first + second([...shifted(-0.1, 0, 0).slice(0, 12), 0, 0, 0, 2]))).toBe(
      "rig.yaml: cam1.T_cn_cnm1: expected a last row of 0 0 0 1, found 0 0 0 2.",
    );
    expect(refusal(first + cam(1, 410, lensLines))).toBe(
      "rig.yaml: cam1.T_cn_cnm1: expected 16 numbers, found nothing.",
    );
    expect(
      refusal(first + second(shifted(-0.1, 0, 0)).replace("cam1:\n", "cam1:\n  camera_model: omni\n")),
    ).toBe("rig.yaml: cam1.camera_model: expected pinhole, found 'omni'.");
    const two = `${first}${second(shifted(-0.1, 0, 0))}`;
    expect(refusal(two)).toBe("accepted");
    const [one, other] = [put("chain-1.yaml", two), put("chain-2.yaml", two)];
    expect(() => loadStereoCalibration([one, other])).toThrow(
      `${one}: files: expected one file for a Kalibr camchain, found chain-1.yaml, chain-2.yaml.`,
    );
  });
});

describe("OpenCV's names", () => {
  const names = [
    ["M1", "M2", "D1", "D2", "R", "T"],
    ["K_left", "K_right", "dist_left", "dist_right", "rotation", "translation"],
    ["leftCameraMatrix", "rightCameraMatrix", "leftDistCoeffs", "rightDistCoeffs", "R_lr", "T_lr"],
    ["LEFT.K", "RIGHT.K", "LEFT.D", "RIGHT.D", "R_stereo", "T_stereo"],
    ["intrinsics_l", "intrinsics_r", "distortion_l", "distortion_r", "rotation_matrix", "translation_vector"],
    [
      "cameraMatrix1",
      "cameraMatrix2",
      "distortion_coefficients_1",
      "distortion_coefficients_2",
      "R12",
      "T12",
    ],
    ["intrinsic_matrix1", "intrinsic_matrix2", "dist_coeff1", "dist_coeff2", "R", "trans"],
    ["intrinsic_left", "intrinsic_right", "d_left", "d_right", "R", "T"],
  ] as const;
  const sizes = [
    "image_width: 640\nimage_height: 480\n",
    "imageWidth: 640\nimageHeight: 480\n",
    "width: 640\nheight: 480\n",
    "image_size: [640, 480]\n",
    "imageSize: { width: 640, height: 480 }\n",
    "size: [640, 480]\n",
    "img_size: [640, 480]\n",
    "calibration_size: [640, 480]\n",
  ];

  test.each(names.map((words, i) => [words, sizes[i]!] as const))(
    "%j with %j",
    ([left, right, D1, D2, R, T], size) => {
      const text = `${size}${left}: [400, 0, 320, 0, 410, 240, 0, 0, 1]
${right}: [[420, 0, 330], [0, 430, 250], [0, 0, 1]]
${D1}: [0.1, 0.2, 0.3, 0.4]
${D2}: { rows: 1, cols: 5, data: [1, 2, 3, 4, 5] }
${R}: [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
${T}: [[-0.1], [0.02], [0.03]]
k3: 7
`;
      expect(read(text)).toEqual({
        format: "OpenCV FileStorage",
        imageSize: { width: 640, height: 480 },
        left: {
          name: "left",
          K: K(400, 410, 320, 240),
          distortion: { model: "plumb_bob", coefficients: [0.1, 0.2, 0.3, 0.4, 0] },
        },
        right: {
          name: "right",
          K: K(420, 430, 330, 250),
          distortion: { model: "plumb_bob", coefficients: [1, 2, 3, 4, 5] },
        },
        R: [1, 0, 0, 0, 0, -1, 0, 1, 0],
        T: [-0.1, 0.02, 0.03],
        files: ["rig.yaml"],
      });
    },
  );

  test("a lens model for both cameras, and a rectification of all four matrices", () => {
    const base = `width: 640\nheight: 480\nM1: [400, 0, 320, 0, 400, 240, 0, 0, 1]
M2: [400, 0, 330, 0, 400, 240, 0, 0, 1]
D1: [1, 2, 3, 4]\nD2: [5, 6, 7, 8]\ndistortion_model: fisheye\nR: [1, 0, 0, 0, 1, 0, 0, 0, 1]\nT: [-0.1, 0, 0]\n`;
    const P = (cx: number, shift: number) => [400, 0, cx, shift, 0, 400, 240, 0, 0, 0, 1, 0];
    const turn = (sign: number) => [1, 0, 0, 0, 0, -sign, 0, sign, 0];
    const given = [
      `R1: [${turn(1)}]\n`,
      `R2: [${turn(-1)}]\n`,
      `P1: [${P(320, 0)}]\n`,
      `P2: [${P(330, -40)}]\n`,
    ];
    expect(read(base + given.join(""))).toMatchObject({
      left: { distortion: { model: "equidistant", coefficients: [1, 2, 3, 4] } },
      right: { distortion: { model: "equidistant", coefficients: [5, 6, 7, 8] } },
      given: { R1: turn(1), R2: turn(-1), P1: P(320, 0), P2: P(330, -40) },
    });
    for (const missing of given)
      expect(read(base + given.filter((one) => one !== missing).join(""))).not.toHaveProperty("given");
    expect(refusal(base.replace("T: [-0.1, 0, 0]\n", ""))).toBe(
      "rig.yaml: T: expected the translation from the left to the right camera (3 numbers), found no such key.",
    );
    expect(refusal(base.replace("M2:", "other:"))).toBe(
      "rig.yaml: M2: expected the right camera matrix (3 x 3), found no such key.",
    );
    expect(refusal(base.replace("M1:", "other:"))).toBe(
      "rig.yaml: M1: expected the left camera matrix (3 x 3), found no such key.",
    );
    expect(refusal(base.replace("D2: [5, 6, 7, 8]", "D2: [5, 6, 7]"))).toBe(
      "rig.yaml: D2: expected 4 or 5 or 8 or 12 or 14 numbers, found 3.",
    );
  });
});

describe("ROS camera_info", () => {
  const message = (P: readonly number[], R: readonly number[] = IDENTITY, focal = 400) =>
    `width: 640\nheight: 480\ndistortion_model: plumb_bob\nD: [0.1, 0.2, 0.3, 0.4, 0.5]
K: [${K(focal, 410, 320, 240)}]\nR: [${R}]\nP: [${P}]\n`;
  const P = (shift: number, fx = 500) => [fx, 0, 320, shift, 0, 500, 240, 0, 0, 0, 1, 0];
  const load = (left: string, right: string) => {
    const files = [put("left-info.yaml", left), put("right-info.yaml", right)];
    try {
      return loadStereoCalibration(files).calibration;
    } catch (error) {
      return (error as Error).message.replaceAll(`${folder}/`, "");
    }
  };

  test("messages of ROS 1: R and T follow from the rectification", () => {
    // x_rect = R2 x_right with a quarter turn about x, so R = R2^T and T = R2^T (-0.1, 0, 0).
    const turn = [1, 0, 0, 0, 0, -1, 0, 1, 0];
    expect(load(message(P(0)), message(P(-50), turn, 401))).toMatchObject({
      imageSize: { width: 640, height: 480 },
      left: { name: "left", K: K(400, 410, 320, 240) },
      right: { name: "right", K: K(401, 410, 320, 240) },
      R: near([1, 0, 0, 0, 0, 1, 0, -1, 0]),
      T: near([-0.1, 0, 0]),
      given: { R1: IDENTITY, R2: turn, P1: P(0), P2: P(-50) },
    });
  });

  test.each([0, 4, 5, 8, 12, 14])("lenses of %i coefficients", (count) => {
    const D = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 0, 0].slice(0, count);
    const change = (text: string, model: string) =>
      text.replace("D: [0.1, 0.2, 0.3, 0.4, 0.5]", `D: [${D}]`).replace("plumb_bob", model);
    const kept = D.slice(0, 12);
    const lens = {
      0: none,
      4: { model: "equidistant", coefficients: kept },
      5: { model: "plumb_bob", coefficients: kept },
      8: { model: "rational_polynomial", coefficients: kept },
    }[count] ?? { model: "thin_prism", coefficients: kept };
    const model = count === 4 ? "equidistant" : "rational_polynomial";
    const found = load(change(message(P(0)), model), change(message(P(-50)), model));
    expect(found).toMatchObject({ left: { distortion: lens }, right: { distortion: lens } });
    if (count === 0) return;
    const camera = (at: number) => `M${at}: [${K(400, 400, 320, 240)}]\nD${at}: [${D}]\n`;
    const pose = `R: [${IDENTITY}]\nT: [-0.1, 0, 0]\nR13: [${IDENTITY}]\nT13: [0.1, 0, 0]\n`;
    const words = `distortion_model: ${model}\nwidth: 640\nheight: 480\n`;
    expect(read(words + camera(1) + camera(2) + camera(3) + pose)).toMatchObject({
      left: { distortion: lens },
      right: { distortion: lens },
      others: [{ distortion: lens }],
    });
  });

  test("a third camera by the shift in its P, along either axis, with focal lengths above 0", () => {
    const pair = [put("pair-l.yaml", message(P(0))), put("pair-r.yaml", message(P(-50)))];
    const third = (fx: number, tx: number, fy: number, ty: number) => {
      const own = message([fx, 0, 320, tx, 0, fy, 240, ty, 0, 0, 1, 0]);
      try {
        return loadStereoCalibration([...pair, put("third.yaml", own)]).calibration.others![0]!.T;
      } catch (error) {
        return (error as Error).message.replace(/^.*third\.yaml: /, "").replace(/, or a file.*/, "");
      }
    };
    expect(third(500, 0, 400, 20)).toEqual(near([0, 0.05, 0]));
    expect(third(500, 50, 400, 0)).toEqual(near([0.1, 0, 0]));
    for (const [fx, tx, fy, ty] of [
      [500, 0, 400, 0],
      [0, 50, 400, 20],
      [500, 50, 0, 20],
    ] as const)
      expect(third(fx, tx, fy, ty)).toBe("P[3]: expected fx times the camera's shift");
  });

  test("refusals", () => {
    const key = "right-info.yaml: P[3]: expected -fx times the baseline";
    const noBaseline = "no baseline, so this is not a stereo calibration";
    expect(load(message(P(-50)), message(P(0)))).toBe(
      `${key} (below 0) in the right camera's file, found 0, and -50 in left-info.yaml: left and right are swapped.`,
    );
    expect(load(message(P(-50)), message(P(-60)))).toBe(
      "left-info.yaml: P[3]: expected 0 in the left camera's file, found -50.",
    );
    expect(load(message(P(0)), message(P(0)))).toBe(
      `${key}, which is below 0, found 0, and every number of left-info.yaml again: ${noBaseline}.`,
    );
    expect(load(message(P(0)), message(P(0), IDENTITY, 401))).toBe(
      `${key}, which is below 0, found 0: ${noBaseline}.`,
    );
    expect(load(message(P(0)), message(P(0)).replace("0.5]", "0.6]"))).toMatch(/found 0: no baseline/);
    expect(load(message(P(0)), message(P(-50, 0)))).toBe(
      "right-info.yaml: P[0]: expected a focal length above 0, found 0.",
    );
    expect(load(message(P(0)), message(P(-50)).replace(/^R: .*\n/m, ""))).toBe(
      "right-info.yaml: rectification_matrix: expected 9 numbers, found no such key.",
    );
  });
});

describe("values", () => {
  const place = { file: "f", key: "k" };
  const message = (run: () => unknown) => {
    try {
      return run();
    } catch (error) {
      return (error as Error).message;
    }
  };

  test.each<[value: unknown, expected: unknown]>([
    [1.5, 1.5],
    ["1e3", 1000],
    [" -2 ", -2],
    [".Nan", Number.NaN],
    [" .NAN ", Number.NaN],
    ["-.Inf", -Infinity],
    ["+.inf", Infinity],
    ["infinity", Infinity],
    ["", "f: k: expected a number, found ''."],
    [" ", "f: k: expected a number, found ' '."],
    ["1e999", "f: k: expected a number, found '1e999'."],
    ["x".repeat(41), `f: k: expected a number, found '${"x".repeat(40)}'.`],
    [true, "f: k: expected a number, found true."],
    [null, "f: k: expected a number, found nothing."],
    [[1], "f: k: expected a number, found a list of 1."],
    [{}, "f: k: expected a number, found a mapping."],
  ])("%j as a number", (value, expected) => {
    expect(message(() => readNumber(value, place))).toEqual(expected);
  });

  test.each<[value: unknown, expected: unknown]>([
    [[1, "2", 3], { ...place, value: [1, 2, 3] }],
    [[[[1]], [[2, 3]]], { ...place, value: [1, 2, 3] }],
    [{ data: [1, 2] }, { ...place, key: "k.data", value: [1, 2] }],
    [
      { rows: 1, cols: 3, data: [1, 2, 3] },
      { ...place, key: "k.data", value: [1, 2, 3] },
    ],
    [{ rows: 2, cols: 2, data: [1, 2] }, "f: k.data: expected 4 numbers (2 rows of 2), found 2."],
    [
      { rows: 2, data: [1, 2] },
      { ...place, key: "k.data", value: [1, 2] },
    ],
    [{ rows: 1, cols: 1 }, "f: k: expected 2 or 3 numbers, found a mapping."],
    ["1 2", "f: k: expected 2 or 3 numbers, found '1 2'."],
    [[1], "f: k: expected 2 or 3 numbers, found 1."],
    [[1, 2, 3, 4], "f: k: expected 2 or 3 numbers, found 4."],
    [[1, "x"], "f: k[1]: expected a number, found 'x'."],
    [{ data: [1, ".inf"] }, "f: k.data[1]: expected a finite number, found Infinity."],
  ])("%j as a list of 2 or 3 numbers", (value, expected) => {
    expect(message(() => readNumbers(value, place, [2, 3]))).toEqual(expected);
  });

  test.each<[mapping: Record<string, unknown>, expected: unknown]>([
    [{}, undefined],
    [
      { w: 1, h: 1 },
      { file: "f", key: "w x h", value: [1, 1] },
    ],
    [
      { w: "640", h: 480 },
      { file: "f", key: "w x h", value: [640, 480] },
    ],
    [{ w: 0, h: 480 }, "f: w: expected a whole number of pixels, found 0."],
    [{ w: 640, h: 1.5 }, "f: h: expected a whole number of pixels, found 1.5."],
    [{ w: 640 }, "f: h: expected a number, found nothing."],
    [{ h: 640 }, "f: w: expected a number, found nothing."],
  ])("%j as a size", (mapping, expected) => {
    expect(message(() => readSize(mapping, ["w", "h"], "f"))).toEqual(expected);
  });

  test("words for a value in an error", () => {
    expect([undefined, null, [], { a: 1 }, "a", 2, false].map(describeValue)).toEqual([
      ...["nothing", "nothing", "a list of 0", "a mapping", "'a'", "2", "false"],
    ]);
  });
});

describe("syntax", () => {
  const root = (text: string) => parseCalibrationText("f", text).root;

  test("FileStorage's XML: numbers, words, lists, and elements in elements", () => {
    const text = `<?xml version="1.0"?><!-- <M0>9</M0> --><opencv_storage>
<M1 type_id="opencv-matrix"><rows>1</rows><cols>2</cols><dt>d</dt><data>
  1. -2e3</data></M1>
<one>5</one><word>abc</word><quoted>"a b"</quoted><pair>1 x</pair><list><_>1</_><_>"two three"</_></list>
<data>7</data><empty/><none></none></opencv_storage>`;
    expect(root(text)).toEqual({
      M1: { rows: 1, cols: 2, dt: "d", data: [1, -2000] },
      one: 5,
      word: "abc",
      quoted: "a b",
      pair: [1, "x"],
      list: [1, "two three"],
      data: [7],
      empty: [],
      none: [],
    });
    const nested = (depth: number) =>
      `<opencv_storage>${"<a>".repeat(depth)}${"</a>".repeat(depth)}</opencv_storage>`;
    // The root and the storage count.
    expect(() => root(nested(62))).not.toThrow();
    expect(() => root(nested(63))).toThrow("f: expected elements nested at most 64 deep, found more.");
    expect(() => root("<opencv_storage><a></b></opencv_storage>")).toThrow("f: expected </a>, found </b>.");
    expect(() => root("<opencv_storage><a>")).toThrow("f: expected </a>, found the end of the file.");
  });

  test("a mark of the byte order, a first line of %YAML and a last line of ---", () => {
    expect(root('\uFEFF{"a": 1}')).toEqual({ a: 1 });
    expect(root("\uFEFF%YAML:1.0\na: 1\n")).toEqual({ a: 1 });
    expect(root("a: 1\n---\n")).toEqual({ a: 1 });
    expect(() => root("%YAML:1.0\na: 1\nb: 2\na: 3\n")).toThrow(
      "f: expected each key once, found one twice (line 4).",
    );
    expect(() => root("a: 1\nb: [\n")).toThrow(/^f: expected YAML, found .* \(line \d\)\.$/);
    expect(() => root(" \n")).toThrow("f: expected a calibration, found an empty file.");
    for (const [text, found] of [
      ["5", "a number"],
      ["- 1", "a list"],
      ["null", "nothing"],
    ] as const)
      expect(() => root(text)).toThrow(`f: expected a mapping of keys at the top, found ${found}.`);
  });

  test("20 000 lines and values, and no more", () => {
    const yaml = (lines: number) => `${"#\n".repeat(lines - 1)}a: 1\n`;
    expect(root(yaml(20_000))).toEqual({ a: 1 });
    expect(() => root(yaml(20_001))).toThrow("f: expected at most 20000 lines and values, found 20001.");
    const json = (values: number) => `{"a":[${Array(values).fill(1).join()}]}`;
    expect(root(json(20_001)).a).toHaveLength(20_001);
    expect(() => root(json(20_002))).toThrow("found 20001.");
  });
});

describe("a folder", () => {
  const text = (name: string) => `${name.replace(/\W/g, "_")}: 1\n`;
  let count = 0;
  async function picked(...names: string[]): Promise<string> {
    const path = join(folder, `folder-${count++}`);
    mkdirSync(path);
    for (const name of names) writeFileSync(join(path, name), text(name));
    const messages = [];
    // The error lists the files that were read, in their order.
    try {
      loadStereoCalibration(path);
    } catch (error) {
      messages.push((error as Error).message.replaceAll(`${path}/`, "").replaceAll(path, "FOLDER"));
    }
    await loadStereoCalibrationAsync(path).catch((error: Error) =>
      messages.push(error.message.replaceAll(`${path}/`, "").replaceAll(path, "FOLDER")),
    );
    expect(messages[1]).toBe(messages[0]);
    return messages[0]!.replace(/: expected an OpenCV.*/, "");
  }

  test.each<[names: string[], expected: string]>([
    [["right.yaml", "left.yaml", "other.yaml"], "left.yaml, right.yaml"],
    [["Left.YML", "Right.yml"], "Left.YML, Right.yml"],
    [["extrinsics.yml", "intrinsics.yml", "left.yml"], "intrinsics.yml, extrinsics.yml"],
    [["extrinsic.xml", "intrinsic.json"], "intrinsic.json, extrinsic.xml"],
    [["a-camchain.yaml", "results.yaml"], "a-camchain.yaml"],
    [["only.yaml", "readme.txt"], "only.yaml"],
  ])("of %j: reads %s", async (names, expected) => {
    expect(await picked(...names)).toBe(expected);
  });

  test.each<[names: string[], found: string]>([
    [[], "none"],
    [["readme.txt"], "none"],
    [["a.yaml", "b.yaml"], "a.yaml, b.yaml"],
    [["leftover.yaml", "right.yaml"], "leftover.yaml, right.yaml"],
    [["a-camchain.yaml", "b-camchain.yaml"], "a-camchain.yaml, b-camchain.yaml"],
  ])("of %j is refused", async (names, found) => {
    expect(await picked(...names)).toBe(
      `FOLDER: expected left and right, intrinsics and extrinsics, or a single calibration file, found ${found}.`,
    );
  });
});

test("paths in one text may have blanks around their commas", () => {
  const [a, b] = [put("a.yaml", "x: 1\n"), put("b.yaml", "y: 1\n")];
  expect(() => loadStereoCalibration(` ${a} , ${b}`)).toThrow(
    new RegExp(`^${a}, ${b}: expected an OpenCV, .* or depthwatt calibration, found the keys x, y\\.$`),
  );
  expect(() => loadStereoCalibration([a, ""])).toThrow(
    `Expected a path on each side of a comma, found ["${a}",""].`,
  );
  const many = put("many.yaml", "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\n");
  expect(() => loadStereoCalibration(many)).toThrow(/found the keys a, b, c, d, e, f\.$/);
});
