// SPDX-License-Identifier: Apache-2.0
// Where values come from: each source of settings read into the same flat form, with the origin of every value.
import { dirname, resolve } from "node:path";
import { z } from "zod";
import {
  DepthwattError,
  MAX_TEXT_BYTES,
  parseYamlDocument,
  readRegularFile,
  yaml,
} from "../../core/index.js";
import type { Setting, SettingsChange, SettingValue } from "../contracts/setting.js";
import { findPreset } from "../presets/index.js";
import { configSchema, SETTING_BY_KEY, SETTINGS } from "./schema.js";
import { expectedWords, foundWords, nearestChoice, nearestName, shortName } from "./words.js";

export type OriginKind = "default" | "board" | "preset" | "file" | "environment" | "flag" | "change";

export interface Origin {
  kind: OriginKind;
  /** The file, variable or flag; empty for a default. */
  name: string;
}

export interface Problem {
  key: string;
  origin: Origin;
  /** True where no setting has this name. */
  unknown: boolean;
  /** One clause: what was expected and what came. */
  text: string;
}

/** Values of one source, by dotted key, and what was wrong with its names. */
export interface Layer {
  entries: Map<string, { value: unknown; origin: Origin }>;
  problems: Problem[];
}

/** Variables that begin with DEPTHWATT_ and are no settings. */
export const OTHER_VARIABLES: Record<string, string> = {
  DEPTHWATT_CONFIG: "Configuration file, where --config is not given.",
  DEPTHWATT_DATA: "Folder of the research data that benchmarks and some tests read.",
  DEPTHWATT_CUDA_ARCHS: "Architectures that build:cuda compiles for, such as 87.",
  DEPTHWATT_CUDA_PLUGIN: "The CUDA plugin to load instead of searching for one.",
};

/** The same, of tests: test/README.md describes them. */
export const TEST_VARIABLES = [
  "DEPTHWATT_ISA",
  "DEPTHWATT_SEED",
  "DEPTHWATT_HOSTILE_COUNT",
  "DEPTHWATT_WRITE_GOLDEN",
  "DEPTHWATT_TEST_ALLOCATIONS",
  "DEPTHWATT_STAGES_ADDON",
];

/** match.numDisparities -> DEPTHWATT_MATCH_NUM_DISPARITIES */
export function variableName(key: string): string {
  return `DEPTHWATT_${key
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(".", "_")
    .toUpperCase()}`;
}

/** Problems of one layer that are looked at closely; a file of another program has thousands. */
export const MAX_PROBLEMS = 20;

/** @param before what was found until here */
export function unknownKey(
  before: readonly Problem[],
  key: string,
  origin: Origin,
  known: Iterable<string>,
): Problem {
  const near = before.length < MAX_PROBLEMS ? nearestName(key, known) : undefined;
  const text =
    near === undefined ? "no setting has this name" : `no setting has this name; did you mean "${near}"?`;
  return { key: shortName(key), origin, unknown: true, text };
}

/** Files nest groups. Without this, "match.numDisparities: 8" would get the suggestion "match.numDisparities". */
function unknownInFile(layer: Layer, name: string, key: string, origin: Origin): Problem {
  if (!name.includes(".") || !SETTING_BY_KEY.has(key))
    return unknownKey(layer.problems, key, origin, SETTING_BY_KEY.keys());
  const nested = key
    .split(".")
    .reduceRight((inner, part) => `${part}: ${inner === "" ? "..." : `{ ${inner} }`}`, "");
  return {
    key,
    origin,
    unknown: true,
    text: `expected groups inside each other, ${nested}, got dots in a name`,
  };
}

