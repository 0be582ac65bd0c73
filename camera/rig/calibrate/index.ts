// SPDX-License-Identifier: Apache-2.0
// Exports calibration from images of a board: detection, selection, adjustment and quality.
export { type Board, boardCorners, boardGrid, boardWords } from "./board.js";
export { calibratePairs } from "./calibrate.js";
export { LEAST_PAIRS } from "./choose.js";
export { COVERAGE_COLUMNS, COVERAGE_ROWS, type Coverage, measureCoverage } from "./coverage.js";
export { type BoardGuess, detectIn, guessBoard, guessDetection } from "./detect.js";
export { DICTIONARIES, type Dictionary } from "./dictionaries.js";
export {
  CaptureGuide,
  GUIDE_GOALS,
  type Guidance,
  type GuideProgress,
  TILTS,
  type TiltSide,
} from "./guide.js";
export {
  type CalibrateExports,
  type Detection,
  LENS_MODELS,
  type LensModel,
  PATTERNS,
  type Pattern,
} from "./native.js";
export type { PairVerdict, RejectionCause, SeenPair } from "./pairs.js";
export { capturedPoint, rectifiedPoint } from "./rays.js";
export type { CalibrateOptions, CalibrationResult, DepthError } from "./result.js";
