// SPDX-License-Identifier: Apache-2.0
// Flags that set one setting, once for all commands that have them.
import type { Command } from "commander";
import { ALGORITHMS } from "../../cuda/index.js";
import type { FlagValue } from "../config/index.js";

/** By the option's name: the setting, the flag's argument, and a line for --help. */
const FLAGS = {
  calibration: [
    "calibration.file",
    "<file>",
    "rectify with this calibration file, or with two joined by a comma",
  ],
  algorithm: ["match.algorithm", "<name>", `matcher: ${ALGORITHMS.join(", ")}`],
  numDisparities: ["match.numDisparities", "<n>", "disparities searched, 8 to 512"],
  minDisparity: ["match.minDisparity", "<n>", "smallest disparity searched"],
  backend: ["engine.backend", "<name>", "auto, cpu or cuda"],
  threads: ["engine.threads", "<n>", "worker threads of the CPU backend; 0 is one per core"],
  broker: [
    "outputs.mqtt.broker",
    "<url>",
    "MQTT broker: embedded, none, or a mqtt://, mqtts://, ws://, wss:// URL",
  ],
  base: ["base", "<topic>", "first levels of every topic"],
  device: ["device", "<name>", "name of this device in its topics"],
} as const;

type FlagName = keyof typeof FLAGS;
/** The options that commander makes of them. */
export type SettingOptions<Name extends FlagName = FlagName> = { [name in Name]?: string };

const flagName = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Adds the named flags to a command, in this order. */
export function withSettingFlags(command: Command, ...names: readonly FlagName[]): Command {
  for (const name of names) {
    const [, argument, description] = FLAGS[name];
    command.option(`${flagName(name)} ${argument}`, description);
  }
  return command;
}

/** The values of these flags, by the setting that each sets. */
export function settingFlags(options: SettingOptions): Record<string, FlagValue> {
  return Object.fromEntries(
    Object.entries(FLAGS).map(([name, [setting]]) => [
      setting,
      { flag: flagName(name), value: options[name as FlagName] },
    ]),
  );
}
