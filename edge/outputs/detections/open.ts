// SPDX-License-Identifier: Apache-2.0
// Defines the output "detections": it measures the distance of what other programs detect in the left image.
import { defineOutput } from "../../contracts/output.js";
import { brokenDetections, detectionsSettings } from "./settings.js";

export const detections = defineOutput({
  settings: detectionsSettings,
  broken: brokenDetections,
  off: ({ enabled }) => (enabled ? undefined : "outputs.detections.enabled is false"),
  encodings: () => ({ rightGrey: true }),
  // The history copies a frame while it is lent.
  framesHeld: 0,
  open: async (context) => (await import("./detections-output.js")).openDetections(context),
});
