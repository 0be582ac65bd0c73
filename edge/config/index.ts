// SPDX-License-Identifier: Apache-2.0
// The front door of the configuration: one schema, loaded from five sources.

export type {
  Setting,
  SettingDescription,
  SettingFacts,
  SettingsChange,
  SettingValue,
  TakesEffect,
} from "../contracts/setting.js";
export { type BoardChoice, type BoardPlaces, chooseBoard } from "./board.js";
export { changedConfig, changedSettings, differences, valueAt } from "./change.js";
export { describedSettings, liveValues, settingDescriptions } from "./describe.js";
export { type FlagValue, type Origin, OTHER_VARIABLES, type Problem, variableName } from "./layers.js";
export { type ConfigRequest, type LoadedConfig, loadConfig, originWords } from "./load.js";
export { loadRigs } from "./load-rigs.js";
export { matchParameters } from "./match-parameters.js";
export { type Config, configSchema, jsonSchema, SETTING_BY_KEY, SETTINGS } from "./schema.js";
export { either, expectedWords, nearestName } from "./words.js";
