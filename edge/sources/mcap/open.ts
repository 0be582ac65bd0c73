// SPDX-License-Identifier: Apache-2.0
// The source "mcap": a recording is computed again. What reads it is loaded with it.
import { defineSource } from "../../contracts/source.js";
import { mcapSettings } from "./settings.js";

export const mcap = defineSource({
  summary: "a recording in MCAP",
  settings: mcapSettings,
  isRecording: true,
  broken({ file }, section) {
    if (file !== undefined) return undefined;
    return { keys: [`${section}.file`], text: `expected ${section}.file to name a recording, got nothing` };
  },
  open: async (settings) =>
    (await import("./source.js")).openMcapSource({ ...settings, file: settings.file! }),
});
