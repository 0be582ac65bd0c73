// SPDX-License-Identifier: Apache-2.0
// Cameras next to the pair in files of OpenCV and ROS: their poses and lenses read back, and bad files are refused.
import { describe, expect, test } from "vitest";
import {
  loadStereoCalibration,
  type OtherCamera,
  rectify,
  rotationMatrix,
} from "../../../../camera/calibration/index.js";
import { apply, multiply, transpose, type Vector3 } from "../../../../camera/calibration/matrix.js";
import {
  barrel,
  openCvExtrinsics,
  openCvIntrinsics,
  openCvMatrix,
  plumbBob,
  rosCameraInfo,
  temporaryFiles,
} from "./fixtures.js";

const write = temporaryFiles();
const R = rotationMatrix([0.03, -0.08, 0.05]);
const colour: OtherCamera = {
  name: "camera3",
  K: [910.2, 0, 642.1, 0, 908.7, 355.4, 0, 0, 1],
  distortion: plumbBob(0.11, -0.21, 0.0004, -0.0009, 0.07),
  imageSize: { width: 1280, height: 720 },
  R,
  T: [-0.0151, 0.0312, 0.0047],
};

function expectSameCamera(found: OtherCamera | undefined, expected: OtherCamera, digits = 12): void {
  expect(found?.name).toBe(expected.name);
  expect(found?.imageSize).toEqual(expected.imageSize);
  expect(found?.K).toEqual(expected.K);
  expect(found?.distortion).toEqual(expected.distortion);
  for (const [i, value] of expected.R.entries()) expect(found!.R[i]).toBeCloseTo(value, digits);
  for (const [i, value] of expected.T.entries()) expect(found!.T[i]).toBeCloseTo(value, digits);
}

describe("OpenCV FileStorage", () => {
  const pair = (rotation: string, translation: string) =>
    openCvIntrinsics(barrel, false) +
    openCvExtrinsics(barrel)
      .replace(/^.*\n.*\n/, "")
      .replace(/^R:/m, `${rotation}:`)
      .replace(/^T:/m, `${translation}:`);
  const third = openCvMatrix("R13", 3, colour.R) + openCvMatrix("T13", 3, colour.T);

  test("the keys of OpenCV's 3calibration: one image size for all cameras", () => {
    const text =
      pair("R12", "T12")
        .replaceAll(/^M(\d)/gm, "cameraMatrix$1")
        .replaceAll(/^D(\d)/gm, "distCoeffs$1") +
      openCvMatrix("cameraMatrix3", 3, colour.K) +
      openCvMatrix("distCoeffs3", 5, colour.distortion.coefficients) +
      third +
      "imageWidth: 640\nimageHeight: 480\n" +
      openCvMatrix("R3", 3, [1, 0, 0, 0, 1, 0, 0, 0, 1]) +
      "disparityRatio: 0.5\n";
    const { calibration, warnings } = loadStereoCalibration(write("3calibration.yml", text));
    expect(warnings).toEqual([]);
    expect([...calibration.T]).toEqual([...barrel.T]);
    expect(calibration.others).toHaveLength(1);
    expectSameCamera(calibration.others![0], { ...colour, imageSize: { width: 640, height: 480 } });
  });

  test("short keys, a size and a lens model of each camera, and a fourth camera", () => {
    const fourth = { ...colour, name: "camera4", imageSize: { width: 320, height: 240 } };
    const text = [
      pair("R", "T"),
      "image_width: 640\nimage_height: 480\n",
      ...[colour, fourth].flatMap(({ name, imageSize: { width, height } }) => {
        const number = name.slice(-1);
        return [
          openCvMatrix(`M${number}`, 3, colour.K),
          openCvMatrix(`D${number}`, 1, [-0.012, 0.008, -0.006, 0.001]),
          `distortion_model_${number}: fisheye\nimage_size_${number}: [${width}, ${height}]\n`,
          openCvMatrix(`R1${number}`, 3, colour.R),
          openCvMatrix(`T1${number}`, 3, colour.T),
        ];
      }),
    ].join("");
    const { calibration } = loadStereoCalibration(write("four.yml", text));
    expect(calibration.left.distortion.model).toBe("plumb_bob");
    const distortion = { model: "equidistant", coefficients: [-0.012, 0.008, -0.006, 0.001] } as const;
    expect(calibration.others).toHaveLength(2);
    expectSameCamera(calibration.others![0], { ...colour, distortion });
    expectSameCamera(calibration.others![1], { ...fourth, distortion });
  });

  test.each([
    [
      "no pose",
      "",
      /M3\.yml: R13: expected the rotation from camera 1 to camera 3 \(3 x 3\), found no such key/,
    ],
    [
      "no translation",
      openCvMatrix("R13", 3, colour.R),
      /T13: expected the translation from camera 1 to camera 3/,
    ],
    ["a short rotation", openCvMatrix("R13", 2, [1, 0, 0, 1]), /R13\.data: expected 9 numbers, found 4/],
  ])("a third camera with %s", (_what, pose, message) => {
    const text = `${pair("R", "T")}image_width: 640\nimage_height: 480\n${openCvMatrix("M3", 3, colour.K)}${pose}`;
    expect(() => loadStereoCalibration(write("M3.yml", text))).toThrow(message);
  });
});

