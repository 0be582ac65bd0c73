// SPDX-License-Identifier: Apache-2.0
// Defines the output "sharedMemory". Loads its modules when it is switched on.
import { defineOutput } from "../../contracts/output.js";
import { brokenSharedMemory, sharedMemorySettings } from "./settings.js";

export const sharedMemory = defineOutput({
  settings: sharedMemorySettings,
  broken: brokenSharedMemory,
  off: ({ path }) => (path === undefined ? "outputs.sharedMemory.path is not set" : undefined),
  encodings: ({ points, leftColours, right, registered }) => ({
    ...(points && { points: true }),
    ...(right && { rightGrey: true }),
    ...(registered && { registration: true }),
    ...(leftColours && { leftRgb: true }),
  }),
  // Frames are copied into the ring at once.
  framesHeld: 0,
  open: async (context) => (await import("./shared-memory-output.js")).openSharedMemoryOutput(context),
});
