// SPDX-License-Identifier: Apache-2.0
// The commands as manual pages and completions read them: each with its place below the program, its options and what
// their values can be.
import type { Argument, Command, Option } from "commander";
import { z } from "zod";
import { ALGORITHMS } from "../../../cuda/index.js";
import { SETTINGS } from "../../config/index.js";
import { PRESET_NAMES } from "../../presets/index.js";
import { SOURCE_KINDS } from "../../sources/section.js";

/**
 * A value at a place of the command line: one of these words, a file, a setting (with or without its value), or free
 * text.
 */
export type Value =
  | { kind: "words"; words: readonly string[] }
  | { kind: "file" }
  | { kind: "folder" }
  | { kind: "setting"; withValue: boolean }
  | { kind: "free" };

export interface CommandNode {
  /** Below the program: ["config", "explain"]; the program itself: []. */
  path: readonly string[];
  command: Command;
  children: readonly CommandNode[];
}

const BACKENDS = ["auto", "cpu", "cuda"];

/** Values that commander does not know of an option, by its long flag. */
const BY_FLAG: Readonly<Record<string, Value>> = {
  "--source": { kind: "words", words: SOURCE_KINDS },
  "--algorithm": { kind: "words", words: ALGORITHMS },
  "--backend": { kind: "words", words: BACKENDS },
  "--preset": { kind: "words", words: PRESET_NAMES },
};

/** The same by what stands between < and >. */
const BY_PLACEHOLDER: Readonly<Record<string, Value>> = {
  preset: { kind: "words", words: PRESET_NAMES },
  file: { kind: "file" },
  path: { kind: "file" },
  device: { kind: "file" },
  left: { kind: "file" },
  right: { kind: "file" },
  in: { kind: "file" },
  out: { kind: "file" },
  "out.mcap": { kind: "file" },
  a: { kind: "folder" },
  b: { kind: "folder" },
  dir: { kind: "folder" },
  folder: { kind: "folder" },
  folders: { kind: "folder" },
  key: { kind: "setting", withValue: false },
  "key=value": { kind: "setting", withValue: true },
};

const FREE: Value = { kind: "free" };

/** Undefined: the option takes no value. */
export function valueOfOption(option: Option): Value | undefined {
  if (!option.required && !option.optional) return undefined;
  if (option.argChoices) return { kind: "words", words: option.argChoices };
  const placeholder = /[<[]([^\]>]+)[\]>]/.exec(option.flags)![1]!;
  // <device> is a camera in `capture` and <name> otherwise; --left of `match` is an argument and has its own name.
  return BY_FLAG[option.long ?? ""] ?? BY_PLACEHOLDER[placeholder] ?? FREE;
}

export function valueOfArgument(argument: Argument): Value {
  if (argument.argChoices) return { kind: "words", words: argument.argChoices };
  return BY_PLACEHOLDER[argument.name()] ?? FREE;
}

/** Every command, the program first, each before those below it. */
export function commandTree(program: Command): CommandNode {
  const visit = (command: Command, path: readonly string[]): CommandNode => ({
    path,
    command,
    children: command.commands.map((child) => visit(child, [...path, child.name()])),
  });
  return visit(program, []);
}

export const allNodes = (node: CommandNode): CommandNode[] => [node, ...node.children.flatMap(allNodes)];

/** As --help lists them, --help included. */
export const listOptions = ({ command }: CommandNode): readonly Option[] =>
  command.createHelp().visibleOptions(command);

/** Both spellings of an option, the short one first. */
export const optionFlags = ({ short, long }: Option): string[] =>
  [short, long].filter((flag) => flag !== undefined);

interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
}

function schemaWords(schema: JsonSchema): string[] {
  if (schema.anyOf) return schema.anyOf.flatMap(schemaWords);
  if (schema.const !== undefined) return [String(schema.const)];
  if (schema.enum) return schema.enum.map(String);
  return schema.type === "boolean" ? ["true", "false"] : [];
}

export interface SettingWords {
  key: string;
  description: string;
  /** Values it can have, where they can be listed. */
  words: readonly string[];
}

/** Every setting; `preset` stands for many of them in a request and is none. */
export const settingWords = (): SettingWords[] =>
  SETTINGS.map(({ key, schema, facts }) => ({
    key,
    description: facts.description,
    words: schemaWords(z.toJSONSchema(schema) as JsonSchema),
  }));
