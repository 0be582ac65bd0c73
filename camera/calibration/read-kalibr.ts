// SPDX-License-Identifier: Apache-2.0
// Kalibr camchain: cam0, cam1, ... with T_cn_cnm1, the transform from the camera before to this one.
import {
  type CalibrationDraft,
  type CameraDraft,
  describe,
  isRecord,
  type Located,
  type OtherDraft,
  type ParsedFile,
  readNumbers,
  refusal,
} from "./draft.js";
import { composeMotions, IDENTITY_MOTION, invertMotion, type Motion } from "./motion.js";

type Chain = Record<string, unknown>;

const isCameraName = (key: string): boolean => /^cam\d+$/.test(key);

export function isKalibr({ root }: ParsedFile): boolean {
  return Object.entries(root).some(
    ([key, value]) => isCameraName(key) && isRecord(value) && "intrinsics" in value,
  );
}

function camera(file: string, name: string, entry: Chain): CameraDraft {
  const at = (key: string) => ({ file, key: `${name}.${key}` });
  const cameraModel = entry.camera_model ?? "pinhole";
  if (cameraModel !== "pinhole") {
    const hint = "Calibrate with Kalibr's pinhole-radtan or pinhole-equi model.";
    throw refusal({ ...at("camera_model"), expected: "pinhole", found: describe(cameraModel), hint });
  }
  const intrinsics = readNumbers(entry.intrinsics, at("intrinsics"), [4]);
  const [fx, fy, cx, cy] = intrinsics.value as [number, number, number, number];
  const size =
    entry.resolution === undefined ? undefined : readNumbers(entry.resolution, at("resolution"), [2]);
  const model = entry.distortion_model;
  return {
    name,
    file,
    K: { ...intrinsics, value: [fx, 0, cx, 0, fy, cy, 0, 0, 1] },
    model: typeof model === "string" ? { ...at("distortion_model"), value: model } : undefined,
    coefficients:
      model === "none" ? undefined : readNumbers(entry.distortion_coeffs, at("distortion_coeffs"), [4]),
    size: size && { ...size, value: [size.value[0]!, size.value[1]!] },
  };
}

function motion({ value, file, key }: Located<number[]>): Motion {
  const last = value.slice(12);
  if (last.join() !== "0,0,0,1") {
    throw refusal({ file, key, expected: "a last row of 0 0 0 1", found: last.join(" ") });
  }
  const at = (index: number): number => value[index]!;
  return { R: [at(0), at(1), at(2), at(4), at(5), at(6), at(8), at(9), at(10)], T: [at(3), at(7), at(11)] };
}

/** From camera `a` to the camera after it, `b`: T_cn_cnm1, or through the inertial unit where only T_cam_imu is there. */
function between(file: string, a: [string, Chain], b: [string, Chain]): Motion & { key: string } {
  const read = ([name, entry]: [string, Chain], key: string): Motion =>
    motion(readNumbers(entry[key], { file, key: `${name}.${key}` }, [16]));
  if (b[1].T_cn_cnm1 === undefined && a[1].T_cam_imu !== undefined && b[1].T_cam_imu !== undefined) {
    return {
      ...composeMotions(read(b, "T_cam_imu"), invertMotion(read(a, "T_cam_imu"))),
      key: `${b[0]}.T_cam_imu`,
    };
  }
  return { ...read(b, "T_cn_cnm1"), key: `${b[0]}.T_cn_cnm1` };
}

/** Returns the third camera of the chain and those after it, each relative to the left camera. */
function readOthers(file: string, chain: readonly [string, Chain][], swapped: boolean): OtherDraft[] {
  const others: OtherDraft[] = [];
  let [motionFromLeft, before] = [IDENTITY_MOTION, chain[0]!];
  chain.slice(1).forEach((entry, i) => {
    const { key, ...step } = between(file, before, entry);
    motionFromLeft = composeMotions(step, motionFromLeft);
    before = entry;
    if (i === 0) {
      // The second camera is the left one.
      if (swapped) motionFromLeft = IDENTITY_MOTION;
      return;
    }
    const { R, T } = motionFromLeft;
    others.push({
      camera: camera(file, ...entry),
      R: { file, key, value: [...R] },
      T: { file, key, value: [...T] },
    });
  });
  return others;
}

/** The first two cameras of the chain, and the cameras after them; `leftName` says which of them is the left one (default: the first). */
export function readKalibr({ file, root }: ParsedFile, leftName: string | undefined): CalibrationDraft {
  const chain = Object.entries(root)
    .filter((entry): entry is [string, Chain] => isCameraName(entry[0]) && isRecord(entry[1]))
    .sort(([a], [b]) => Number(a.slice(3)) - Number(b.slice(3)));
  const [first, second] = chain;
  if (!first || !second) {
    throw refusal({ file, key: "cam1", expected: "two cameras in the chain", found: `${chain.length}` });
  }
  const names = [first[0], second[0]];
  if (leftName !== undefined && !names.includes(leftName)) {
    throw refusal({
      file,
      key: "calibration.leftName",
      expected: names.join(" or "),
      found: `'${leftName}'`,
    });
  }
  const { key, ...forward } = between(file, first, second);
  const swapped = leftName === second[0];
  const [left, right] = swapped ? [second, first] : [first, second];
  const { R, T } = swapped ? invertMotion(forward) : forward;
  return {
    format: "Kalibr camchain",
    left: camera(file, ...left),
    right: camera(file, ...right),
    R: { file, key, value: [...R] },
    T: { file, key, value: [...T] },
    given: undefined,
    others: readOthers(file, chain, swapped),
    swapHint: `Set calibration.leftName to ${right[0]}.`,
  };
}
