// SPDX-License-Identifier: Apache-2.0
// Flags that several sources share go to the one that was chosen.
import { SOURCE_KINDS } from "../sources/section.js";
import { type FlagValue, type Layer, layerFromFlags } from "./layers.js";
import { SETTING_BY_KEY } from "./schema.js";
import { either } from "./words.js";

/**
 * Flags by the name of a setting in the section of the source that was chosen. One that this source does not have is a
 * problem; where `kind` is no source, that is the problem, and checkValue tells it.
 */
export function layerFromSourceFlags(kind: unknown, flags: Readonly<Record<string, FlagValue>>): Layer {
  const given = Object.entries(flags).filter(([, { value }]) => value !== undefined);
  const has = (source: string, name: string) => SETTING_BY_KEY.has(`source.${source}.${name}`);
  const known = SOURCE_KINDS.find((one) => one === kind);
  if (known === undefined) return { entries: new Map(), problems: [] };
  const layer = layerFromFlags(
    Object.fromEntries(
      given.filter(([name]) => has(known, name)).map(([name, flag]) => [`source.${known}.${name}`, flag]),
    ),
  );
  for (const [name, { flag }] of given.filter(([one]) => !has(known, one))) {
    const able = SOURCE_KINDS.filter((one) => has(one, name)).map((one) => JSON.stringify(one));
    const text = `expected ${either(able)} beside ${flag}, got "${known}"`;
    layer.problems.push({ key: "source.kind", origin: { kind: "flag", name: flag }, unknown: false, text });
  }
  return layer;
}
