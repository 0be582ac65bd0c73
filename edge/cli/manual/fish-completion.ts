// SPDX-License-Identifier: Apache-2.0
// Completion for fish: one `complete` line for each command, option and argument, with its description.
import type { Command } from "commander";
import {
  allNodes,
  type CommandNode,
  commandTree,
  listOptions,
  settingWords,
  type Value,
  valueOfArgument,
  valueOfOption,
} from "./command-tree.js";

/** A text inside single quotes. */
const quoted = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;

function valueFlags(value: Value | undefined): string {
  switch (value?.kind) {
    case undefined:
      return "";
    case "words":
      return ` -xa ${quoted(value.words.join(" "))}`;
    case "file":
      return " -rF";
    case "folder":
      return " -xa '(__fish_complete_directories)'";
    case "setting":
      return ` -xa '(__depthwatt_${value.withValue ? "assignments" : "keys"})'`;
    case "free":
      return " -x";
  }
}

/** The condition under which fish completes inside this command and in none below it. */
function condition({ path, children }: CommandNode): string {
  const inside = ["__depthwatt_in", ...path].join(" ");
  if (path.length === 0) return inside;
  const below = children.map((child) => `not __depthwatt_in ${child.path.join(" ")}`);
  return [inside, ...below].join("; and ");
}

function lines(node: CommandNode): string[] {
  const complete = `complete -c depthwatt -n ${quoted(condition(node))}`;
  const commands = node.children.map(
    ({ path, command }) =>
      `${complete} -fa ${path.at(-1)} -d ${quoted(command.description().split("\n")[0]!)}`,
  );
  const options = listOptions(node).map((option) => {
    const short = option.short === undefined ? "" : ` -s ${option.short.slice(1)}`;
    const long = option.long === undefined ? "" : ` -l ${option.long.slice(2)}`;
    return `${complete}${short}${long}${valueFlags(valueOfOption(option))} -d ${quoted(option.description)}`;
  });
  const values = node.command.registeredArguments.map(valueOfArgument).filter(({ kind }) => kind !== "free");
  return [...commands, ...options, ...values.map((value) => `${complete}${valueFlags(value)}`)];
}

export function fishCompletion(program: Command): string {
  const settings = settingWords();
  const assignments = settings.flatMap(({ key, words }) =>
    words.length === 0 ? [`${key}=`] : words.map((word) => `${key}=${word}`),
  );
  return `# Completion of depthwatt for fish; made from its commands.

function __depthwatt_keys
  printf '%s\\n' ${settings.map(({ key }) => key).join(" ")}
end

function __depthwatt_assignments
  printf '%s\\n' ${assignments.join(" ")}
end

# Succeeds if the command's name begins with these words. Without words, succeeds if there is no command yet.
function __depthwatt_in
  set -l words (string match -v -- '-*' (commandline -opc))
  set -e words[1]
  if test (count $argv) -eq 0
    test (count $words) -eq 0
  else
    string match -q -- "$argv *" "$words "
  end
end

complete -c depthwatt -f
${allNodes(commandTree(program)).flatMap(lines).join("\n")}
`;
}
