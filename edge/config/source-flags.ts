// SPDX-License-Identifier: Apache-2.0
// Assigns flags that several sources share to the chosen source.
import { SOURCE_KINDS } from "../sources/section.js";
import { type FlagValue, type Layer, layerFromFlags } from "./layers.js";
import { SETTING_BY_KEY } from "./schema.js";
import { either } from "./words.js";

/**
 * Returns flags as settings of the chosen source. A flag that this source does not have is a problem; if `kind` is no
 * source, checkValue reports that.
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
    const text = `expected ${either(able)} with ${flag}, got "${known}"`;
    layer.problems.push({ key: "source.kind", origin: { kind: "flag", name: flag }, unknown: false, text });
  }
  return layer;
}
