// SPDX-License-Identifier: Apache-2.0
// How old a frame is: on one host by the monotonic clock, between hosts by UNIX time as far as their clocks agree.
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import { monotonicNowNs } from "../../../core/frame/node-builtin.js";
import type { FrameHeader } from "../../../core/frame/payload.js";

const domain = localClockDomain();

/** Milliseconds since 1970. performance counts finely but never follows a clock that is set; Date does. */
function unixNowMs(): number {
  const coarse = Date.now();
  const fine = performance.timeOrigin + performance.now();
  return Math.abs(fine - coarse) < 2 ? fine : coarse;
}

/** Milliseconds from the left camera's capture to now; undefined where the capture clock cannot be compared with ours. */
export function frameLatencyMs(header: FrameHeader): number | undefined {
  const { clock, leftTimestampNs, realtimeOffsetNs, clockDomain } = header;
  if (clock === "monotonic" && clockDomain !== 0 && clockDomain === domain && monotonicNowNs !== undefined) {
    return Number(monotonicNowNs() - leftTimestampNs) / 1e6;
  }
  if (clock === "file" || realtimeOffsetNs === undefined) return undefined;
  const capturedNs = leftTimestampNs + realtimeOffsetNs;
  // Split before converting: nanoseconds since 1970 do not fit a double, milliseconds and their rest do.
  return unixNowMs() - (Number(capturedNs / 1_000_000n) + Number(capturedNs % 1_000_000n) / 1e6);
}
