// SPDX-License-Identifier: Apache-2.0
// Maps single points of a captured image into the rectified one.
import type { CameraCalibration, Matrix34 } from "./calibration.js";
import { isBeyondFlat, undistort } from "./distortion.js";
import { apply, type Matrix3 } from "./matrix.js";

/**
 * Returns where a captured point is in the rectified image, in pixels; the inverse of the maps. Undefined where a flat
 * image cannot show it.
 */
export function rectifyPoint(
  { K, distortion }: Pick<CameraCalibration, "K" | "distortion">,
  R: Matrix3,
  P: Matrix34,
  px: number,
  py: number,
): { x: number; y: number } | undefined {
  const [xd, yd] = [(px - K[2]) / K[0], (py - K[5]) / K[4]];
  if (isBeyondFlat(distortion, xd, yd)) return undefined;
  const [x, y] = undistort(distortion, xd, yd);
  const [rx, ry, rz] = apply(R, [x, y, 1]);
  if (rz <= 0) return undefined;
  return { x: (P[0]! * rx) / rz + P[2]!, y: (P[5]! * ry) / rz + P[6]! };
}
