// SPDX-License-Identifier: Apache-2.0
// Lens models in normalised camera coordinates: distort (used by the maps) and its inverse (used to frame the new image).
import { DepthwattError } from "../../core/index.js";
import type { Distortion } from "./calibration.js";

/** Writes the distorted point (x, y in normalised coordinates) of the undistorted (x, y) into `out`. */
export type Distort = (x: number, y: number, out: Float64Array) => void;

/**
 * The Brown-Conrady family: radial (1 + k1 r2 + k2 r4 + k3 r6) / (1 + k4 r2 + k5 r4 + k6 r6), tangential p1 p2, thin
 * prism s1..s4 (OpenCV's documentation of calib3d, "detailed description"). Missing coefficients are 0.
 */
function brown(coefficients: readonly number[]): Distort {
  const [k1 = 0, k2 = 0, p1 = 0, p2 = 0, k3 = 0, k4 = 0, k5 = 0, k6 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0] =
    coefficients;
  return (x, y, out) => {
    const r2 = x * x + y * y;
    const radial = (1 + ((k3 * r2 + k2) * r2 + k1) * r2) / (1 + ((k6 * r2 + k5) * r2 + k4) * r2);
    const xy2 = 2 * x * y;
    out[0] = x * radial + p1 * xy2 + p2 * (r2 + 2 * x * x) + (s2 * r2 + s1) * r2;
    out[1] = y * radial + p1 * (r2 + 2 * y * y) + p2 * xy2 + (s4 * r2 + s3) * r2;
  };
}

/** theta_d = theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8), theta = atan r (Kannala and Brandt 2006). */
function equidistant(coefficients: readonly number[]): Distort {
  const [k1 = 0, k2 = 0, k3 = 0, k4 = 0] = coefficients;
  return (x, y, out) => {
    const r = Math.sqrt(x * x + y * y);
    const theta = Math.atan(r);
    const t2 = theta * theta;
    const scale = r === 0 ? 1 : (theta * (1 + (((k4 * t2 + k3) * t2 + k2) * t2 + k1) * t2)) / r;
    out[0] = x * scale;
    out[1] = y * scale;
  };
}

export function distortFunction({ model, coefficients }: Distortion): Distort {
  if (model === "equidistant") return equidistant(coefficients);
  return brown(coefficients);
}

/**
 * Five rounds of x <- (x_d - tangential(x)) / radial(x), which is what OpenCV's stereoRectify takes to frame the new
 * image; more rounds would be nearer to the true inverse and further from OpenCV's camera matrix. Only the framing
 * depends on it: the maps use the forward model (docs/decisions/0009).
 */
function undistortBrown(coefficients: readonly number[], xd: number, yd: number): [number, number] {
  const [k1 = 0, k2 = 0, p1 = 0, p2 = 0, k3 = 0, k4 = 0, k5 = 0, k6 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0] =
    coefficients;
  let x = xd;
  let y = yd;
  for (let round = 0; round < 5; round++) {
    const r2 = x * x + y * y;
    const inverseRadial = (1 + ((k6 * r2 + k5) * r2 + k4) * r2) / (1 + ((k3 * r2 + k2) * r2 + k1) * r2);
    if (inverseRadial < 0) return [xd, yd];
    const dx = 2 * p1 * x * y + p2 * (r2 + 2 * x * x) + (s2 * r2 + s1) * r2;
    const dy = p1 * (r2 + 2 * y * y) + 2 * p2 * x * y + (s4 * r2 + s3) * r2;
    x = (xd - dx) * inverseRadial;
    y = (yd - dy) * inverseRadial;
  }
  return [x, y];
}

