// SPDX-License-Identifier: Apache-2.0
// Finds a value of a setting that is not its default.
import type { Setting, SettingValue } from "../../edge/contracts/setting.js";

type Node = Record<string, unknown>;

function* candidates(node: Node, from: number): Generator<SettingValue> {
  for (const choice of (node.anyOf as Node[] | undefined) ?? []) yield* candidates(choice, from);
  if (node.const !== undefined) yield node.const as SettingValue;
  yield* (node.enum as SettingValue[] | undefined) ?? [];
  yield* [true, false];
  const step = (node.multipleOf as number | undefined) ?? 1;
  yield* [from - step, from + step, from + 2 * step, from / 2];
  for (const bound of [node.maximum, node.minimum]) if (typeof bound === "number") yield bound;
  yield "other";
}

/** Returns the default of a setting; undefined if it has none. */
export const settingDefault = ({ facts }: Setting): SettingValue | undefined =>
  typeof facts.default === "function" ? facts.default() : facts.default;

/** Returns a value that the setting accepts and that is not its default. @throws Error if none is found */
export function differentValue(setting: Setting): SettingValue {
  const fallback = settingDefault(setting);
  const from = typeof fallback === "number" ? fallback : 64;
  for (const value of candidates(setting.schema.toJSONSchema({ unrepresentable: "any" }) as Node, from))
    if (value !== fallback && value !== "auto" && setting.schema.safeParse(value).success) return value;
  throw new Error(`${setting.key}: no value other than ${String(fallback)} was found`);
}
