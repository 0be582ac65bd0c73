// SPDX-License-Identifier: Apache-2.0
// Settings that the matchers of colour differences share: sides of a window, weights of hue, saturation and value.
import type { BrokenRule, MatcherParameter, MatcherValues } from "./matcher.js";

const SIDES = [3, 5, 7, 9, 11, 13, 15] as const;

export function windowSide(key: string, side: number, description: string): MatcherParameter {
  return { key, kind: "oneOf", choices: SIDES, default: side, unit: "px", description };
}

export function channelWeights(hue: number, saturation: number, value: number): MatcherParameter[] {
  const weight = (key: string, percent: number, description: string): MatcherParameter => ({
    key,
    kind: "whole",
    low: 0,
    high: 100,
    default: percent,
    unit: "%",
    description,
  });
  return [
    weight("hueWeight", hue, "What a difference in hue counts; a full circle is 256 grey values."),
    weight("saturationWeight", saturation, "What a difference in saturation counts."),
    weight(
      "valueWeight",
      value,
      "What a difference in value counts; the three weights together are 1 to 100.",
    ),
  ];
}

/** The three weights together, which ranges alone cannot tell. */
export function brokenWeights(name: string, { parameters }: MatcherValues): BrokenRule | undefined {
  const weights = ["hueWeight", "saturationWeight", "valueWeight"];
  const sum = weights.reduce((total, key) => total + Number(parameters[key]), 0);
  if (sum >= 1 && sum <= 100) return undefined;
  const keys = weights.map((key) => `match.${name}.${key}`) as [string, ...string[]];
  return { keys, text: `expected 1 to 100 % for the three weights together, got ${sum}` };
}
