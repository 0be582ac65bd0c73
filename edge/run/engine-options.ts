// SPDX-License-Identifier: Apache-2.0
// The engine's options for a run: what its outputs want encoded, and a slot for each frame that they may hold.
import type { EngineOptions } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import { floorEngineOptions } from "../outputs/derived/floor/engine-options.js";
import { requiredEncodings, slotsFor } from "../outputs/encodings.js";
import { engineOptionsFrom } from "../pipeline/engine-options.js";
import type { SharedParts } from "./shared-parts.js";

type Given = Parameters<typeof engineOptionsFrom>;

/** @throws DepthwattError CONFIG_INVALID, CALIBRATION_MISSING */
export function runEngineOptions(
  config: Config,
  source: Given[1],
  geometry: Given[2],
  shared: Pick<SharedParts, "rank"> | undefined,
): EngineOptions {
  const options = engineOptionsFrom(config, source, geometry, {
    ...requiredEncodings(config.outputs, geometry.depth !== undefined),
    ...floorEngineOptions(config.outputs.derived, geometry),
    slots: slotsFor(config.outputs),
  });
  return shared === undefined ? options : { ...options, rank: shared.rank };
}
