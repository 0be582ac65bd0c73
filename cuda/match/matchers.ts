// SPDX-License-Identifier: Apache-2.0
// Every matcher, in the order of matchers.h.
import { cbca } from "./cbca/matcher.js";
import { defaultOf, type Matcher, type MatcherValues, type ParameterValue } from "./matcher.js";
import { sgm } from "./sgm/matcher.js";

const ALL = [sgm, cbca] as const;

export type Algorithm = (typeof ALL)[number]["name"];

export const MATCHERS: readonly (Matcher & { name: Algorithm })[] = ALL;

export const ALGORITHMS = MATCHERS.map(({ name }) => name);

export function matcherOf(algorithm: Algorithm): Matcher {
  return MATCHERS.find(({ name }) => name === algorithm) as Matcher;
}

/** Every parameter of the matcher with the value that it computes with. */
export function parametersOf(
  match: Pick<MatcherValues, "halfResolution" | "parameters"> & { algorithm: Algorithm },
): Record<string, ParameterValue> {
  const { parameters } = matcherOf(match.algorithm);
  return Object.fromEntries(
    parameters.map((one) => [one.key, match.parameters[one.key] ?? defaultOf(one, match.halfResolution)]),
  );
}

/** What the governor would lower first, in words: "4 paths". */
export function qualityWords(match: Parameters<typeof parametersOf>[0]): string[] {
  const values = parametersOf(match);
  const keys = new Set(matcherOf(match.algorithm).ladder.steps.map(({ key }) => key));
  return [...keys].map((key) => `${values[key]} ${key}`);
}
