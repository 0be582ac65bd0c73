// SPDX-License-Identifier: Apache-2.0
// Turns both cameras half-way towards each other and gives them one common new camera matrix.
import { DepthwattError } from "../../core/index.js";
import type { ImageSize, Matrix34, StereoCalibration } from "./calibration.js";
import { growsUntil } from "./distortion.js";
import { frameEquidistant, framePinhole, innerRectangle, type Rectangle, type Views } from "./framing.js";
import {
  apply,
  cross,
  length,
  type Matrix3,
  multiply,
  rotationMatrix,
  rotationVector,
  scale,
  transpose,
  type Vector3,
} from "./matrix.js";

export interface RectifyOptions {
  /**
   * 0: every rectified pixel comes from inside both images; 1: every captured pixel is kept, with empty borders;
   * between: between (OpenCV's alpha; its fisheye `balance`). "given": the R1, R2, P1, P2 of the file. Default 0.
   */
  crop?: number | "given";
  /** Size of the rectified images; default: the captured size. */
  outputSize?: ImageSize;
  /** false keeps a principal point per camera, so that disparityOffsetPixels is not 0. Default true. */
  commonPrincipalPoint?: boolean;
}

export interface Rectification {
  readonly width: number;
  readonly height: number;
  /** Turn each camera into the rectified frame: x_rectified = R x_camera. */
  readonly R1: Matrix3;
  readonly R2: Matrix3;
  /** New camera matrices, row-major 3x4, pixels; P2[3] = -focalPixels * baselineMetres. */
  readonly P1: Matrix34;
  readonly P2: Matrix34;
  readonly focalPixels: number;
  /** Principal point of the left rectified image, pixels. */
  readonly cx: number;
  readonly cy: number;
  readonly baselineMetres: number;
  /** cx of the right image minus cx of the left one: Z = focalPixels * baselineMetres / (disparity + offset). */
  readonly disparityOffsetPixels: number;
  /** Row-major 4x4: [X Y Z W] = Q [x y disparity 1], metres after division by W. */
  readonly qMatrix: readonly number[];
  /** The part of each rectified image that is sure to come from inside the captured one. */
  readonly validLeft: Rectangle;
  readonly validRight: Rectangle;
}

/** Both rotations of eq. "half the angle each, then the baseline onto the x axis" (Bouguet, as in OpenCV). */
function halfWayRotations(R: Matrix3, T: Vector3): { R1: Matrix3; R2: Matrix3 } {
  const half = rotationMatrix(scale(rotationVector(R), -0.5));
  const t = apply(half, T);
  const axis: Vector3 = [t[0] > 0 ? 1 : -1, 0, 0];
  const normal = cross(t, axis);
  const sine = length(normal);
  const turn = sine > 0 ? scale(normal, Math.acos(Math.abs(t[0]) / length(t)) / sine) : normal;
  const level = rotationMatrix(turn);
  return { R1: multiply(level, transpose(half)), R2: multiply(level, half) };
}

function assemble(
  size: ImageSize,
  R1: Matrix3,
  R2: Matrix3,
  P1: Matrix34,
  P2: Matrix34,
  views: Views,
): Rectification {
  const focalPixels = P1[0]!;
  const baselineMetres = -P2[3]! / P2[0]!;
  const cx = P1[2]!;
  const cy = P1[6]!;
  const disparityOffsetPixels = P2[2]! - cx;
  const aspect = focalPixels / P1[5]!;
  // Row 4 gives W = (disparity + offset) / baseline, so that Z = f B / (disparity + offset) with W's sign positive.
  // biome-ignore format: one row of the matrix per line
  const qMatrix = [
    1, 0, 0, -cx,
    0, aspect, 0, -cy * aspect,
    0, 0, 0, focalPixels,
    0, 0, 1 / baselineMetres, disparityOffsetPixels / baselineMetres,
  ];
  return {
    ...size,
    R1,
    R2,
    P1,
    P2,
    focalPixels,
    cx,
    cy,
    baselineMetres,
    disparityOffsetPixels,
    qMatrix,
    validLeft: innerRectangle(views.left, R1, P1, views.imageSize, size),
    validRight: innerRectangle(views.right, R2, P2, views.imageSize, size),
  };
}

