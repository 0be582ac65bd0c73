// SPDX-License-Identifier: Apache-2.0
// What one setting alone cannot tell: the rules between settings.
import { brokenOutputs } from "../outputs/section.js";
import { brokenHttp } from "../http/settings.js";
import { brokenSource } from "../sources/section.js";
import type { BrokenSetting } from "./broken-setting.js";
import type { Origin } from "./layers.js";
import type { Config } from "./schema.js";

type Rule = (config: Config, origins: ReadonlyMap<string, Origin>) => BrokenSetting | undefined;

const penaltiesInOrder: Rule = ({ match: { p1, p2 } }) =>
  p1 <= p2
    ? undefined
    : { keys: ["match.p1", "match.p2"], text: `expected at most match.p2, which is ${p2}, got ${p1}` };

// 2047 pixels is the last disparity that sixteenths of a pixel hold in a signed 16-bit word.
const searchFits: Rule = ({ match: { minDisparity, numDisparities } }) =>
  minDisparity + numDisparities <= 2047
    ? undefined
    : {
        keys: ["match.numDisparities", "match.minDisparity"],
        text: `expected match.minDisparity + match.numDisparities to be at most 2047, got ${minDisparity + numDisparities}`,
      };

// Half the search must still be one: 8 disparities of the half images.
const halfSearchIsWhole: Rule = ({ match: { algorithm, halfResolution, numDisparities } }) =>
  algorithm !== "sgm" || halfResolution !== true || numDisparities >= 16
    ? undefined
    : {
        keys: ["match.numDisparities", "match.halfResolution"],
        text: `expected 16 to 512 beside match.halfResolution, got ${numDisparities}`,
      };

// What somebody set of one source would else be passed over for the source that is the default.
const sourceIsChosen: Rule = ({ source: { kind } }, origins) => {
  if (origins.get("source.kind")?.kind !== "default") return undefined;
  const meant = [...origins].find(
    ([key, origin]) =>
      /^source\.\w+\./.test(key) &&
      !key.startsWith(`source.${kind}.`) &&
      !["default", "board"].includes(origin.kind),
  );
  return (
    meant && {
      keys: ["source.kind", meant[0]],
      text: `expected to be set beside ${meant[0]}, got nothing, which is "${kind}"`,
    }
  );
};

const sourceIsWhole: Rule = ({ source }) => {
  const broken = brokenSource(source);
  return broken && { keys: ["source.kind", ...broken.keys], text: `"${source.kind}": ${broken.text}` };
};

const RULES: readonly Rule[] = [
  penaltiesInOrder,
  searchFits,
  halfSearchIsWhole,
  sourceIsChosen,
  sourceIsWhole,
];

/** Every rule that a configuration of valid values breaks. */
export function brokenRules(config: Config, origins: ReadonlyMap<string, Origin>): BrokenSetting[] {
  return [
    ...RULES.flatMap((rule) => rule(config, origins) ?? []),
    ...brokenOutputs(config.outputs),
    ...brokenHttp(config.http),
  ];
}
