// SPDX-License-Identifier: Apache-2.0
// The MQTT 5 properties of a frame's message: content type, expiry, and some header fields again for programs that do not read
// the header. Where they differ, the header is right.
import type { FrameDescription } from "../../../core/frame/payload.js";
import type { PublishProperties } from "../../mqtt/publish-packet.js";

export const FRAME_CONTENT_TYPE = "application/vnd.depthwatt.frame";

/** Three periods, and at least a second: a broker may then forget the message. */
export const expirySeconds = (periodMs: number): number => Math.max(1, Math.ceil((3 * periodMs) / 1000));

/** The energy that the frame carries, in SI units with enough digits for any reader. */
function energyProperties(energy: FrameDescription["energy"]): (readonly [string, string])[] {
  if (energy === undefined) return [];
  if (!energy.available) return [["energy", `unavailable: ${energy.reason}`]];
  const { joules, joulesUncertainty, seconds, ageMs } = energy;
  const uncertainty = typeof joulesUncertainty === "number" ? joulesUncertainty.toPrecision(3) : "unknown";
  return [
    ["energyJoules", joules.toPrecision(6)],
    ["energyUncertaintyJoules", uncertainty],
    ["energySeconds", seconds.toPrecision(6)],
    ["energyAgeMs", ageMs.toFixed(3)],
  ];
}

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
      ...energyProperties(frame.energy),
      ...(frame.reduction === undefined ? [] : ([["reduction", String(frame.reduction)]] as const)),
    ],
  };
}
