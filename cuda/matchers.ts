// SPDX-License-Identifier: Apache-2.0
// The facts of matchers and stages with types, and what follows from them: defaults, parameters in use, words for messages.
import { MATCHER_FACTS, STAGE_FACTS } from "./facts.js";

export type ParameterValue = number | string | boolean;

interface SettingText {
  /** "p1" for match.sgm.p1 of a matcher; dotted for a stage, such as "refine.rounds". */
  key: string;
  /** Absent for names, counts and switches. */
  unit?: string;
  /** One line: what it does and when to change it. */
  description: string;
  /** "auto" is a value too. */
  automatic?: true;
  /** A change takes effect at the next start; absent: on the running program. */
  takesEffect?: "restart";
}

export type SettingFact = SettingText &
  (
    | {
        kind: "whole";
        low: number;
        high: number;
        default: number;
        /** Where half resolution has another default: then the setting's own is "auto". */
        defaultAtHalf?: number;
      }
    | {
        kind: "fraction";
        low: number;
        high: number;
        /** Only multiples of it are accepted; absent: values are rounded. */
        step?: number;
        default: number | "auto";
      }
    | { kind: "oneOf"; choices: readonly number[]; default: number }
    | { kind: "word"; choices: readonly string[]; default: string }
    | { kind: "flag"; default: boolean | "auto" }
  );

/** Reductions that the governor may make before it halves resolution or search, best first. */
export interface MatcherLadder {
  /** Each lowers a parameter to this value where it is higher. */
  steps: readonly { key: string; value: number }[];
  /** So many steps stay taken where half resolution takes the others' place. */
  atHalf: number;
  /** Work per cell: in proportion to the parameter of this name, or this number; 4 is that of sgm with 4 paths. */
  workPerCell: string | number;
}

export type Algorithm = (typeof MATCHER_FACTS)[number]["name"];

export interface Matcher {
  /** Its folder, and its word in settings. */
  name: Algorithm;
  /** The rest of the sentence "NAME is ...". */
  description: string;
  images: "grey" | "grey and left rgb" | "grey and rgb";
  /** match.halfResolution = auto means at half resolution. */
  halfByDefault: boolean;
  parameters: readonly SettingFact[];
  ladder: MatcherLadder;
}

/** A search and the values of a matcher's parameters. */
export interface MatcherValues {
  halfResolution: boolean;
  minDisparity: number;
  numDisparities: number;
  parameters: Readonly<Record<string, ParameterValue>>;
}

export const MATCHERS: readonly Matcher[] = MATCHER_FACTS;

export const ALGORITHMS = MATCHERS.map(({ name }) => name);

export type StageName = (typeof STAGE_FACTS)[number]["name"];

/** Names and order of the stages and of their times, the same for every backend. */
export const STAGE_NAMES = STAGE_FACTS.map(({ name }) => name) as readonly StageName[];

/** Every setting of a stage. */
export const STAGE_SETTINGS: readonly SettingFact[] = STAGE_FACTS.flatMap(
  ({ settings }): readonly SettingFact[] => settings,
);

type StageSetting = (typeof STAGE_FACTS)[number]["settings"][number];

type FactValue<Fact> =
  | (Fact extends { kind: "flag" }
      ? boolean
      : Fact extends { kind: "word"; choices: readonly (infer Word)[] }
        ? Word
        : number)
  | (Fact extends { automatic: true } ? "auto" : never);

/** The settings of stages below one section, such as refine, by name. */
export type SectionSettings<Section extends string> = {
  [Fact in StageSetting as Fact["key"] extends `${Section}.${infer Name}` ? Name : never]: FactValue<Fact>;
};

/** The words that a setting of a stage accepts. */
function settingChoices(key: string): readonly string[] {
  const fact = STAGE_SETTINGS.find((setting) => setting.key === key);
  return fact?.kind === "word" ? fact.choices : [];
}

export type ConfidenceMeasure = SectionSettings<"refine">["confidence"];

/** The confidence measures. */
export const CONFIDENCE_MEASURES = settingChoices("refine.confidence") as readonly ConfidenceMeasure[];

/** The defaults of the stages' settings below one section, by dotted key. */
export function sectionDefaults(section: string): Record<string, ParameterValue> {
  const inSection = STAGE_SETTINGS.filter(({ key }) => key.startsWith(`${section}.`));
  return Object.fromEntries(inSection.map((fact) => [fact.key, fact.default]));
}

export function findMatcher(algorithm: Algorithm): Matcher {
  return MATCHERS.find(({ name }) => name === algorithm) as Matcher;
}

/** Returns whether the matcher reads colours in addition to grey. */
export function readsColours(algorithm: Algorithm): boolean {
  return findMatcher(algorithm).images !== "grey";
}

/** A note for a matcher that reads colours and gets none. */
export function withoutColours(algorithm: Algorithm, images: string): string {
  return `${algorithm} reads colours, ${images} no colours: red, green and blue are the grey value`;
}

/** The default of a parameter at this resolution. */
export function settingDefault(fact: SettingFact, halfResolution: boolean): ParameterValue {
  if (fact.kind !== "whole" || !halfResolution) return fact.default;
  return fact.defaultAtHalf ?? fact.default;
}

/** Every parameter of the matcher with the value that it computes with. */
export function matcherParameters(
  match: Pick<MatcherValues, "halfResolution" | "parameters"> & { algorithm: Algorithm },
): Record<string, ParameterValue> {
  const { parameters } = findMatcher(match.algorithm);
  return Object.fromEntries(
    parameters.map((fact) => [
      fact.key,
      match.parameters[fact.key] ?? settingDefault(fact, match.halfResolution),
    ]),
  );
}

/** Describes the parameters that the governor lowers first, such as "4 paths". */
export function qualityWords(match: Parameters<typeof matcherParameters>[0]): string[] {
  const values = matcherParameters(match);
  const keys = new Set(findMatcher(match.algorithm).ladder.steps.map(({ key }) => key));
  return [...keys].map((key) => `${values[key]} ${key}`);
}
