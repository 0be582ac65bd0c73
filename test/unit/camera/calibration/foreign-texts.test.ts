// SPDX-License-Identifier: Apache-2.0
// Calibrations written for other programs, whole texts.
import { describe, expect, test } from "vitest";
import {
  rectify,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
  withHash,
} from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import { parseCalibrationText } from "../../../../camera/calibration/parse.js";
import { K, level, near } from "./level-rig.js";

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
