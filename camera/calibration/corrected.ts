// SPDX-License-Identifier: Apache-2.0
// A calibration with a rotation of the right camera, measured since it was made, in its extrinsics.
import { type CalibrationCorrection, type StereoCalibration, withHash } from "./calibration.js";
import { apply, multiply, rotationMatrix, transpose } from "./matrix.js";
import type { Rectification } from "./rectification.js";

const DEGREES = 180 / Math.PI;

/**
 * Turns the right camera about its own centre: x_now = D x_calibrated in the rectified right frame, so that
 * R' = R2^T D R2 R and T' = R2^T D R2 T. A rectification of the file itself does not fit any more and is left out.
 * @param rectification by which `correction` was measured
 */
export function correctedCalibration(
  calibration: StereoCalibration,
  { R2 }: Pick<Rectification, "R2">,
  correction: CalibrationCorrection,
): StereoCalibration {
  const { pitch, yaw, roll } = correction;
  const turn = rotationMatrix([pitch / DEGREES, yaw / DEGREES, roll / DEGREES]);
  const inCamera = multiply(transpose(R2), multiply(turn, R2));
  const { given: _, hash: __, corrections = [], ...rest } = calibration;
  return withHash({
    ...rest,
    R: multiply(inCamera, calibration.R),
    T: apply(inCamera, calibration.T),
    corrections: [...corrections, correction],
    files: [],
  });
}
