// SPDX-License-Identifier: Apache-2.0
// Converts errors of the package v4l2-camera into errors of depthwatt's catalogue.
import { CAMERA_ERRORS, CameraError, type CameraErrorCode } from "v4l2-camera";
import { DepthwattError, type ErrorCode } from "../../core/index.js";

const CODES: Record<CameraErrorCode, ErrorCode> = {
  DEVICE_UNAVAILABLE: "DEVICE_UNAVAILABLE",
  DEVICE_PERMISSION: "DEVICE_PERMISSION",
  DEVICE_BUSY: "DEVICE_BUSY",
  DEVICE_BANDWIDTH: "DEVICE_BANDWIDTH",
  DEVICE_UNSUITABLE: "DEVICE_UNSUITABLE",
  INVALID_ARGUMENT: "ENGINE_PARAMETER",
  INVALID_STATE: "INTERNAL",
  ADDON_MISSING: "ADDON_MISSING",
};

/** A hint that only repeats its code's is replaced by depthwatt's, which names depthwatt's own commands. */
export function asDepthwattError<T>(error: T): T | DepthwattError {
  if (!(error instanceof CameraError)) return error;
  const { code, message, hint, context } = error;
  const own = hint === CAMERA_ERRORS[code].hint ? {} : { hint };
  return new DepthwattError(CODES[code], message, { ...own, cause: error, context });
}
