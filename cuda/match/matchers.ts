// SPDX-License-Identifier: Apache-2.0
// Every matcher, in the order of matchers.h.
import { cbca } from "./cbca/matcher.js";
import { esaw } from "./esaw/matcher.js";
import { esmp } from "./esmp/matcher.js";
import { defaultOf, type Matcher, type MatcherValues, type ParameterValue } from "./matcher.js";
import { pyramid } from "./pyramid/matcher.js";
import { sad } from "./sad/matcher.js";
import { sgm } from "./sgm/matcher.js";

const ALL = [sgm, cbca, esaw, esmp, sad, pyramid] as const;

export type Algorithm = (typeof ALL)[number]["name"];

export const MATCHERS: readonly (Matcher & { name: Algorithm })[] = ALL;

export const ALGORITHMS = MATCHERS.map(({ name }) => name);

export function matcherOf(algorithm: Algorithm): Matcher {
  return MATCHERS.find(({ name }) => name === algorithm) as Matcher;
}

/** Whether the matcher reads colours beside grey. */
export function readsColours(algorithm: Algorithm): boolean {
  return matcherOf(algorithm).images !== "grey";
}

/** Said once where a matcher that reads colours gets none. */
export function withoutColours(algorithm: Algorithm, images: string): string {
  return `${algorithm} reads colours, ${images} no colours: red, green and blue are the grey value`;
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
