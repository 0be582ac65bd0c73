// SPDX-License-Identifier: Apache-2.0
// The output "homeAssistant": announces the device, its figures, its picture and some of its settings.
import { defineOutput } from "../../contracts/output.js";
import { brokenHomeAssistant, homeAssistantSettings } from "./settings.js";

export const homeAssistant = defineOutput({
  settings: homeAssistantSettings,
  broken: brokenHomeAssistant,
  off: ({ enabled }) => (enabled ? undefined : "outputs.homeAssistant.enabled is false"),
  encodings: () => ({}),
  framesHeld: 0,
  open: async (context) => (await import("./homeassistant-output.js")).openHomeAssistant(context),
});
