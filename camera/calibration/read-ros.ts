// SPDX-License-Identifier: Apache-2.0
// ROS camera_info files: there R and T are not written down, they follow from the rectification and P, or from /tf_static.
import { basename } from "node:path";
import {
  type CalibrationDraft,
  type CameraDraft,
  type FormatName,
  isRecord,
  type Located,
  type OtherDraft,
  type ParsedFile,
  readNumbers,
  readSize,
  refusal,
} from "./draft.js";
import { apply, type Matrix3, multiply, transpose } from "./matrix.js";
import { FrameTree } from "./read-ros-transforms.js";

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

/** Returns the frame of a message's header, which a file of camera_calibration lacks. */
function headerFrame({ root }: ParsedFile): string | undefined {
  return isRecord(root.header) && typeof root.header.frame_id === "string" ? root.header.frame_id : undefined;
}

/** Returns the frames that a camera's points can be in: REP 103 names them NAME_optical_frame or NAME_optical. */
function frameNames(file: ParsedFile): string[] {
  const frame = headerFrame(file);
  if (frame !== undefined) return [frame];
  const name = file.root.camera_name;
  return typeof name === "string" ? [`${name}_optical_frame`, `${name}_optical`, name] : [];
}

/** Returns the name of a camera next to the pair: its camera_name, else its frame without the suffix, else its file's name. */
function otherName(file: ParsedFile): string {
  const { camera_name: name } = file.root;
  const frame = headerFrame(file)?.replace(/_optical(_frame)?$/, "");
  const found = typeof name === "string" ? name : (frame ?? basename(file.file).replace(/\.[^.]*$/, ""));
  return found.replace(/^\//, "").replaceAll("/", "_");
}

/**
 * Reads a camera next to the pair. Its pose comes from /tf_static, or from its P if it is rectified together with the
 * left camera: x_rect3 = x_rect1 + (P3[3] / P3[0], P3[7] / P3[5], 0).
 */
function otherCamera(file: ParsedFile, leftFile: ParsedFile, tree: FrameTree): OtherDraft {
  const draft = camera(file, otherName(file));
  const named = { ...draft, name: otherName(file) };
  for (const from of frameNames(leftFile)) {
    for (const to of frameNames(file)) {
      const motion = tree.between(from, to);
      if (motion === undefined || motion.key === "") continue;
      const { file: where, key } = motion;
      return {
        camera: named,
        R: { file: where, key, value: [...motion.R] },
        T: { file: where, key, value: [...motion.T] },
      };
    }
  }
  const R1 = numbers(leftFile, "R", [9]);
  const R3 = numbers(file, "R", [9]);
  const P3 = numbers(file, "P", [12]);
  const [fx, fy, tx, ty] = [0, 5, 3, 7].map((at) => P3.value[at]!) as [number, number, number, number];
  if ((tx === 0 && ty === 0) || !(fx > 0 && fy > 0)) {
    const frames = `from ${frameNames(leftFile)[0] ?? "the left camera"} to ${frameNames(file)[0] ?? "this camera"}`;
    const others = tree.names.length === 0 ? "" : ` and the frames ${tree.names.slice(0, 8).join(", ")}`;
    throw refusal({
      file: file.file,
      key: `${P3.key}[3]`,
      expected: `fx times the camera's shift, or a file with the transform ${frames}`,
      found: `${tx}${others}`,
      hint: "Give the output of `ros2 topic echo --once --qos-durability transient_local /tf_static` as one more file.",
    });
  }
  const back = transpose(R3.value as unknown as Matrix3);
  return {
    camera: named,
    R: { ...R3, value: [...multiply(back, R1.value as unknown as Matrix3)] },
    T: { ...P3, key: `${P3.key}[3]`, value: [...apply(back, [tx / fx, ty / fy, 0])] },
  };
}

/**
 * Reads the pair, and the cameras next to it.
 * x_rect1 = R1 x_left, x_rect2 = R2 x_right, x_rect2 = x_rect1 + (P2[3] / P2[0], 0, 0); so R = R2^T R1 and
 * T = R2^T (P2[3] / P2[0], 0, 0). [sensor_msgs/CameraInfo: "for the right camera, Tx = -fx' B"]
 */
export function readRos(
  leftFile: ParsedFile,
  rightFile: ParsedFile,
  otherFiles: readonly ParsedFile[] = [],
  transforms: readonly ParsedFile[] = [],
): CalibrationDraft {
  const tree = new FrameTree(transforms);
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
    others: otherFiles.map((file) => otherCamera(file, leftFile, tree)),
    swapHint,
  };
}
