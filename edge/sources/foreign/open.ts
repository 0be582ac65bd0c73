// SPDX-License-Identifier: Apache-2.0
// The source "foreign": another stereo engine, whose disparity is refined, measured and published.
import { openForeignSource, splitCommand } from "../../../camera/index.js";
import { isDepthwattError, printable, redactUrl } from "../../../core/index.js";
import { type BrokenSetting, defineSource } from "../../contracts/source.js";
import { foreignSettings } from "./settings.js";

export const foreign = defineSource({
  summary: "another stereo engine",
  settings: foreignSettings,
  broken({ command, shell }, section): BrokenSetting | undefined {
    const keys = [`${section}.command`];
    if (command === undefined) return { keys, text: `expected ${keys[0]}, got none` };
    try {
      if (!shell) splitCommand(command);
      return undefined;
    } catch (error) {
      if (!isDepthwattError(error)) throw error;
      return { keys, text: `${keys[0]}: ${error.message}` };
    }
  },
  open: async ({ command = "", ...settings }) => ({
    source: await openForeignSource({ ...settings, command, clean: (line) => redactUrl(printable(line)) }),
  }),
});
