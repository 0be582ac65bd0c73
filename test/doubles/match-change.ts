// SPDX-License-Identifier: Apache-2.0
// Matching parameters with some of them changed, the matcher's own ones named next to those that all share.
import type { EngineOptions } from "../../cuda/index.js";

type Match = EngineOptions["match"];
type Shared = Omit<Match, "parameters">;

/** Such as {numDisparities: 64, paths: 8}. */
export type MatchChange = Partial<Shared> & Record<string, number | string | boolean | undefined>;

/** Another matcher does not get the parameters of the one before. */
export function changedMatch(base: Match, change: MatchChange): Match {
  const { algorithm = base.algorithm, halfResolution, minDisparity, numDisparities, ...own } = change;
  const kept = algorithm === base.algorithm ? base.parameters : {};
  return {
    algorithm,
    halfResolution: halfResolution ?? base.halfResolution,
    minDisparity: minDisparity ?? base.minDisparity,
    numDisparities: numDisparities ?? base.numDisparities,
    parameters: { ...kept, ...(own as Record<string, number | string | boolean>) },
  };
}
