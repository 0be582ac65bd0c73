// SPDX-License-Identifier: Apache-2.0
// Fits a plane to measured depths. In front of a pinhole camera a plane is linear in inverse depth: 1/z = a u + b v + c with
// u = (x - cx) / fx, v = (y - cy) / fy. Inverse depth is proportional to disparity, so the fit weighs disparities alike.

export interface DepthSample {
  /** Slope of the ray: u = (x - cx) / fx, v = (y - cy) / fy. */
  u: number;
  v: number;
  depthMetres: number;
}

export interface PlaneFit {
  /** 1/z = a u + b v + c, per metre. */
  a: number;
  b: number;
  c: number;
  /** Along the optical axis' direction, at the centre of the samples. */
  distanceMetres: number;
  /** Between the normal of the plane and the optical axis, degrees. */
  angleDegrees: number;
  /** Root mean square of the distances of the points from the plane, metres. */
  rmsMetres: number;
  /** The same of inverse depths, per metre. Times focal length and baseline: pixels of disparity. */
  rmsInverse: number;
}

/** Below this determinant, relative to the spread of the samples, they lie on one line. */
const FLAT = 1e-9;

/** Returns the plane with the smallest squared errors of inverse depth; undefined for fewer than three samples, or samples on one line. */
export function fitPlane(samples: readonly DepthSample[]): PlaneFit | undefined {
  const count = samples.length;
  if (count < 3) return undefined;
  let [meanU, meanV, meanW] = [0, 0, 0];
  for (const { u, v, depthMetres } of samples) {
    meanU += u / count;
    meanV += v / count;
    meanW += 1 / depthMetres / count;
  }
  let [uu, uv, vv, uw, vw] = [0, 0, 0, 0, 0];
  for (const { u, v, depthMetres } of samples) {
    const [du, dv, dw] = [u - meanU, v - meanV, 1 / depthMetres - meanW];
    uu += du * du;
    uv += du * dv;
    vv += dv * dv;
    uw += du * dw;
    vw += dv * dw;
  }
  const determinant = uu * vv - uv * uv;
  if (!(determinant > FLAT * uu * vv)) return undefined;
  const a = (uw * vv - vw * uv) / determinant;
  const b = (vw * uu - uw * uv) / determinant;
  const c = meanW - a * meanU - b * meanV;
  const norm = Math.hypot(a, b, c);
  let [squares, inverseSquares] = [0, 0];
  for (const { u, v, depthMetres } of samples) {
    const error = a * u + b * v + c - 1 / depthMetres;
    inverseSquares += error * error;
    squares += ((depthMetres * error) / norm) ** 2;
  }
  return {
    a,
    b,
    c,
    distanceMetres: 1 / meanW,
    angleDegrees: (Math.acos(Math.min(1, Math.abs(c) / norm)) * 180) / Math.PI,
    rmsMetres: Math.sqrt(squares / count),
    rmsInverse: Math.sqrt(inverseSquares / count),
  };
}
