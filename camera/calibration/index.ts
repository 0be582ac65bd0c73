// SPDX-License-Identifier: Apache-2.0
// Calibration files in, rectification and maps out.
export {
  baselineMetres,
  type CalibrationCorrection,
  type CameraCalibration,
  type Distortion,
  type DistortionModel,
  type ImageSize,
  type OtherCamera,
  type StereoCalibration,
  withHash,
} from "./calibration.js";
export { correctedCalibration } from "./corrected.js";
export type { Rectangle } from "./framing.js";
export {
  type LoadCalibrationOptions,
  type LoadedCalibration,
  loadStereoCalibration,
  loadStereoCalibrationAsync,
  parseStereoCalibration,
} from "./load.js";
export { buildMap, buildMaps, MAP_STEPS_PER_PIXEL, type RectificationMaps } from "./maps.js";
export { rotationMatrix } from "./matrix.js";
export { rectifyPoint } from "./points.js";
export { stringifyCalibration } from "./read-json.js";
export { type Rectification, type RectifyOptions, rectify } from "./rectification.js";
export { type RegistrationView, RIGHT_CAMERA, registrationView } from "./registration.js";
export { stringifyKalibr, stringifyOpenCv, stringifyRos } from "./write-foreign.js";
