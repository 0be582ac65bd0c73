// SPDX-License-Identifier: Apache-2.0
// What TypeScript knows of a matcher: settings, flags, JSON shapes and the governor's steps come from it. Native code knows the
// same (matcher.h), and a test holds the two equal.

export type ParameterValue = number | string | boolean;

interface ParameterText {
  /** The setting is match.<matcher>.<key>. */
  key: string;
  /** Absent for names, counts and switches. */
  unit?: string;
  /** One sentence. */
  description: string;
}

export type MatcherParameter = ParameterText &
  (
    | {
        /** A whole number of low to high. */
        kind: "whole";
        low: number;
        high: number;
        default: number;
        /** Where half resolution has another default: then the setting's own is "auto". */
        defaultAtHalf?: number;
      }
    | { kind: "oneOf"; choices: readonly number[]; default: number }
    | { kind: "word"; choices: readonly string[]; default: string }
    | { kind: "flag"; default: boolean }
  );

/** What the governor may give up before it halves resolution or search, best first. */
export interface MatcherLadder {
  /** Each lowers a parameter to this value where it is higher. */
  steps: readonly { key: string; value: number }[];
  /** So many steps stay taken where half resolution takes the others' place. */
  atHalf: number;
  /** Work per cell: in proportion to the parameter of this name, or this number; 4 is that of sgm with 4 paths. */
  workPerCell: string | number;
}

/** A search and the values of a matcher's parameters. */
export interface MatcherValues {
  halfResolution: boolean;
  minDisparity: number;
  numDisparities: number;
  parameters: Readonly<Record<string, ParameterValue>>;
}

/** A rule between settings that is broken: the first of the keys is the one to change. */
export interface BrokenRule {
  keys: [string, ...string[]];
  text: string;
}

export interface Matcher {
  /** Its folder, and its word in settings. */
  name: string;
  /** The rest of the sentence "NAME is ...". */
  description: string;
  images: "grey" | "grey and left rgb" | "grey and rgb";
  /** match.halfResolution = auto means at half resolution. */
  halfByDefault: boolean;
  parameters: readonly MatcherParameter[];
  ladder: MatcherLadder;
  /** What ranges alone cannot tell. */
  check?: (values: MatcherValues) => BrokenRule | undefined;
}

/** Of one parameter at this resolution. */
export function defaultOf(parameter: MatcherParameter, halfResolution: boolean): ParameterValue {
  if (parameter.kind !== "whole" || !halfResolution) return parameter.default;
  return parameter.defaultAtHalf ?? parameter.default;
}
