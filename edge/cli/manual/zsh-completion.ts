// SPDX-License-Identifier: Apache-2.0
// Completion for zsh, made from the commands, with what --help says of each option next to it.
import type { Command, Option } from "commander";
import {
  allNodes,
  type CommandNode,
  commandTree,
  listOptions,
  optionFlags,
  settingWords,
  type Value,
  valueOfArgument,
  valueOfOption,
} from "./command-tree.js";

/** A text inside single quotes, where brackets and colons mean something to _arguments. */
const escaped = (text: string) => text.replace(/[[\]:\\]/g, "\\$&").replaceAll("'", "'\\''");

function action(value: Value): string {
  switch (value.kind) {
    case "words":
      return `(${value.words.join(" ")})`;
    case "file":
      return "_files";
    case "folder":
      return "_files -/";
    case "setting":
      return value.withValue ? "_depthwatt_assignments" : "_depthwatt_keys";
    case "free":
      return " ";
  }
}

const functionName = ({ path }: CommandNode) => ["_depthwatt", ...path].join("_").replaceAll("-", "_");

function optionSpecs(option: Option): string[] {
  const value = valueOfOption(option);
  const described = `[${escaped(option.description)}]`;
  const argument = value === undefined ? "" : `:value:${action(value)}`;
  const repeated = option.long === "--set" ? "*" : "";
  return optionFlags(option).map((flag) => {
    // "=" after the name: the value may follow a blank or the sign.
    const joint = value !== undefined && flag.startsWith("--") ? "=" : "";
    return `'${repeated}${flag}${joint}${described}${argument}'`;
  });
}

function renderFunction(node: CommandNode): string {
  const { command, children } = node;
  const specs = listOptions(node).flatMap(optionSpecs);
  if (children.length === 0) {
    for (const [i, argument] of command.registeredArguments.entries()) {
      const place = argument.variadic ? "*" : String(i + 1);
      specs.push(`'${place}:${escaped(argument.name())}:${action(valueOfArgument(argument))}'`);
    }
    return `${functionName(node)}() {\n  _arguments -s -S \\\n    ${specs.join(" \\\n    ")}\n}\n`;
  }
  const rows = children.map(
    (child) => `'${child.path.at(-1)}:${escaped(child.command.description().split("\n")[0]!)}'`,
  );
  const branches = children.map((child) => `        ${child.path.at(-1)}) ${functionName(child)} ;;`);
  return `${functionName(node)}() {
  local line state
  local -a commands=(
    ${rows.join("\n    ")}
  )
  _arguments -s -S -C \\
    ${specs.join(" \\\n    ")} \\
    '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $line[1] in
${branches.join("\n")}
      esac ;;
  esac
}
`;
}

export function zshCompletion(program: Command): string {
  const settings = settingWords();
  const values = settings
    .filter(({ words }) => words.length > 0)
    .map(({ key, words }) => `      ${key}) compadd -- ${words.join(" ")} ;;`);
  return `#compdef depthwatt
# Completion of depthwatt for zsh; made from its commands.

_depthwatt_keys() {
  compadd "$@" -- ${settings.map(({ key }) => key).join(" ")}
}

_depthwatt_assignments() {
  if compset -P '*='; then
    case \${IPREFIX%=} in
${values.join("\n")}
      *) _files ;;
    esac
  else
    _depthwatt_keys -S '='
  fi
}

${allNodes(commandTree(program)).map(renderFunction).join("\n")}
_depthwatt "$@"
`;
}