/** A nested object, as files hold it. `folder`: what relative paths are relative to. */
export function layerFromObject(value: unknown, origin: Origin, folder: string): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  const walk = (node: unknown, schema: z.ZodObject, prefix: string) => {
    if (node === undefined || node === null) return;
    if (typeof node !== "object" || Array.isArray(node)) {
      const text = `expected a group of settings, got ${foundWords(node)}`;
      layer.problems.push({ key: prefix || "(whole file)", origin, unknown: false, text });
      return;
    }
    for (const [name, child] of Object.entries(node)) {
      const key = prefix === "" ? name : `${prefix}.${name}`;
      // Names such as "constructor" exist on every object.
      const childSchema = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
      if (childSchema === undefined) layer.problems.push(unknownInFile(layer, name, key, origin));
      else if (childSchema instanceof z.ZodObject) walk(child, childSchema, key);
      else {
        const isPath = SETTING_BY_KEY.get(key)!.facts.isPath === true && typeof child === "string";
        layer.entries.set(key, { value: isPath ? resolvePaths(child, folder) : child, origin });
      }
    }
  };
  walk(value, configSchema, "");
  return layer;
}

/** Makes each of the paths between commas absolute. An empty one stays empty, so that it is refused and not taken as the folder. */
export function resolvePaths(paths: string, folder: string): string {
  return paths
    .split(",")
    .map((path) => path.trim())
    .map((path) => (path === "" ? "" : resolve(folder, path)))
    .join(",");
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path, MAX_TEXT_BYTES);
  } catch (cause) {
    throw new DepthwattError("CONFIG_UNREADABLE", `cannot read ${path}: ${(cause as Error).message}`, {
      cause,
      context: { file: path },
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new DepthwattError("CONFIG_UNREADABLE", `${path}: expected text in UTF-8, found other bytes`, {
      hint: "Save the file as UTF-8.",
      cause,
      context: { file: path },
    });
  }
}

/** Returns the parser's message, without the parts that only its callers understand. */
function yamlWords(message: string): string {
  if (message.startsWith("Maximum call stack")) return "it is nested too deeply";
  return message.split(/ at line|; please use/)[0]!;
}

/** The error for a map that has the key at this offset twice. */
function repeatedKey(path: string, text: string, at: number): DepthwattError {
  const lines = text.slice(0, at).split("\n");
  const [line, column] = [lines.length, lines.at(-1)!.length + 1];
  return new DepthwattError(
    "CONFIG_UNREADABLE",
    `${path}:${line}:${column}: expected YAML or JSON: Map keys must be unique`,
    { context: { file: path, line, column } },
  );
}

/** @throws DepthwattError CONFIG_UNREADABLE with file, line and column */
export function readSettingsFile(path: string): unknown {
  const text = readText(path);
  const { document, repeatedAt } = parseYamlDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    const [first] = error.linePos ?? [];
    const where = first === undefined ? path : `${path}:${first.line}:${first.col}`;
    const message = yamlWords(error.message);
    throw new DepthwattError("CONFIG_UNREADABLE", `${where}: expected YAML or JSON: ${message}`, {
      cause: error,
      context: { file: path, line: first?.line, column: first?.col },
    });
  }
  if (repeatedAt !== undefined) throw repeatedKey(path, text, repeatedAt);
  try {
    return document.toJS();
  } catch (cause) {
    // Aliases that multiply without end.
    throw new DepthwattError(
      "CONFIG_UNREADABLE",
      `${path}: expected YAML or JSON: ${(cause as Error).message}`,
      {
        cause,
        context: { file: path },
      },
    );
  }
}

export function layerFromFile(path: string, value = readSettingsFile(path)): Layer {
  const origin: Origin = { kind: "file", name: path };
  return layerFromObject(value, origin, dirname(resolve(path)));
}

/** Text to a value: as it stands where the setting takes text, else read as YAML does; empty unsets an optional one. */
export function valueOfText({ schema }: Setting, text: string): SettingValue | undefined {
  if (text === "" && schema.safeParse(undefined).success) return undefined;
  if (schema.safeParse(text).success) return text;
  try {
    // YAML would read "#x" as a comment and the value would be empty.
    return (yaml().parse(text) as SettingValue | null) ?? text;
  } catch {
    return text;
  }
}

