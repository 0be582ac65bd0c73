// SPDX-License-Identifier: Apache-2.0
// Defines the output "energy".
import { defineOutput } from "../../contracts/output.js";
import { brokenEnergy, energySettings } from "./settings.js";

export const energy = defineOutput({
  settings: energySettings,
  broken: brokenEnergy,
  off: ({ file }) => (file === undefined ? "outputs.energy.file is not set" : undefined),
  encodings: () => ({}),
  framesHeld: 0,
  open: async (context) => (await import("./energy-output.js")).openEnergy(context),
});
