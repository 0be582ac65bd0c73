// SPDX-License-Identifier: Apache-2.0
// A calibration in the forms of other programs: OpenCV FileStorage, ROS camera_info, Kalibr camchain.
import { DepthwattError } from "../../core/index.js";
import type { CameraCalibration, DistortionModel, StereoCalibration } from "./calibration.js";
import { type Rectification, rectify } from "./rectification.js";

const list = (values: readonly number[]): string => `[${values.map((value) => String(value)).join(", ")}]`;

function openCvMatrix(name: string, rows: number, columns: number, values: readonly number[]): string {
  // Each on its own line: FileStorage reads no lines of more than 4096 characters.
  const data = values.map(String).join(",\n      ");
  return `${name}: !!opencv-matrix\n   rows: ${rows}\n   cols: ${columns}\n   dt: d\n   data: [ ${data} ]\n`;
}

/** Writes what OpenCV's FileStorage holds after stereoCalibrate and stereoRectify: M1 D1 M2 D2 R T R1 R2 P1 P2 Q. */
export function stringifyOpenCv(calibration: StereoCalibration): string {
  const { left, right, imageSize, R, T } = calibration;
  const { R1, R2, P1, P2, qMatrix } = rectify(calibration);
  const fisheye = left.distortion.model === "equidistant";
  const coefficients = ({ distortion }: CameraCalibration) =>
    distortion.coefficients.length === 0 ? [0, 0, 0, 0] : distortion.coefficients;
  const [D1, D2] = [coefficients(left), coefficients(right)];
  return [
    "%YAML:1.0\n---\n",
    `image_width: ${imageSize.width}\nimage_height: ${imageSize.height}\n`,
    fisheye ? "distortion_model: fisheye\n" : "",
    openCvMatrix("M1", 3, 3, left.K),
    openCvMatrix("D1", 1, D1.length, D1),
    openCvMatrix("M2", 3, 3, right.K),
    openCvMatrix("D2", 1, D2.length, D2),
    openCvMatrix("R", 3, 3, R),
    openCvMatrix("T", 3, 1, T),
    openCvMatrix("R1", 3, 3, R1),
    openCvMatrix("R2", 3, 3, R2),
    openCvMatrix("P1", 3, 4, P1),
    openCvMatrix("P2", 3, 4, P2),
    openCvMatrix("Q", 4, 4, qMatrix),
  ].join("");
}

const ROS_MODELS: Record<DistortionModel, string> = {
  none: "plumb_bob",
  plumb_bob: "plumb_bob",
  rational_polynomial: "rational_polynomial",
  thin_prism: "thin_prism",
  equidistant: "equidistant",
};

function rosFile(
  calibration: StereoCalibration,
  side: "left" | "right",
  rectification: Rectification,
): string {
  const { imageSize } = calibration;
  const { K, distortion } = calibration[side];
  const [R, P] =
    side === "left" ? [rectification.R1, rectification.P1] : [rectification.R2, rectification.P2];
  const coefficients = distortion.coefficients.length === 0 ? [0, 0, 0, 0, 0] : distortion.coefficients;
  const matrix = (rows: number, columns: number, values: readonly number[]) =>
    `\n  rows: ${rows}\n  cols: ${columns}\n  data: ${list(values)}\n`;
  return (
    `image_width: ${imageSize.width}\nimage_height: ${imageSize.height}\ncamera_name: ${side}\n` +
    `camera_matrix:${matrix(3, 3, K)}` +
    `distortion_model: ${ROS_MODELS[distortion.model]}\n` +
    `distortion_coefficients:${matrix(1, coefficients.length, coefficients)}` +
    `rectification_matrix:${matrix(3, 3, R)}` +
    `projection_matrix:${matrix(3, 4, P)}`
  );
}

/** Two camera_info files. What ROS has no place for, R and T, follows from the rectification. */
export function stringifyRos(calibration: StereoCalibration): { left: string; right: string } {
  const rectification = rectify(calibration);
  return {
    left: rosFile(calibration, "left", rectification),
    right: rosFile(calibration, "right", rectification),
  };
}

/**
 * A camchain of cam0 (left) and cam1 (right).
 * @throws DepthwattError CALIBRATION_INVALID for a lens that Kalibr has no model for
 */
export function stringifyKalibr(calibration: StereoCalibration): string {
  const { left, right, imageSize, R, T } = calibration;
  const camera = (name: string, { K, distortion }: CameraCalibration): string => {
    const { model, coefficients } = distortion;
    const rest = coefficients.slice(4).some((value) => value !== 0);
    if (model === "rational_polynomial" || model === "thin_prism" || (model === "plumb_bob" && rest)) {
      const found = model === "plumb_bob" ? "radtan with a k3" : model;
      throw new DepthwattError(
        "CALIBRATION_INVALID",
        `expected a lens that Kalibr's camchain can hold (radtan of k1 k2 p1 p2, or equidistant), found ${found}`,
        { hint: "Calibrate with --no-k3 or --lens fisheye, or write another form." },
      );
    }
    const [word, values] =
      model === "none"
        ? (["radtan", [0, 0, 0, 0]] as const)
        : ([model === "equidistant" ? "equidistant" : "radtan", coefficients.slice(0, 4)] as const);
    return (
      `${name}:\n  camera_model: pinhole\n  intrinsics: ${list([K[0], K[4], K[2], K[5]])}\n` +
      `  distortion_model: ${word}\n  distortion_coeffs: ${list(values)}\n` +
      `  resolution: [${imageSize.width}, ${imageSize.height}]\n  rostopic: /${name}/image_raw\n`
    );
  };
  const rows = [0, 1, 2].map((row) => `  - ${list([...R.slice(3 * row, 3 * row + 3), T[row]!])}`);
  return `${camera("cam0", left)}${camera("cam1", right)}  T_cn_cnm1:\n${rows.join("\n")}\n  - [0.0, 0.0, 0.0, 1.0]\n`;
}
