// SPDX-License-Identifier: Apache-2.0
// Builds the fixed-point rectification maps: for each rectified pixel, where in the captured image it comes from.
import { allocate } from "../../core/index.js";
import type { CameraCalibration, ImageSize, Matrix34, StereoCalibration } from "./calibration.js";
import { distortFunction } from "./distortion.js";
import { inverse, type Matrix3, multiply } from "./matrix.js";
import type { Rectification } from "./rectification.js";

/** Steps per pixel of a map entry. */
export const MAP_STEPS_PER_PIXEL = 32;

export interface RectificationMaps {
  /** [height][width][2]: source x, then y, in 1/32 px. What EngineOptions.leftMap takes. */
  leftMap: Int32Array;
  rightMap: Int32Array;
}

/**
 * One camera's map by the inverse mapping of OpenCV's initUndistortRectifyMap: ray = (P R)^-1 [x y 1], divided by z,
 * distorted, multiplied by K; all in float64.
 *
 * Rounding: entry = floor(32 v + 1/2), the nearest step, halves upwards. Entries further than one pixel outside the
 * captured image are moved to one pixel outside (the remap replicates the border, so the pixel is the same), and so
 * are rays that point backwards: the range is [-32, 32 width] and [-32, 32 height], and "x < 0" still says outside.
 */
export function buildMap(
  camera: Pick<CameraCalibration, "K" | "distortion">,
  R: Matrix3,
  P: Matrix34,
  imageSize: ImageSize,
  outputSize: ImageSize,
): Int32Array {
  const { width, height } = outputSize;
  const map = new Int32Array(allocate(8 * width * height, "a rectification map"));
  const newK: Matrix3 = [P[0]!, P[1]!, P[2]!, P[4]!, P[5]!, P[6]!, P[8]!, P[9]!, P[10]!];
  const [a, b, c, d, e, f, g, h, i] = inverse(multiply(newK, R));
  const [fx, , cx, , fy, cy] = camera.K;
  const distort = distortFunction(camera.distortion);
  const maxX = MAP_STEPS_PER_PIXEL * imageSize.width;
  const maxY = MAP_STEPS_PER_PIXEL * imageSize.height;
  const point = new Float64Array(2);
  let index = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++, index += 2) {
      const z = g * x + h * y + i;
      if (z <= 0) {
        map[index] = -MAP_STEPS_PER_PIXEL;
        map[index + 1] = -MAP_STEPS_PER_PIXEL;
        continue;
      }
      distort((a * x + b * y + c) / z, (d * x + e * y + f) / z, point);
      const u = Math.floor(MAP_STEPS_PER_PIXEL * (fx * point[0]! + cx) + 0.5);
      const v = Math.floor(MAP_STEPS_PER_PIXEL * (fy * point[1]! + cy) + 0.5);
      map[index] = Math.max(-MAP_STEPS_PER_PIXEL, Math.min(u, maxX));
      map[index + 1] = Math.max(-MAP_STEPS_PER_PIXEL, Math.min(v, maxY));
    }
  }
  return map;
}

/** Both maps of a rectified pair, once per open. */
export function buildMaps(calibration: StereoCalibration, rectification: Rectification): RectificationMaps {
  const { imageSize, left, right } = calibration;
  return {
    leftMap: buildMap(left, rectification.R1, rectification.P1, imageSize, rectification),
    rightMap: buildMap(right, rectification.R2, rectification.P2, imageSize, rectification),
  };
}
