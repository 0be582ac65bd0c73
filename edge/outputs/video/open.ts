// SPDX-License-Identifier: Apache-2.0
// Defines the output "video": Motion JPEG over HTTP, for browsers, VLC, Home Assistant. Loads its modules when it is switched on.
import { defineOutput } from "../../contracts/output.js";
import { videoSettings } from "./settings.js";

export const video = defineOutput({
  settings: videoSettings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.video.enabled is false"),
  encodings: ({ leftColours }) => ({ ...(leftColours && { leftRgb: true }) }),
  // Frames are copied.
  framesHeld: 0,
  open: async (context) => (await import("./video-output.js")).openVideoOutput(context),
});
