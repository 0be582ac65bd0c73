// SPDX-License-Identifier: Apache-2.0
// Defaults < board config < preset < file < environment < flags: one configuration, and where each of its values came from.
import { DepthwattError } from "../../core/index.js";
import type { SettingsChange } from "../contracts/setting.js";
import { type BoardChoice, type BoardPlaces, chooseBoard } from "./board.js";
import {
  checkValue,
  type FlagValue,
  type Layer,
  layerFromAssignments,
  layerFromEnvironment,
  layerFromFlags,
  layerFromPreset,
  layerFromValues,
  MAX_PROBLEMS,
  type Origin,
  type Problem,
} from "./layers.js";
import { readFileLayers } from "./rigs.js";
import { brokenRules } from "./rules.js";
import { type Config, SETTING_BY_KEY, SETTINGS } from "./schema.js";
import { layerFromSourceFlags } from "./source-flags.js";

export interface ConfigRequest {
  /** Configuration file; else the variable DEPTHWATT_CONFIG, else none. */
  file?: string | undefined;
  /** `--rig NAME`: the rig of the file; needed where the file has several. */
  rig?: string | undefined;
  /** `--preset NAME`. */
  preset?: string | undefined;
  /** `--set key=value`, in order. */
  set?: readonly string[] | undefined;
  /** Other flags of a command, by the setting they stand for; undefined values count as not given. */
  flags?: Readonly<Record<string, FlagValue>> | undefined;
  /** Flags that go to the chosen source, by the setting's name in its section: `left` is source.replay.left or another's. */
  sourceFlags?: Readonly<Record<string, FlagValue>> | undefined;
  /** Values by dotted key, above all others: those of a program that imports depthwatt. */
  values?: SettingsChange | undefined;
  /** Default: process.env. */
  environment?: NodeJS.ProcessEnv | undefined;
  /** For tests: where board configs and the device tree lie. */
  boards?: BoardPlaces | undefined;
}

export interface LoadedConfig {
  config: Config;
  /** By dotted key, for every setting. */
  origins: ReadonlyMap<string, Origin>;
  board: BoardChoice;
  /** One sentence for each setting of the preset that another source has given another value. */
  overruled: readonly string[];
}

const DEFAULT_ORIGIN: Origin = { kind: "default", name: "" };

function defaults(): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  for (const { key, facts } of SETTINGS) {
    const value = typeof facts.default === "function" ? facts.default() : facts.default;
    layer.entries.set(key, { value, origin: DEFAULT_ORIGIN });
  }
  return layer;
}

/** Where a value came from, as a person says it: "from --set", "from depthwatt.yaml", "default". */
export function originWords({ kind, name }: Origin): string {
  return kind === "default" ? "default" : `from ${name}`;
}

/** A configuration of values by dotted key. */
export function nest(values: ReadonlyMap<string, unknown>): Config {
  const config: Record<string, unknown> = {};
  for (const [key, value] of values) {
    const parts = key.split(".");
    const last = parts.pop()!;
    let group = config;
    for (const part of parts) {
      group[part] ??= {};
      group = group[part] as Record<string, unknown>;
    }
    if (value !== undefined) group[last] = value;
  }
  return config as Config;
}

/** @throws DepthwattError CONFIG_UNKNOWN_KEY or CONFIG_INVALID */
export function raise(problems: readonly Problem[]): never {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ key, origin, text }) => {
    const where = key === origin.name ? key : `${key} (${originWords(origin)})`;
    return `${where}: ${text}`;
  });
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
  const message =
    lines.length === 1 ? lines[0]! : `${problems.length} settings are wrong:\n  ${lines.join("\n  ")}`;
  const code = problems.every((problem) => problem.unknown) ? "CONFIG_UNKNOWN_KEY" : "CONFIG_INVALID";
  const explainable = problems.find(({ key, unknown }) => !unknown && SETTING_BY_KEY.has(key));
  const hint = explainable && {
    hint: `Run 'depthwatt config explain ${explainable.key}' for what it accepts.`,
  };
  throw new DepthwattError(code, message, { ...hint, context: { problems } });
}

/** Returns the configuration file of a request; undefined: there is none. */
export function configFile({ file, environment = process.env }: ConfigRequest): string | undefined {
  return file ?? (environment.DEPTHWATT_CONFIG || undefined);
}

/**
 * Reads, merges and checks every source of settings.
 * @throws DepthwattError CONFIG_UNREADABLE (a file), USAGE (a malformed --set, no or an unknown rig), CONFIG_UNKNOWN_KEY or CONFIG_INVALID with
 *   every problem at once, in `context.problems` too
 */
export function loadConfig(request: ConfigRequest = {}): LoadedConfig {
  const environment = request.environment ?? process.env;
  const rig = readFileLayers(configFile(request), request.rig);
  const above = [
    ...rig.layers,
    layerFromEnvironment(environment),
    layerFromFlags(request.flags ?? {}),
    layerFromAssignments(request.set ?? []),
    layerFromValues(request.values ?? {}),
  ];
  const base = defaults();
  const chosen = (key: string, among: Layer[]) =>
    among.map((layer) => layer.entries.get(key)?.value).findLast((value) => value);
  const board = chooseBoard(String(chosen("board", [base, ...above])), request.boards);
  // Next to the other flags: --set of the same setting and the values of a program come after both.
  const kind = chosen("source.kind", [base, board.layer, ...above]);
  above.splice(-2, 0, layerFromSourceFlags(kind, request.sourceFlags ?? {}));
  const preset = layerFromPreset(request.preset);
  const layers = [base, board.layer, preset, ...above];

  const problems = layers.flatMap((layer) => layer.problems);
  const values = new Map<string, unknown>();
  const origins = new Map<string, Origin>();
  for (const layer of layers) {
    for (const [key, { value, origin }] of layer.entries) {
      const problem = checkValue(SETTING_BY_KEY.get(key)!, value, origin);
      if (problem) problems.push(problem);
      values.set(key, value);
      origins.set(key, origin);
    }
  }
  if (problems.length > 0) raise(problems);
  if (rig.name !== undefined && !rig.namesDevice) values.set("device", `${values.get("device")}-${rig.name}`);
  const config = nest(values);
  for (const { keys, text } of brokenRules(config, origins)) {
    // The last one given is the one to blame, so a default is never named as the culprit next to a flag.
    problems.push({ key: keys[0], origin: blame(keys, origins), unknown: false, text });
  }
  if (problems.length > 0) raise(problems);
  const overruled = [...preset.entries].flatMap(([key, { value, origin }]) => {
    const used = origins.get(key)!;
    if (used === origin || values.get(key) === value) return [];
    return [`${key} is ${values.get(key)} (${originWords(used)}), not ${value} as ${origin.name} has it`];
  });
  return { config, origins, board, overruled };
}

const RANK = ["default", "board", "preset", "file", "environment", "flag"];

function blame(keys: readonly string[], origins: ReadonlyMap<string, Origin>): Origin {
  const involved = keys.map((key) => origins.get(key)!);
  return involved.reduce((worst, origin) =>
    RANK.indexOf(origin.kind) > RANK.indexOf(worst.kind) ? origin : worst,
  );
}