export function layerFromEnvironment(environment: NodeJS.ProcessEnv): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  const byVariable = new Map(SETTINGS.map((setting) => [variableName(setting.key), setting]));
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith("DEPTHWATT_") || text === undefined) continue;
    if (name in OTHER_VARIABLES || TEST_VARIABLES.includes(name)) continue;
    const setting = byVariable.get(name);
    const origin: Origin = { kind: "environment", name };
    if (setting) layer.entries.set(setting.key, { value: valueOfText(setting, text), origin });
    else
      layer.problems.push(
        unknownKey(layer.problems, name, origin, [...byVariable.keys(), ...Object.keys(OTHER_VARIABLES)]),
      );
  }
  return layer;
}

/** `--set key=value`, in the order given: the last one wins. */
export function layerFromAssignments(assignments: readonly string[]): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  for (const assignment of assignments) {
    const equals = assignment.indexOf("=");
    if (equals < 1) {
      throw new DepthwattError(
        "USAGE",
        `--set: expected key=value, got ${JSON.stringify(shortName(assignment))}`,
        {
          hint: "For example: --set match.sgm.paths=8",
        },
      );
    }
    const key = assignment.slice(0, equals).trim();
    const setting = SETTING_BY_KEY.get(key);
    const origin: Origin = { kind: "flag", name: "--set" };
    if (setting)
      layer.entries.set(key, { value: valueOfText(setting, assignment.slice(equals + 1).trim()), origin });
    else layer.problems.push(unknownKey(layer.problems, key, origin, SETTING_BY_KEY.keys()));
  }
  return layer;
}

/** The value that a command's flag gives to a setting. */
export interface FlagValue {
  /** As the user typed it, such as "--algorithm". */
  flag: string;
  value: string | number | boolean | undefined;
}

/** Flags by the setting they stand for; those not given (undefined) are left out. */
export function layerFromFlags(flags: Readonly<Record<string, FlagValue>>): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  for (const [key, { flag, value }] of Object.entries(flags)) {
    if (value === undefined) continue;
    const setting = SETTING_BY_KEY.get(key);
    if (!setting) throw new DepthwattError("INTERNAL", `${flag} names a setting that does not exist: ${key}`);
    const typed = typeof value === "string" ? valueOfText(setting, value) : value;
    layer.entries.set(key, { value: typed, origin: { kind: "flag", name: flag } });
  }
  return layer;
}

/** Values by dotted key that a program gives; undefined counts as not given, null unsets. */
export function layerFromValues(values: SettingsChange): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  const origin: Origin = { kind: "flag", name: "settings" };
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (SETTING_BY_KEY.has(key)) layer.entries.set(key, { value: value ?? undefined, origin });
    else layer.problems.push(unknownKey(layer.problems, key, origin, SETTING_BY_KEY.keys()));
  }
  return layer;
}

/** Reads a preset's settings. @throws DepthwattError USAGE naming the nearest */
export function layerFromPreset(name: string | undefined): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  if (name === undefined) return layer;
  const origin: Origin = { kind: "preset", name: `preset ${name}` };
  const { settings, startSettings } = findPreset(name, nearestName);
  for (const [key, value] of Object.entries({ ...settings, ...startSettings }))
    layer.entries.set(key, { value, origin });
  return layer;
}

/** A value against its setting's type and range. */
export function checkValue(setting: Setting, value: unknown, origin: Origin): Problem | undefined {
  if (setting.schema.safeParse(value).success) return undefined;
  const near = nearestChoice(setting, value);
  const guess = near === undefined ? "" : `; did you mean "${near}"?`;
  const text = `expected ${expectedWords(setting)}, got ${foundWords(value)}${guess}`;
  return { key: setting.key, origin, unknown: false, text };
}
