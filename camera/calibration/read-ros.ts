// SPDX-License-Identifier: Apache-2.0
// A pair of ROS camera_info files: there R and T are not written down, they follow from R1, R2 and the right P.
import {
  type CalibrationDraft,
  type CameraDraft,
  type FormatName,
  type Located,
  type ParsedFile,
  readNumbers,
  readSize,
  refusal,
} from "./draft.js";
import { apply, type Matrix3, multiply, transpose } from "./matrix.js";

/** The names of the calibration file, and those of the message (`ros2 topic echo`). */
const KEYS = {
  K: ["camera_matrix", "K", "k"],
  D: ["distortion_coefficients", "D", "d"],
  R: ["rectification_matrix", "R", "r"],
  P: ["projection_matrix", "P", "p"],
} as const;

type Quantity = keyof typeof KEYS;

function find({ root }: ParsedFile, quantity: Quantity): string | undefined {
  return KEYS[quantity].find((key) => root[key] !== undefined);
}

/** A file is ROS's when it holds a projection matrix next to its own camera matrix. */
export function isRos(file: ParsedFile): boolean {
  return find(file, "P") !== undefined && find(file, "K") !== undefined;
}

function numbers(file: ParsedFile, quantity: Quantity, counts: readonly number[]): Located<number[]> {
  const key = find(file, quantity);
  if (key === undefined) {
    const expected = `${counts.join(" or ")} numbers`;
    throw refusal({ file: file.file, key: KEYS[quantity][0], expected, found: "no such key" });
  }
  return readNumbers(file.root[key], { file: file.file, key }, counts);
}

function camera(file: ParsedFile, fallbackName: string): CameraDraft {
  const { root } = file;
  const model = root.distortion_model;
  return {
    name: typeof root.camera_name === "string" ? root.camera_name : fallbackName,
    file: file.file,
    K: numbers(file, "K", [9]),
    model: typeof model === "string" ? { file: file.file, key: "distortion_model", value: model } : undefined,
    coefficients: find(file, "D") ? numbers(file, "D", [0, 4, 5, 8, 12, 14]) : undefined,
    size:
      readSize(root, ["image_width", "image_height"], file.file) ??
      readSize(root, ["width", "height"], file.file),
  };
}

/** True where both files hold the same numbers: one camera's file, copied. */
function sameNumbers(a: CameraDraft, b: CameraDraft): boolean {
  return (
    a.K.value.join() === b.K.value.join() && a.coefficients?.value.join() === b.coefficients?.value.join()
  );
}

/**
 * x_rect1 = R1 x_left, x_rect2 = R2 x_right, x_rect2 = x_rect1 + (P2[3] / P2[0], 0, 0); so R = R2^T R1 and
 * T = R2^T (P2[3] / P2[0], 0, 0). [sensor_msgs/CameraInfo: "for the right camera, Tx = -fx' B"]
 */
export function readRos(leftFile: ParsedFile, rightFile: ParsedFile): CalibrationDraft {
  const left = camera(leftFile, "left");
  const right = camera(rightFile, "right");
  const R1 = numbers(leftFile, "R", [9]);
  const R2 = numbers(rightFile, "R", [9]);
  const P1 = numbers(leftFile, "P", [12]);
  const P2 = numbers(rightFile, "P", [12]);
  const format: FormatName = "ROS camera_info";
  const swapHint = `Give the right camera's file second: ${rightFile.file},${leftFile.file}.`;
  const place = { file: rightFile.file, key: `${P2.key}[3]` };
  const shift = P2.value[3]!;
  if (P1.value[3] !== 0 && shift >= 0) {
    const expected = "-fx times the baseline (below 0) in the right camera's file";
    throw refusal({
      ...place,
      expected,
      found: `${shift}, and ${P1.value[3]} in ${leftFile.file}: left and right are swapped`,
      hint: swapHint,
    });
  }
  if (P1.value[3] !== 0) {
    throw refusal({
      ...P1,
      key: `${P1.key}[3]`,
      expected: "0 in the left camera's file",
      found: `${P1.value[3]}`,
    });
  }
  if (shift === 0) {
    const copied = sameNumbers(left, right) ? `, and every number of ${leftFile.file} again` : "";
    throw refusal({
      ...place,
      expected: "-fx times the baseline, which is below 0",
      found: `0${copied}: no baseline, so this is not a stereo calibration`,
      hint: "Calibrate both cameras together (camera_calibration with --approximate and two cameras).",
    });
  }
  const fx = P2.value[0]!;
  if (!(fx > 0))
    throw refusal({ ...place, key: `${P2.key}[0]`, expected: "a focal length above 0", found: `${fx}` });
  const back = transpose(R2.value as unknown as Matrix3);
  return {
    format,
    left,
    right,
    R: { ...R2, value: [...multiply(back, R1.value as unknown as Matrix3)] },
    T: { ...place, value: [...apply(back, [shift / fx, 0, 0])] },
    given: { R1, R2, P1, P2 },
    swapHint,
  };
}
