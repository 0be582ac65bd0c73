// SPDX-License-Identifier: Apache-2.0
// The settings of match as the engine's parameters: those of the chosen matcher alone.
import { findMatcher, type MatchParameters, type ParameterValue } from "../../cuda/index.js";
import type { Config } from "./schema.js";

/**
 * Leaves out numbers that are "auto": the matcher has a default for each resolution, and the governor may change that. The
 * engine itself resolves words that are "auto".
 */
export function matchParameters(config: Config["match"]): MatchParameters {
  const { algorithm, minDisparity, numDisparities } = config;
  const own: Record<string, ParameterValue> = config[algorithm];
  const words = findMatcher(algorithm).parameters.filter(({ kind }) => kind === "word");
  const isLeftOut = ([key, value]: [string, ParameterValue]) =>
    value === "auto" && !words.some((word) => word.key === key);
  return {
    algorithm,
    minDisparity,
    numDisparities,
    halfResolution:
      config.halfResolution === "auto" ? findMatcher(algorithm).halfByDefault : config.halfResolution,
    parameters: Object.fromEntries(Object.entries(own).filter((entry) => !isLeftOut(entry))),
  };
}
