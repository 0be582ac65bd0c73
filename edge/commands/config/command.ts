// SPDX-License-Identifier: Apache-2.0
// depthwatt config: every value and where it came from, one setting explained, or the schema for editors.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { DepthwattError, redactUrl, writeBeside, yaml } from "../../../core/index.js";
import { type ConfigOptions, loadFlagConfig, withConfig, withExamples } from "../../cli/options.js";
import { columns, paint, printJson, printLine } from "../../cli/output.js";
import {
  expectedWords,
  jsonSchema,
  nearestName,
  originWords,
  SETTING_BY_KEY,
  SETTINGS,
  valueAt,
  variableName,
} from "../../config/index.js";
import { initialFile } from "./initial-file.js";

interface PrintOptions extends ConfigOptions {
  print?: boolean;
  init?: string | true;
  yaml?: boolean;
  schema?: boolean;
  json?: boolean;
}

/** As it may be shown: a password inside a broker's URL is not. */
function shown(value: unknown): unknown {
  return typeof value === "string" ? redactUrl(value) : (value ?? null);
}

function print(options: PrintOptions): void {
  const { config, origins, board } = loadFlagConfig(options);
  if (options.yaml) {
    const nested: Record<string, unknown> = {};
    for (const { key } of SETTINGS) {
      const value = shown(valueAt(config, key));
      const parts = key.split(".");
      const group = parts.slice(0, -1).reduce((node, part) => {
        node[part] ??= {};
        return node[part] as Record<string, unknown>;
      }, nested);
      if (value !== null) group[parts.at(-1)!] = value;
    }
    process.stdout.write(yaml().stringify(nested, { lineWidth: 0 }));
    return;
  }
  if (options.json) {
    const settings = SETTINGS.map(({ key }) => {
      const { kind, name } = origins.get(key)!;
      return [key, { value: shown(valueAt(config, key)), origin: kind, from: name === "" ? null : name }];
    });
    const { name, title, reason } = board;
    printJson({ board: { name: name ?? null, title, reason }, settings: Object.fromEntries(settings) });
    return;
  }
  const rows = SETTINGS.map(({ key }) => {
    const value = shown(valueAt(config, key));
    return [key, value === null ? "-" : String(value), originWords(origins.get(key)!)];
  });
  for (const line of columns(rows)) printLine(line);
  printLine(paint("dim", `board: ${board.title} (${board.reason})`));
}

async function initialize(file: string): Promise<void> {
  if (existsSync(file))
    throw new DepthwattError("FILE_EXISTS", `${file}: expected no such file, it is there already`, {
      hint: "Give another name, or move that file away.",
      context: { file },
    });
  try {
    await writeBeside(file, initialFile());
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
  printLine(`wrote ${file}: use it with depthwatt run --config ${file}`);
}

function explain(key: string, _own: object, command: Command): void {
  // Options of `config` are understood before and after the word explain; none of them changes what a setting means.
  const [idle] = Object.keys(command.parent?.opts() ?? {});
  if (idle !== undefined)
    throw new DepthwattError("USAGE", `expected config explain with a key alone, got --${idle} with it`);
  const setting = SETTING_BY_KEY.get(key);
  if (!setting) {
    const near = nearestName(key, SETTING_BY_KEY.keys());
    throw new DepthwattError("CONFIG_UNKNOWN_KEY", `no setting is called "${key}"`, {
      hint:
        near === undefined ? "Run 'depthwatt config --print' for all of them." : `Did you mean "${near}"?`,
      context: { key },
    });
  }
  const { facts } = setting;
  const value = typeof facts.default === "function" ? facts.default() : facts.default;
  printLine(paint("bold", key));
  printLine(facts.description);
  const rows = [
    ["  accepts", expectedWords(setting)],
    ["  default", value === undefined ? "none" : String(value)],
    [
      "  changes",
      setting.takesEffect === "live" ? "live: in the running program" : "restart: at the next start",
    ],
    ["  in a file", fileForm(key)],
    ["  variable", variableName(key)],
    ["  flag", `--set ${key}=VALUE`],
  ];
  for (const line of columns(rows)) printLine(line);
}

/** match.p1 -> "match: { p1: VALUE }" */
function fileForm(key: string): string {
  const parts = key.split(".");
  const last = `${parts.pop()}: VALUE`;
  return parts.reduceRight((inner, part) => `${part}: { ${inner} }`, last);
}

export function define(command: Command): void {
  withConfig(command)
    .option("--print", "print every value and its origin (the default)")
    .option("--init [file]", "write a configuration file with the settings that most users change")
    .option("--yaml", "print as YAML, ready to be a configuration file")
    .option("--schema", "print the JSON Schema, for editors and other programs")
    .option("--json", "print as JSON")
    .action((options: PrintOptions) => {
      if (options.init !== undefined)
        return initialize(options.init === true ? "depthwatt.yaml" : options.init);
      return options.schema ? printJson(jsonSchema()) : print(options);
    });
  withExamples(
    command,
    "depthwatt config --print --set match.sgm.paths=8",
    "depthwatt config --init depthwatt.yaml",
    "depthwatt config explain match.sgm.p2",
    "depthwatt config --schema > depthwatt.schema.json",
  );
  const explainCommand = command
    .command("explain")
    .argument("<key>", "dotted key, such as match.sgm.p2")
    .description("show a setting's meaning, range and default, and how to set it")
    .action(explain);
  withExamples(explainCommand, "depthwatt config explain match.numDisparities");
}
