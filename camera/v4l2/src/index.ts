// SPDX-License-Identifier: Apache-2.0
// Cameras with a V4L2 driver.
export { controlName } from "./controls.js";
export { CAMERA_ERRORS, CameraError, type CameraErrorCode, type CameraErrorDetails } from "./errors.js";
export type { PixelFormat } from "./pixel-format.js";
export { CAPTURE_FORMATS, type CaptureFormat, captureFormatOf } from "./pixel-formats.js";
