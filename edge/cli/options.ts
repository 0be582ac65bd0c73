// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, and how a command gets its configuration from them.
import type { Argument, Command } from "commander";
import { DepthwattError, isSameFile } from "../../core/index.js";
import {
  type ConfigRequest,
  type FlagValue,
  type LoadedConfig,
  loadConfig,
  loadRigs,
} from "../config/index.js";
import { PRESET_GROUPS } from "../presets/index.js";
import { kindOfPath } from "../sources/section.js";
import { note } from "./output.js";

export interface ConfigOptions {
  config?: string;
  set?: string[];
  preset?: string;
  rig?: string;
}

const collect = (value: string, before: string[] = []) => [...before, value];

/** Adds --config, --rig, --set and, unless the command names presets its own way, --preset. */
export function withConfig(command: Command, { preset = true } = {}): Command {
  command.option("--config <file>", "configuration file, YAML or JSON");
  command.option("--rig <name>", "the rig of a configuration file that has several");
  if (preset)
    command.option(
      "--preset <name>",
      `${Object.keys(PRESET_GROUPS.use).join(", ")}, or the settings of a paper (depthwatt presets lists them); explicit settings win`,
    );
  return command.option(
    "--set <key=value>",
    "any setting; may be repeated (depthwatt config --print lists them)",
    collect,
  );
}

export interface PlaceOptions {
  left?: string;
  right?: string;
  sideBySide?: string;
}

/** Adds the flags that say where the images are. @param what such as "images or camera" */
export function withPlaces(command: Command, what: string): Command {
  return command
    .option("--left <path>", `left ${what}`)
    .option("--right <path>", `right ${what}`)
    .option("--side-by-side <path>", `${what} with left and right side by side`);
}

/** The values of these flags, by the setting's name in a source's section. */
export function placeFlags(options: PlaceOptions) {
  return {
    left: { flag: "--left", value: options.left },
    right: { flag: "--right", value: options.right },
    sideBySide: { flag: "--side-by-side", value: options.sideBySide },
  };
}

/** Cameras are devices, recordings are folders: without --source, what --left names says which source is meant. */
export function kindFlag(options: PlaceOptions & { source?: string }): FlagValue {
  if (options.source !== undefined) return { flag: "--source", value: options.source };
  const flag = (["left", "right", "sideBySide"] as const).find((one) => options[one] !== undefined);
  if (flag === undefined) return { flag: "--source", value: undefined };
  return { ...placeFlags(options)[flag], value: kindOfPath(options[flag]!) };
}

/**
 * Rejects two results in one file, or a result that replaces its own input: data would be lost silently.
 * @param read the paths that are read and @param written the paths that are written, by the command's names for them
 * @throws DepthwattError USAGE
 */
export function checkOutputs(
  read: Readonly<Record<string, string | undefined>>,
  written: Readonly<Record<string, string | undefined>>,
): void {
  const before = Object.entries(read);
  for (const [name, path] of Object.entries(written)) {
    if (path === undefined) continue;
    const other = before.find(([, one]) => one !== undefined && isSameFile(one, path));
    if (other !== undefined)
      throw new DepthwattError(
        "USAGE",
        `expected ${name} and ${other[0]} to be two files, both are ${path}`,
        { hint: "Give each its own name." },
      );
    before.push([name, path]);
  }
}

/**
 * Describes the arguments that a command's line in the list names.
 * @param descriptions by the argument's name, in the order of the line
 * @returns the arguments, for their choices
 */
export function describeArguments(
  { registeredArguments }: Command,
  descriptions: Readonly<Record<string, string>>,
): readonly Argument[] {
  for (const argument of registeredArguments) argument.description = descriptions[argument.name()] ?? "";
  return registeredArguments;
}

/** Adds --json. */
export function withJson(command: Command, what: string): Command {
  return command.option("--json", what);
}

/** Ends a command's --help with examples; every command has at least one. */
export function withExamples(command: Command, ...examples: [string, ...string[]]): Command {
  const lines = examples.map((example) => `  $ ${example}`).join("\n");
  return command.addHelpText("after", `\nExample${examples.length > 1 ? "s" : ""}:\n${lines}`);
}

/**
 * The configuration of a command: --config and --set of `options`, and `flags`, the command's other flags by the setting
 * each stands for, such as {"match.algorithm": {flag: "--algorithm", value: options.algorithm}}.
 * `sourceFlags` go to the source that is chosen in the end, by the setting's name in its section.
 * @throws DepthwattError CONFIG_*, USAGE
 */
export function loadFlagConfig(
  options: ConfigOptions,
  flags: Readonly<Record<string, FlagValue>> = {},
  sourceFlags: Readonly<Record<string, FlagValue>> = {},
): LoadedConfig {
  const loaded = loadConfig(request(options, flags, sourceFlags));
  for (const sentence of loaded.overruled) note(sentence);
  return loaded;
}

function request(
  { config: file, preset, set, rig }: ConfigOptions,
  flags: Readonly<Record<string, FlagValue>>,
  sourceFlags: Readonly<Record<string, FlagValue>>,
): ConfigRequest {
  return { file, preset, set, rig, flags, sourceFlags };
}

/** The same for every rig of the file by its name; undefined if it has none, or --rig chooses one. @throws DepthwattError */
export function loadFlagRigs(
  options: ConfigOptions,
  flags: Readonly<Record<string, FlagValue>> = {},
  sourceFlags: Readonly<Record<string, FlagValue>> = {},
): ReadonlyMap<string, LoadedConfig> | undefined {
  return loadRigs(request(options, flags, sourceFlags));
}
