// SPDX-License-Identifier: Apache-2.0
// The source "synthetic": the built-in scene, drawn while it runs.
import { SyntheticSource } from "../../../camera/index.js";
import { loadNative } from "../../contracts/native.js";
import { defineSource } from "../../contracts/source.js";
import { syntheticSettings } from "./settings.js";

export const synthetic = defineSource({
  summary: "the built-in moving scene",
  settings: syntheticSettings,
  async open(settings, { colours }) {
    const source = new SyntheticSource(loadNative(), { ...settings, colours });
    return { source, calibration: source.calibration };
  },
});
