// SPDX-License-Identifier: Apache-2.0
// Determines which images a run requires apart from grey, and the note if they are missing.
import type { SourceDescription } from "../../camera/index.js";
import { hasColours } from "../../core/index.js";
import { readsColours, withoutColours } from "../../cuda/index.js";
import type { Config } from "../config/index.js";
import type { SourceRequirements } from "../contracts/source.js";
import { requiredEncodings } from "../outputs/encodings.js";

export const sourceRequirements = ({ match, outputs, points }: Config): SourceRequirements => ({
  colours:
    readsColours(match.algorithm) ||
    requiredEncodings(outputs, true).leftRgb === true ||
    points.colour === "rgb",
});

/** For the user, once: the matcher reads colours and these images have none. */
export function colourNote(
  { match: { algorithm } }: Config,
  { leftFormat }: Pick<SourceDescription, "leftFormat">,
): string | undefined {
  if (!readsColours(algorithm) || hasColours(leftFormat)) return undefined;
  return withoutColours(algorithm, `the source's images (${leftFormat}) have`);
}
