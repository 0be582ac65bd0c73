// SPDX-License-Identifier: Apache-2.0
// The calibration that the configuration names, checked against the size of the upright images.
import {
  type ImageSize,
  type LoadedCalibration,
  loadStereoCalibrationAsync,
  orientedSize,
  parseOrientation,
} from "../../camera/index.js";
import { DepthwattError, hasCode } from "../../core/index.js";
import type { Config } from "../config/index.js";

/**
 * Undefined where none is named: the images are taken as rectified.
 * @throws DepthwattError CALIBRATION_UNREADABLE, CALIBRATION_INVALID, CALIBRATION_SIZE_MISMATCH
 */
export async function configuredCalibration(
  { calibration: { file, leftName, lengthUnitMetres, allowScaling }, rig }: Config,
  captured: ImageSize,
): Promise<LoadedCalibration | undefined> {
  if (file === undefined) return undefined;
  const imageSize = orientedSize(captured, parseOrientation(rig.orientation).left);
  try {
    return await loadStereoCalibrationAsync(file, {
      imageSize,
      lengthUnitMetres,
      allowScaling,
      ...(leftName === undefined ? {} : { leftName }),
    });
  } catch (cause) {
    const isTurned = imageSize.width !== captured.width;
    if (!isTurned || !hasCode(cause, "CALIBRATION_SIZE_MISMATCH")) throw cause;
    throw new DepthwattError("CALIBRATION_SIZE_MISMATCH", (cause as Error).message, {
      cause,
      hint: `rig.orientation ${rig.orientation} exchanges width and height: calibrate with it, or change it.`,
    });
  }
}
