// SPDX-License-Identifier: Apache-2.0
// The engine's options for a run: what its outputs want encoded, and a slot for each frame that they may hold.
import type { EngineOptions } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { encodingsOf, slotsFor } from "../outputs/encodings.js";
import { engineOptionsOf } from "../pipeline/engine-options.js";

type Given = Parameters<typeof engineOptionsOf>;

/** @throws DepthwattError CONFIG_INVALID, CALIBRATION_MISSING */
export function runEngineOptions(config: Config, source: Given[1], geometry: Given[2]): EngineOptions {
  return engineOptionsOf(config, source, geometry, {
    ...encodingsOf(config.outputs, geometry.depth !== undefined),
    slots: slotsFor(config.outputs),
  });
}