/** Newton on theta_d(theta); the point is in front of the camera, so theta stays below pi / 2. */
function undistortEquidistant(coefficients: readonly number[], xd: number, yd: number): [number, number] {
  const [k1 = 0, k2 = 0, k3 = 0, k4 = 0] = coefficients;
  const thetaD = Math.min(Math.hypot(xd, yd), Math.PI / 2);
  if (thetaD < 1e-8) return [xd, yd];
  let theta = thetaD;
  for (let round = 0; round < 10; round++) {
    const t2 = theta * theta;
    const value = theta * (1 + (((k4 * t2 + k3) * t2 + k2) * t2 + k1) * t2) - thetaD;
    const slope = 1 + (((9 * k4 * t2 + 7 * k3) * t2 + 5 * k2) * t2 + 3 * k1) * t2;
    const step = value / slope;
    theta -= step;
    if (Math.abs(step) < 1e-8) {
      if (theta <= 0 || theta >= Math.PI / 2) break;
      const scale = Math.tan(theta) / thetaD;
      return [xd * scale, yd * scale];
    }
  }
  throw new DepthwattError(
    "CALIBRATION_INVALID",
    `The equidistant lens model has no inverse at ${thetaD.toFixed(3)} rad off the axis: expected a distortion that ` +
      `grows with the angle over the whole image, found coefficients [${coefficients.join(", ")}].`,
    { context: { coefficients, thetaD } },
  );
}

/**
 * Returns the undistorted point of a pixel, in normalised camera coordinates, to a millionth of a pixel: the position in which the
 * forward model gives the pixel.
 */
export function undistortExactly(
  { K, distortion }: { K: readonly number[]; distortion: Distortion },
  px: number,
  py: number,
): [x: number, y: number] {
  const [xd, yd] = [(px - K[2]!) / K[0]!, (py - K[5]!) / K[4]!];
  const distort = distortFunction(distortion);
  const point = new Float64Array(2);
  let [x, y] = undistort(distortion, xd, yd);
  for (let round = 0; round < 100; round++) {
    distort(x, y, point);
    const [dx, dy] = [xd - point[0]!, yd - point[1]!];
    x += dx;
    y += dy;
    if (Math.hypot(dx * K[0]!, dy * K[4]!) < 1e-6) break;
  }
  return [x, y];
}

/**
 * Returns whether the distorted point moves outwards all the way from the axis to (x, y). Beyond the radius where it
 * stops doing so, the model folds back into the image.
 */
export function growsUpTo(distort: Distort, x: number, y: number): boolean {
  const steps = 32;
  const h = 1e-6;
  const [near, far] = [new Float64Array(2), new Float64Array(2)];
  for (let step = 1; step <= steps; step++) {
    const t = step / steps;
    distort(t * x, t * y, near);
    distort((t + h) * x, (t + h) * y, far);
    if (!((far[0]! - near[0]!) * x + (far[1]! - near[1]!) * y >= 0)) return false;
  }
  return true;
}

/** The angle off the axis up to which theta_d grows, at most pi / 2, in steps of a third of a degree. */
export function growsUntil({ coefficients }: Distortion): number {
  const [k1 = 0, k2 = 0, k3 = 0, k4 = 0] = coefficients;
  const steps = 270;
  for (let step = 1; step <= steps; step++) {
    const theta = (step / steps) * (Math.PI / 2);
    const t2 = theta * theta;
    if (!(1 + (((9 * k4 * t2 + 7 * k3) * t2 + 5 * k2) * t2 + 3 * k1) * t2 > 0))
      return theta - Math.PI / 2 / steps;
  }
  return Math.PI / 2;
}

/**
 * Returns whether a fisheye lens sees this distorted point at 90 degrees or more off its axis, which no flat image
 * reaches, or beyond the angle that its coefficients determine.
 */
export function isBeyondFlat(distortion: Distortion, x: number, y: number): boolean {
  if (distortion.model !== "equidistant") return false;
  const [k1 = 0, k2 = 0, k3 = 0, k4 = 0] = distortion.coefficients;
  const theta = growsUntil(distortion);
  const t2 = theta * theta;
  // A hair before, where a tangent is still a number of pixels.
  return Math.hypot(x, y) > 0.999 * theta * (1 + (((k4 * t2 + k3) * t2 + k2) * t2 + k1) * t2);
}

/** The undistorted point of a distorted one, both in normalised camera coordinates. */
export function undistort({ model, coefficients }: Distortion, x: number, y: number): [number, number] {
  if (model === "none") return [x, y];
  return model === "equidistant"
    ? undistortEquidistant(coefficients, x, y)
    : undistortBrown(coefficients, x, y);
}
