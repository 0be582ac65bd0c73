// SPDX-License-Identifier: Apache-2.0
// Defines the output "mcap", which records computed frames. Loads its modules when there is something to record.
import type { RequestedEncodings } from "../../contracts/computed-frame.js";
import { defineOutput } from "../../contracts/output.js";
import { type McapSettings, mcapSettings } from "./settings.js";

function mcapEncodings(settings: McapSettings, hasDepth: boolean): RequestedEncodings {
  const { recording, depth, points, left, leftColours, right, registered } = settings;
  return {
    ...(recording && hasDepth && depth === "compressedDepth" && { encodeDepth: "rvl" }),
    ...(recording && points && { points: true }),
    ...(recording && registered && { registration: true }),
    ...(recording && right && { rightGrey: true }),
    ...(recording && left && leftColours && { leftRgb: true }),
  };
}

export const mcap = defineOutput({
  settings: mcapSettings,
  off: ({ file }) => (file === undefined ? "outputs.mcap.file is not set" : undefined),
  encodings: mcapEncodings,
  // Frames are copied.
  framesHeld: 0,
  open: async (context) => (await import("./mcap-output.js")).openMcapOutput(context),
});
