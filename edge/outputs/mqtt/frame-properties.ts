// SPDX-License-Identifier: Apache-2.0
// The MQTT 5 properties of a frame's message: content type, expiry, and some header fields again for programs that do not read
// the header. Where they differ, the header is right.
import type { FrameDescription } from "../../../core/frame/payload.js";
import type { PublishProperties } from "../../mqtt/publish-packet.js";

export const FRAME_CONTENT_TYPE = "application/vnd.depthwatt.frame";

/** Three periods, and at least a second: a broker may then forget the message. */
export const expirySeconds = (periodMs: number): number => Math.max(1, Math.ceil((3 * periodMs) / 1000));

export function frameProperties(
  frame: FrameDescription,
  frameNumber: number,
  periodMs: number,
): PublishProperties {
  return {
    contentType: FRAME_CONTENT_TYPE,
    expirySeconds: expirySeconds(periodMs),
    user: [
      ["encoding", frame.encoding],
      ["width", String(frame.width)],
      ["height", String(frame.height)],
      ["frameNumber", String(frameNumber)],
      ["leftTimestampNs", String(frame.leftTimestampNs)],
      ["clock", frame.clock],
      ...(frame.reduction === undefined ? [] : ([["reduction", String(frame.reduction)]] as const)),
    ],
  };
}
