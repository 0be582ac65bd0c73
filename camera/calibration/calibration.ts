// SPDX-License-Identifier: Apache-2.0
// Describes a calibrated stereo pair with one type for all file formats. Units: float64, metres, pixels.
import { createHash } from "node:crypto";
import type { Matrix3, Vector3 } from "./matrix.js";

/** Row-major 3x4. */
export type Matrix34 = readonly number[];

export interface ImageSize {
  width: number;
  height: number;
}

/**
 * Lens model and its coefficients, in OpenCV's order:
 * - `none`: no coefficients
 * - `plumb_bob`: k1 k2 p1 p2 k3 (Kalibr's radtan is k1 k2 p1 p2 with k3 = 0)
 * - `rational_polynomial`: k1 k2 p1 p2 k3 k4 k5 k6
 * - `thin_prism`: the rational eight, then s1 s2 s3 s4
 * - `equidistant`: k1 k2 k3 k4 of theta (Kannala and Brandt; OpenCV's fisheye)
 */
export type DistortionModel = "none" | "plumb_bob" | "rational_polynomial" | "thin_prism" | "equidistant";

export interface Distortion {
  readonly model: DistortionModel;
  readonly coefficients: readonly number[];
}

export interface CameraCalibration {
  /** The name that the file gives the camera, or "left" / "right". */
  readonly name: string;
  /** Camera matrix, pixels: [fx, 0, cx, 0, fy, cy, 0, 0, 1]. Pixel centres are at whole numbers. */
  readonly K: Matrix3;
  readonly distortion: Distortion;
}

/** A rectification that the file brought along: x_rectified ~ P R x_camera. */
export interface GivenRectification {
  readonly R1: Matrix3;
  readonly R2: Matrix3;
  readonly P1: Matrix34;
  readonly P2: Matrix34;
}

/** A rotation of the right camera that a run measured after the calibration was made, and that was added to it. */
export interface CalibrationCorrection {
  /** ISO 8601. */
  readonly date: string;
  /** The file or files, joined by a comma, that the correction was added to. */
  readonly from: string;
  /** Degrees about x, y and z of the rectified right camera. */
  readonly pitch: number;
  readonly yaw: number;
  readonly roll: number;
}

/** A camera next to the pair, with a pose relative to the left camera: x_camera = R x_left + T. */
export interface OtherCamera extends CameraCalibration {
  readonly imageSize: ImageSize;
  readonly R: Matrix3;
  /** Metres. */
  readonly T: Vector3;
}

export interface StereoCalibration {
  readonly imageSize: ImageSize;
  readonly left: CameraCalibration;
  readonly right: CameraCalibration;
  /** x_right = R x_left + T, a rotation (orthonormal to machine precision). */
  readonly R: Matrix3;
  /** Metres. T[0] < 0: the right camera stands to the right of the left one. */
  readonly T: Vector3;
  readonly given?: GivenRectification;
  /** Cameras next to the pair, by unique names. */
  readonly others?: readonly OtherCamera[];
  /** Corrections that R and T contain, the oldest first. */
  readonly corrections?: readonly CalibrationCorrection[];
  /** Where it was read from; empty for a calibration made in memory. */
  readonly files: readonly string[];
  /** sha256, hexadecimal, over every number of the geometry (not over names, files and corrections): equal hash = equal geometry. */
  readonly hash: string;
}

/** Coefficients that each model carries, after missing trailing ones were filled with 0. */
export const COEFFICIENT_COUNT: Record<DistortionModel, number> = {
  none: 0,
  plumb_bob: 5,
  rational_polynomial: 8,
  thin_prism: 12,
  equidistant: 4,
};

/** Canonical text of the geometry: fixed key order, shortest decimal of each float64, -0 written as 0. */
function canonicalContent(calibration: Omit<StereoCalibration, "hash">): string {
  const numbers = (values: readonly number[]): number[] => values.map((value) => (value === 0 ? 0 : value));
  const camera = ({ K, distortion }: CameraCalibration): unknown => [
    numbers(K),
    distortion.model,
    numbers(distortion.coefficients),
  ];
  const { imageSize, left, right, R, T, given, others } = calibration;
  return JSON.stringify([
    [imageSize.width, imageSize.height],
    camera(left),
    camera(right),
    numbers(R),
    numbers(T),
    given ? [given.R1, given.R2, given.P1, given.P2].map(numbers) : null,
    ...(others ?? []).map((other) => [
      [other.imageSize.width, other.imageSize.height],
      camera(other),
      numbers(other.R),
      numbers(other.T),
    ]),
  ]);
}

/** Adds the hash. Checks nothing: readers go through validate.ts. */
export function withHash(calibration: Omit<StereoCalibration, "hash">): StereoCalibration {
  return { ...calibration, hash: createHash("sha256").update(canonicalContent(calibration)).digest("hex") };
}

/** The distance between the two cameras, metres. */
export function baselineMetres(calibration: Pick<StereoCalibration, "T">): number {
  return Math.hypot(...calibration.T);
}