function useGiven(calibration: StereoCalibration, views: Views, outputSize: ImageSize): Rectification {
  const { given, imageSize } = calibration;
  const source = calibration.files[0] ?? "the calibration";
  if (!given) {
    throw new DepthwattError(
      "CALIBRATION_INVALID",
      `${source}: expected a rectification (R1, R2, P1, P2) because crop is "given", found none.`,
      { hint: "Set calibration.crop to a number from 0 to 1.", context: { files: calibration.files } },
    );
  }
  if (outputSize.width !== imageSize.width || outputSize.height !== imageSize.height) {
    throw new DepthwattError(
      "CALIBRATION_SIZE_MISMATCH",
      `${source}: expected an output of ${imageSize.width}x${imageSize.height} because crop is "given", found ` +
        `${outputSize.width}x${outputSize.height}.`,
      { hint: "Set calibration.crop to a number from 0 to 1 to choose another size." },
    );
  }
  return assemble(outputSize, given.R1, given.R2, given.P1, given.P2, views);
}

/**
 * Fisheye coefficients say nothing of angles that no corner was seen at, and may fold back there: no pixel of the rectified
 * image may come from such an angle.
 */
function checkAngles({ left, right }: Views, { width, height, R1, R2, P1, P2 }: Rectification): void {
  for (const [{ distortion }, R, P] of [
    [left, R1, P1],
    [right, R2, P2],
  ] as const) {
    const max = growsUntil(distortion);
    for (const x of [0, width - 1]) {
      for (const y of [0, height - 1]) {
        const ray = apply(transpose(R), [(x - P[2]!) / P[0]!, (y - P[6]!) / P[5]!, 1]);
        const angle = Math.atan2(Math.hypot(ray[0], ray[1]), ray[2]);
        if (angle <= max) continue;
        const degrees = (one: number) => ((one * 180) / Math.PI).toFixed(0);
        throw new DepthwattError(
          "CALIBRATION_INVALID",
          `expected fisheye lenses whose distortion grows up to ${degrees(angle)} degrees off the axis, where the corners of ` +
            `the rectified image lie; it does up to ${degrees(max)}: coefficients [${distortion.coefficients.join(", ")}].`,
          { hint: "Calibrate with the board in the corners of both images too, or lower calibration.crop." },
        );
      }
    }
  }
}

/**
 * Rectifies a pair as OpenCV's stereoRectify does (fisheye::stereoRectify where the lenses are equidistant).
 * @throws DepthwattError CONFIG_INVALID (crop outside 0..1), CALIBRATION_INVALID (no given rectification, or a fisheye lens that
 *   sees too wide for one flat image)
 */
export function rectify(calibration: StereoCalibration, options: RectifyOptions = {}): Rectification {
  const { crop = 0, outputSize = calibration.imageSize, commonPrincipalPoint = true } = options;
  const { left, right, imageSize, R, T } = calibration;
  const views: Views = { left, right, imageSize };
  if (crop === "given") return useGiven(calibration, views, outputSize);
  if (!(crop >= 0 && crop <= 1)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `calibration.crop: expected a number from 0 to 1, found ${crop}.`,
      {
        context: { key: "calibration.crop", found: crop },
      },
    );
  }
  const { R1, R2 } = halfWayRotations(R, T);
  const fisheye = left.distortion.model === "equidistant" && right.distortion.model === "equidistant";
  const frame = fisheye ? frameEquidistant : framePinhole;
  const { focal, centres } = frame({ views, R1, R2, crop, outputSize, commonPrincipalPoint });
  const baseline = length(T);
  const P1 = [focal, 0, centres[0].x, 0, 0, focal, centres[0].y, 0, 0, 0, 1, 0];
  const P2 = [focal, 0, centres[1].x, -focal * baseline, 0, focal, centres[1].y, 0, 0, 0, 1, 0];
  const rectification = assemble(outputSize, R1, R2, P1, P2, views);
  if (fisheye) checkAngles(views, rectification);
  return rectification;
}
