// SPDX-License-Identifier: Apache-2.0
// The settings of match as the engine's parameters: those of the chosen matcher alone.
import { findMatcher, type MatchParameters, type ParameterValue } from "../../cuda/index.js";
import type { Config } from "./schema.js";

/** Leaves out "auto" settings: the matcher has a default for each resolution, and the governor may change that. */
export function matchParameters(config: Config["match"]): MatchParameters {
  const { algorithm, minDisparity, numDisparities } = config;
  const own: Record<string, ParameterValue> = config[algorithm];
  return {
    algorithm,
    minDisparity,
    numDisparities,
    halfResolution:
      config.halfResolution === "auto" ? findMatcher(algorithm).halfByDefault : config.halfResolution,
    parameters: Object.fromEntries(Object.entries(own).filter(([, value]) => value !== "auto")),
  };
}