describe("ROS camera_info", () => {
  const { R1, R2, P1, P2 } = rectify(barrel);
  const left = write("left.yaml", rosCameraInfo(barrel, "left", { R: R1, P: P1 }));
  const right = write("right.yaml", rosCameraInfo(barrel, "right", { R: R2, P: P2 }));
  /** A message as `ros2 topic echo --once` prints it. */
  const message = (frame: string, P: readonly number[]) =>
    [
      `header:\n  stamp:\n    sec: 12\n    nanosec: 5\n  frame_id: ${frame}`,
      `height: ${colour.imageSize.height}\nwidth: ${colour.imageSize.width}\ndistortion_model: plumb_bob`,
      `d:\n${colour.distortion.coefficients.map((value) => `- ${value}`).join("\n")}`,
      `k:\n${colour.K.map((value) => `- ${value}`).join("\n")}`,
      `r:\n${[1, 0, 0, 0, 1, 0, 0, 0, 1].map((value) => `- ${value}`).join("\n")}`,
      `p:\n${P.map((value) => `- ${value}`).join("\n")}`,
      "binning_x: 0\nbinning_y: 0\nroi:\n  x_offset: 0\n  y_offset: 0\n  do_rectify: false\n---\n",
    ].join("\n");
  const P0 = [910.2, 0, 642.1, 0, 0, 908.7, 355.4, 0, 0, 0, 1, 0];
  const rgb = write("rgb.yaml", message("colour_optical_frame", P0));

  type Quaternion = readonly [x: number, y: number, z: number, w: number];
  const quaternion = (turn: Vector3): Quaternion => {
    const angle = Math.hypot(...turn);
    const sine = Math.sin(angle / 2) / angle;
    return [turn[0] * sine, turn[1] * sine, turn[2] * sine, Math.cos(angle / 2)];
  };
  const stamped = (parent: string, child: string, [x, y, z]: Vector3, q: readonly number[]) =>
    [
      `- header:\n    stamp:\n      sec: 3\n      nanosec: 4\n    frame_id: ${parent}\n  child_frame_id: ${child}`,
      `  transform:\n    translation:\n      x: ${x}\n      y: ${y}\n      z: ${z}`,
      `    rotation:\n      x: ${q[0]}\n      y: ${q[1]}\n      z: ${q[2]}\n      w: ${q[3]}\n`,
    ].join("\n");
  // REP 103: a camera's body looks along x, its optical frame along z.
  const toOptical: Quaternion = [-0.5, 0.5, -0.5, 0.5];
  const atLeft = stamped("head", "stereo/left_optical_frame", [0.2, 0.1, 0.05], toOptical);

  test("the pose from /tf_static, through the frames between", () => {
    const turn: Vector3 = [0.02, -0.05, 0.03];
    const place: Vector3 = [0.21, 0.06, 0.08];
    const tf = [
      "transforms:\n",
      atLeft,
      stamped("head", "colour_link", place, quaternion(turn)),
      stamped("colour_link", "colour_optical_frame", [0, 0, 0], toOptical),
      "---\n",
    ].join("");
    const { calibration, format } = loadStereoCalibration([left, right, rgb, write("tf.yaml", tf)].join(","));
    expect(format).toBe("ROS camera_info");
    expectRelativePose(calibration.others, turn, place);
  });

  /** x_head = A x_optical + place for both cameras; so x_colour = Ac^T (Al x_left + pl - pc). */
  function expectRelativePose(
    others: readonly OtherCamera[] | undefined,
    turn: Vector3,
    place: Vector3,
  ): void {
    const optical = [0, 0, 1, -1, 0, 0, 0, -1, 0] as const;
    const toHead = multiply(rotationMatrix(turn), optical);
    const expectedR = multiply(transpose(toHead), optical);
    const apart: Vector3 = [0.2 - place[0], 0.1 - place[1], 0.05 - place[2]];
    expect(others).toHaveLength(1);
    expectSameCamera(
      others![0],
      { ...colour, name: "colour", R: expectedR, T: apply(transpose(toHead), apart) },
      12,
    );
  }

  test("a single TransformStamped from the left camera, in a separate file", () => {
    const [x, y, z, w] = quaternion([0.03, -0.08, 0.05]);
    const text =
      "header:\n  frame_id: /stereo/left\nchild_frame_id: colour_optical_frame\ntransform:\n" +
      `  translation: {x: 0.1, y: 0.02, z: -0.01}\n  rotation: {x: ${x}, y: ${y}, z: ${z}, w: ${w}}\n`;
    const { calibration } = loadStereoCalibration([left, right, rgb, write("one.yaml", text)]);
    const expected = {
      ...colour,
      name: "colour",
      R: transpose(R),
      T: apply(transpose(R), [-0.1, -0.02, 0.01]),
    };
    expectSameCamera(calibration.others![0], expected);
  });

  test("the pose from the shift in P of a camera that is rectified together with the left one", () => {
    const R3 = rotationMatrix([0.01, 0.02, -0.03]);
    const P3 = P1.map((value, at) => (at === 3 ? 0.04 * P1[0]! : at === 7 ? -0.02 * P1[5]! : value));
    const text = rosCameraInfo(barrel, "left", { R: R3, P: P3 }).replace("stereo/left", "stereo/lower");
    const { calibration } = loadStereoCalibration([left, right, write("lower.yaml", text)]);
    const [other] = calibration.others!;
    expect(other!.name).toBe("stereo_lower");
    for (const point of [
      [0, 0, 1],
      [0.4, -0.3, 2.5],
    ] as const) {
      const seen = apply(other!.R, point).map((value, at) => value + other!.T[at]!) as unknown as Vector3;
      const apart = apply(R3, seen).map((value, at) => value - apply(R1, point)[at]!);
      for (const [at, value] of [0.04, -0.02, 0].entries()) expect(apart[at]).toBeCloseTo(value, 12);
    }
  });

  test.each<[string, string, RegExp]>([
    [
      "no transform at all",
      "",
      /rgb\.yaml: p\[3\]: expected .* transform from stereo\/left_optical_frame to colour_optical_frame, found 0\./,
    ],
    [
      "frames that are not connected",
      `transforms:\n${atLeft}${stamped("hand", "colour_optical_frame", [0, 0, 0], toOptical)}`,
      /found 0 and the frames head, stereo\/left_optical_frame, hand, colour_optical_frame/,
    ],
    [
      "a quaternion of another length",
      `transforms:\n${stamped("stereo/left", "colour_optical_frame", [0, 0, 0], [0, 0, 0, 0.5])}`,
      /transforms\[0\]\.transform\.rotation: expected a quaternion of length 1, found one of 0\.500000/,
    ],
    [
      "a transform without its translation",
      "transforms:\n- header: {frame_id: a}\n  child_frame_id: b\n  transform: {rotation: {x: 0, y: 0, z: 0, w: 1}}\n",
      /transforms\[0\]\.transform\.translation: expected a mapping, found nothing/,
    ],
    [
      "a frame without a name",
      `transforms:\n${stamped("''", "b", [0, 0, 0], [0, 0, 0, 1])}`,
      /transforms\[0\]\.header\.frame_id: expected the name of a frame, found ''/,
    ],
  ])("%s", (name, tf, expected) => {
    const files = tf === "" ? [] : [write(`${name.replaceAll(/\W/g, "-")}.yaml`, tf)];
    expect(() => loadStereoCalibration([left, right, rgb, ...files])).toThrow(expected);
  });

  test("the same name twice, and a third file that is no camera_info", () => {
    const tf = write(
      "near.yaml",
      `transforms:\n${stamped("stereo/left", "colour_optical_frame", [0.1, 0, 0], [0, 0, 0, 1])}`,
    );
    expect(() => loadStereoCalibration([left, right, rgb, rgb, tf])).toThrow(
      /k: expected a name .* that no other camera has, found 'colour'/,
    );
    const odd = write("odd.yaml", "a: 1\n");
    expect(() => loadStereoCalibration([left, right, odd])).toThrow(
      /odd\.yaml: camera_matrix: expected 9 numbers/,
    );
  });
});
