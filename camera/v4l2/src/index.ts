// SPDX-License-Identifier: Apache-2.0
// Cameras with a V4L2 driver: listed, opened, read in a loop, paired.
export type { FramePlane, TimestampPoint } from "./camera.js";
export { type AppliedControl, controlName } from "./controls.js";
export { CAMERA_ERRORS, CameraError, type CameraErrorCode, type CameraErrorDetails } from "./errors.js";
export { Frame, type FrameLayout } from "./frame.js";
export {
  type CameraDescription,
  describe,
  type ListedCamera,
  listDevices,
  type OfferedFormat,
} from "./list.js";
export type { NativeAgreedFormat as KeptFormat, NativeSize as OfferedSize } from "./native.js";
export { type CameraRequest, open } from "./open.js";
export {
  Camera,
  type CameraEventMap,
  type CameraStatistics,
  type Control,
  type ControlChange,
} from "./open-camera.js";
export type { StampOrigin } from "./pair/device-clock.js";
export type { PixelFormat } from "./pixel-format.js";
export { CAPTURE_FORMATS, type CaptureFormat, captureFormatFrom } from "./pixel-formats.js";
export { CameraPair, FramePair, type PairOptions, type PairStatistics, pair } from "./stereo.js";
