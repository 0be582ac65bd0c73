// SPDX-License-Identifier: Apache-2.0
// Defines the output "command". Loads its modules when it is switched on.
import { defineOutput } from "../../contracts/output.js";
import { brokenCommand, commandOutputSettings } from "./settings.js";

export const command = defineOutput({
  settings: commandOutputSettings,
  broken: brokenCommand,
  off: ({ command }) => (command === undefined ? "outputs.command.command is not set" : undefined),
  encodings: () => ({}),
  // Frames are copied.
  framesHeld: 0,
  open: async (context) => (await import("./command-output.js")).openCommandOutput(context),
});
