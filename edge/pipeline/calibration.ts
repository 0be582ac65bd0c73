// SPDX-License-Identifier: Apache-2.0
// The calibration that the configuration names, checked against the size of the images it is for.
import { type ImageSize, type LoadedCalibration, loadStereoCalibrationAsync } from "../../camera/index.js";
import type { Config } from "../config/index.js";

/**
 * Undefined where none is named: the images are taken as rectified.
 * @throws DepthwattError CALIBRATION_UNREADABLE, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH
 */
export async function configuredCalibration(
  { calibration: { file, leftName, lengthUnitMetres, allowScaling } }: Config,
  imageSize: ImageSize,
): Promise<LoadedCalibration | undefined> {
  if (file === undefined) return undefined;
  return loadStereoCalibrationAsync(file, {
    imageSize,
    lengthUnitMetres,
    allowScaling,
    ...(leftName === undefined ? {} : { leftName }),
  });
}
