// SPDX-License-Identifier: Apache-2.0
// The options that all functions of the library take, and the configuration that they make.
import { type Config, loadConfig, type SettingsChange } from "../config/index.js";
import type { SettingValues } from "./setting-values.js";

/** Options of every function. Environment variables are not read. */
export interface DepthwattOptions {
  /** Name of a preset, such as "fast" or "robot". */
  preset?: string;
  /** Configuration file, YAML or JSON. */
  config?: string;
  /** The rig of a configuration file that has several. */
  rig?: string;
  /** Calibration file, or two joined by a comma. Without one the images are taken as rectified, and there is no depth. */
  calibration?: string;
  algorithm?: SettingValues["match.algorithm"];
  /** Smallest disparity searched, pixels. */
  minDisparity?: number;
  /** Number of disparities searched, 8 to 512. */
  numDisparities?: number;
  /** Any setting by its key, such as { "match.sgm.paths": 8 }; it overrides the options above. */
  settings?: SettingValues;
  /** Warnings, one sentence each. Default: warnings of the process (process.emitWarning). */
  onWarning?: (warning: string) => void;
}

/**
 * @param below values that the options override, such as an output that the library leaves off
 * @throws DepthwattError CONFIG_*, USAGE (a preset)
 */
export function configFrom(options: DepthwattOptions, below: SettingsChange = {}): Config {
  const {
    preset,
    config: file,
    rig,
    calibration,
    algorithm,
    minDisparity,
    numDisparities,
    settings,
  } = options;
  const values = {
    ...below,
    "calibration.file": calibration,
    "match.algorithm": algorithm,
    "match.minDisparity": minDisparity,
    "match.numDisparities": numDisparities,
    ...settings,
  };
  return loadConfig({ file, rig, preset, values, environment: {} }).config;
}

export const warningHandler = ({ onWarning }: DepthwattOptions): ((warning: string) => void) =>
  onWarning ?? ((warning) => process.emitWarning(warning, "DepthwattWarning"));
