// SPDX-License-Identifier: Apache-2.0
// Every setting as data, for those who show or change them: the one schema in a form that goes over a wire.
import { z } from "zod";
import { valueAt } from "./change.js";
import { type Config, SETTINGS } from "./schema.js";
import type { SettingDescription, SettingValue } from "./setting.js";

let described: SettingDescription[] | undefined;

function describe(): SettingDescription[] {
  return SETTINGS.map(({ key, schema, facts, takesEffect }) => {
    const { $schema, ...plain } = z.toJSONSchema(schema);
    const fallback = typeof facts.default === "function" ? facts.default() : facts.default;
    return {
      key,
      description: facts.description,
      unit: facts.unit,
      schema: plain,
      default: fallback,
      live: takesEffect === "live",
    };
  });
}

/** Paths of files are told only where somebody may change them: none of them is live. */
export function describedSettings(config: Config): {
  settings: SettingDescription[];
  values: Record<string, SettingValue | undefined>;
} {
  described ??= describe();
  const live = described.filter((setting) => setting.live);
  return { settings: live, values: Object.fromEntries(live.map(({ key }) => [key, valueAt(config, key)])) };
}
