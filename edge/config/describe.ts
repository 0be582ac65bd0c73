// SPDX-License-Identifier: Apache-2.0
// Every setting as data, for those who show or change them: the one schema in a form that goes over a wire.
import { z } from "zod";
import type { SettingDescription, SettingValue } from "../contracts/setting.js";
import { valueAt } from "./change.js";
import { type Config, SETTINGS } from "./schema.js";

let described: SettingDescription[] | undefined;

/** Describes every setting. */
export function settingDescriptions(): SettingDescription[] {
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

/**
 * Returns the value of every live setting.
 * @param paths whether to include paths of files: clients that cannot change them do not need them
 */
export function liveValues(config: Config, paths: boolean): Record<string, SettingValue | undefined> {
  const live = SETTINGS.filter(({ takesEffect }) => takesEffect === "live");
  const reported = live.filter(({ facts }) => paths || facts.isPath !== true);
  return Object.fromEntries(reported.map(({ key }) => [key, valueAt(config, key)]));
}

/**
 * Describes every live setting and its current value.
 * @param paths whether to include paths of files
 */
export function describedSettings(
  config: Config,
  paths: boolean,
): {
  settings: SettingDescription[];
  values: Record<string, SettingValue | undefined>;
} {
  described ??= settingDescriptions();
  return { settings: described.filter(({ live }) => live), values: liveValues(config, paths) };
}
