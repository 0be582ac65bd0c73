// SPDX-License-Identifier: Apache-2.0
// From a pixel to its ray and to its place in the rectified image, to the last digit: for figures, not for maps.
import { distortFunction, growsUpTo } from "../../calibration/distortion.js";
import type { CameraCalibration, Rectification } from "../../calibration/index.js";
import { apply, transpose } from "../../calibration/matrix.js";

/** The ray (x, y, 1) of a pixel, by Newton's method; NaN where the lens has none. */
export function pixelRay({ K, distortion }: CameraCalibration, u: number, v: number): [number, number] {
  const distort = distortFunction(distortion);
  const xd = (u - K[2]) / K[0];
  const yd = (v - K[5]) / K[4];
  let [x, y] = [xd, yd];
  if (distortion.model === "equidistant") {
    const r = Math.hypot(xd, yd);
    if (r > 1.5) return [Number.NaN, Number.NaN];
    const scale = r < 1e-9 ? 1 : Math.tan(r) / r;
    [x, y] = [x * scale, y * scale];
  }
  const out = new Float64Array(2);
  const h = 1e-6;
  for (let round = 0; round < 50; round++) {
    distort(x + h, y, out);
    const [ax, ay] = [out[0]!, out[1]!];
    distort(x, y + h, out);
    const [bx, by] = [out[0]!, out[1]!];
    distort(x, y, out);
    const [ex, ey] = [out[0]! - xd, out[1]! - yd];
    const [xx, xy, yx, yy] = [(ax - out[0]!) / h, (bx - out[0]!) / h, (ay - out[1]!) / h, (by - out[1]!) / h];
    const determinant = xx * yy - xy * yx;
    const dx = (yy * ex - xy * ey) / determinant;
    const dy = (xx * ey - yx * ex) / determinant;
    x -= dx;
    y -= dy;
    if (Math.hypot(dx, dy) < 1e-12) break;
  }
  distort(x, y, out);
  const reached = Math.hypot(out[0]! - xd, out[1]! - yd) < 1e-6 && growsUpTo(distort, x, y);
  return reached ? [x, y] : [Number.NaN, Number.NaN];
}

/** Where a captured pixel of one camera is in its rectified image. */
export function rectifiedPoint(
  camera: CameraCalibration,
  rectification: Rectification,
  side: "left" | "right",
  u: number,
  v: number,
): [number, number] {
  const [x, y] = pixelRay(camera, u, v);
  const [R, P] =
    side === "left" ? [rectification.R1, rectification.P1] : [rectification.R2, rectification.P2];
  const [X, Y, Z] = apply(R, [x, y, 1]);
  return [(P[0]! * X) / Z + P[2]!, (P[5]! * Y) / Z + P[6]!];
}

/** Which captured pixel a rectified one comes from. */
export function capturedPoint(
  { K, distortion }: CameraCalibration,
  rectification: Rectification,
  side: "left" | "right",
  x: number,
  y: number,
): [number, number] {
  const [R, P] =
    side === "left" ? [rectification.R1, rectification.P1] : [rectification.R2, rectification.P2];
  const ray = apply(transpose(R), [(x - P[2]!) / P[0]!, (y - P[6]!) / P[5]!, 1]);
  if (!(ray[2] > 0)) return [Number.NaN, Number.NaN];
  const out = new Float64Array(2);
  distortFunction(distortion)(ray[0] / ray[2], ray[1] / ray[2], out);
  return [K[0] * out[0]! + K[2], K[4] * out[1]! + K[5]];
}
