// SPDX-License-Identifier: Apache-2.0
// depthwatt-consumer/frames: messages to pictures, without a connection: for who gets them by a client of their own. The live page
// reads with it.
export { DepthwattError, type ErrorCode } from "../../core/index.js";
export * from "../frame/frame-format.js";
export { type FrameHeader, type ParsedFrame, parseFrame } from "../frame/payload.js";
export { decodeRvl } from "../frame/rvl.js";
export {
  type Counts,
  DEFAULT_MAX_PIXELS,
  decodeBody,
  decodePoints,
  type Points,
  toValues,
} from "./decode.js";
