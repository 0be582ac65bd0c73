// SPDX-License-Identifier: Apache-2.0
// A change of settings while the program runs: checked like every other source of settings, all or nothing.
import { DepthwattError } from "../../core/index.js";
import type { SettingsChange, SettingValue } from "../contracts/setting.js";
import { checkValue, type Origin, type Problem, resolvePaths, unknownKey } from "./layers.js";
import { nest, raise } from "./load.js";
import { brokenRules } from "./rules.js";
import { type Config, SETTING_BY_KEY, SETTINGS } from "./schema.js";

export interface ChangedConfig {
  config: Config;
  /** The keys whose value is another now. */
  changed: string[];
}

const PARTS = new Map(SETTINGS.map(({ key }) => [key, key.split(".")]));

/** The value of a dotted key; undefined for an optional setting without one. */
export function valueAt(config: Config, key: string): SettingValue | undefined {
  let node: unknown = config;
  for (const part of PARTS.get(key) ?? key.split(".")) node = (node as Record<string, unknown>)[part];
  return node as SettingValue | undefined;
}

/** Settings of `config` that are not the defaults, by dotted key. @param keys which ones are looked at */
export function changedSettings(config: Config, keys: RegExp): Record<string, SettingValue | undefined> {
  const pairs = SETTINGS.filter(({ key }) => keys.test(key)).map(({ key, facts }) => {
    const byDefault = typeof facts.default === "function" ? facts.default() : facts.default;
    return [key, valueAt(config, key), byDefault as SettingValue | undefined] as const;
  });
  const changed = pairs.filter(([, value, byDefault]) => JSON.stringify(value) !== JSON.stringify(byDefault));
  return Object.fromEntries(changed.map(([key, value]) => [key, value]));
}

/** The keys in which two configurations differ, with the second one's values. */
export function differences(from: Config, to: Config): SettingsChange {
  const pairs = SETTINGS.map(({ key }) => [key, valueAt(from, key), valueAt(to, key)] as const);
  return Object.fromEntries(pairs.filter(([, a, b]) => a !== b).map(([key, , b]) => [key, b]));
}

/**
 * @param from who changes it, as messages name it, such as a topic
 * @throws DepthwattError CONFIG_UNKNOWN_KEY or CONFIG_INVALID with every problem at once; SETTING_NEEDS_RESTART, which names the
 *   keys, where one of the ones that would change does not take effect live
 */
export function changedConfig(config: Config, change: SettingsChange, from: string): ChangedConfig {
  const origin: Origin = { kind: "change", name: from };
  const problems: Problem[] = [];
  const values = new Map(SETTINGS.map(({ key }) => [key, valueAt(config, key)]));
  for (const [key, given] of Object.entries(change)) {
    const setting = SETTING_BY_KEY.get(key);
    if (setting === undefined) {
      problems.push(unknownKey(problems, key, origin, SETTING_BY_KEY.keys()));
      continue;
    }
    // A path is reported and saved as it was meant here: a file has its own folder.
    const isPath = setting.facts.isPath === true && typeof given === "string";
    const value = isPath ? resolvePaths(given, process.cwd()) : (given ?? undefined);
    const problem = checkValue(setting, value, origin);
    if (problem) problems.push(problem);
    values.set(key, value);
  }
  if (problems.length > 0) raise(problems);
  const next = nest(values);
  for (const { keys, text } of brokenRules(next, new Map()))
    problems.push({ key: keys[0], origin, unknown: false, text });
  if (problems.length > 0) raise(problems);
  const changed = Object.keys(differences(config, next));
  const late = changed.filter((key) => SETTING_BY_KEY.get(key)!.takesEffect === "restart");
  if (late.length > 0) {
    throw new DepthwattError(
      "SETTING_NEEDS_RESTART",
      `${late.join(", ")} (from ${from}): expected settings that take effect live, but ${late.length === 1 ? "this one does" : "these do"} so only at the next start; nothing was changed`,
      { hint: "Restart depthwatt, or leave them as they are.", context: { keys: late } },
    );
  }
  return { config: next, changed };
}
