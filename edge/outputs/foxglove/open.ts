// SPDX-License-Identifier: Apache-2.0
// Defines the output "foxglove". Loads its modules when it is switched on.
import { defineOutput } from "../../contracts/output.js";
import { foxgloveSettings } from "./settings.js";

export const foxglove = defineOutput({
  settings: foxgloveSettings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.foxglove.enabled is false"),
  encodings: ({ points, leftColours, right, registered }) => ({
    ...(points && { points: true }),
    ...(right && { rightGrey: true }),
    ...(registered && { registration: true }),
    ...(leftColours && { leftRgb: true }),
  }),
  // Frames are copied.
  framesHeld: 0,
  open: async (context) => (await import("./foxglove-output.js")).openFoxgloveOutput(context),
});
