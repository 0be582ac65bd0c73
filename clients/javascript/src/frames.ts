// SPDX-License-Identifier: Apache-2.0
// depthwatt-consumer/frames: turns messages into pictures, for programs with their own MQTT client and for the live page.

export * from "../../../core/frame/frame-format.js";
export { type FrameHeader, type ParsedFrame, parseFrame } from "../../../core/frame/payload.js";
export { decodeRvl } from "../../../core/frame/rvl.js";
export { DepthwattError, type ErrorCode } from "../../../core/index.js";
export {
  type Counts,
  DEFAULT_MAX_PIXELS,
  decodeBody,
  decodePoints,
  type Points,
  toValues,
} from "./decode.js";
