// SPDX-License-Identifier: Apache-2.0
// Completion for bash, made from the commands: one file without a library, for every bash since 4.2.
import type { Command } from "commander";
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

/** Returns the name of the shell function for one kind of value. */
function action(value: Value): string {
  switch (value.kind) {
    case "words":
      return `_depthwatt_words '${value.words.join(" ")}'`;
    case "file":
      return "_depthwatt_files -f";
    case "folder":
      return "_depthwatt_files -d";
    case "setting":
      return value.withValue ? "_depthwatt_settings =" : "_depthwatt_settings ''";
    case "free":
      return "COMPREPLY=()";
  }
}

const cases = (lines: readonly string[]) => lines.map((line) => `        ${line}`).join("\n");

/** One pattern for each thing to do: options of one kind share it. */
function grouped(pairs: readonly (readonly [pattern: string, action: string])[]): string[] {
  const patterns = new Map<string, string[]>();
  for (const [pattern, todo] of pairs) patterns.set(todo, [...(patterns.get(todo) ?? []), pattern]);
  return [...patterns].map(([todo, all]) => `${all.map((one) => `'${one}'`).join("|")}) ${todo} ;;`);
}

function argumentCases(node: CommandNode): [string, string][] {
  const name = node.path.join(" ");
  const listed = node.command.registeredArguments;
  // The last one stands for all that follow it: an argument too many is the program's to refuse.
  return listed.map((argument, i): [string, string] => [
    argument.variadic ? `${name}:*` : `${name}:${i}`,
    action(valueOfArgument(argument)),
  ]);
}

export function bashCompletion(program: Command): string {
  const nodes = allNodes(commandTree(program));
  const name = ({ path }: CommandNode) => path.join(" ");
  const options = nodes.map(
    (node) => `'${name(node)}') options='${listOptions(node).flatMap(optionFlags).join(" ")}' ;;`,
  );
  const children = nodes
    .filter((node) => node.children.length > 0)
    .map((node) => `'${name(node)}') commands='${node.children.map((c) => c.path.at(-1)).join(" ")}' ;;`);
  const values = nodes.flatMap((node) =>
    listOptions(node).flatMap((option) => {
      const value = valueOfOption(option);
      if (value === undefined) return [];
      return optionFlags(option).map((flag): [string, string] => [
        `${name(node)} ${flag}`.trim(),
        action(value),
      ]);
    }),
  );
  const patterns = grouped(nodes.flatMap(argumentCases)).map((line) => line.replace(/:\*'/g, ":'*"));
  const settings = settingWords();
  const settingValues = settings.filter(({ words }) => words.length > 0);
  return `# Completion of depthwatt for bash; made from its commands.

_depthwatt_words() {
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_depthwatt_files() {
    [ -n "$skimming" ] && return 0
    compopt -o filenames 2>/dev/null
    local IFS=$'\\n'
    COMPREPLY=($(compgen "$1" -- "$cur"))
}

_depthwatt_settings() {
    [ -n "$skimming" ] && return 0
    [ "$1" = "=" ] && compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S "$1" -W '${settings.map(({ key }) => key).join(" ")}' -- "$cur"))
}

_depthwatt_setting_value() {
    case "$1" in
${cases(grouped(settingValues.map(({ key, words }) => [key, `_depthwatt_words '${words.join(" ")}'`])))}
        *) _depthwatt_files -f ;;
    esac
}

_depthwatt_option_value() {
    case "$1" in
${cases(grouped(values))}
        *) return 1 ;;
    esac
}

_depthwatt_argument() {
    case "$1" in
${cases(patterns)}
    esac
}

_depthwatt() {
    local cur=\${COMP_WORDS[COMP_CWORD]} before='' command='' options='' commands='' count=0 word skip=''
    # While the words before are read nothing is offered, and nothing set for what will be.
    local skimming=1
    COMPREPLY=()
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        # bash treats "=" as a separate word: join it with the words before and after it.
        if [ "$word" = "=" ]; then skip=value; continue; fi
        if [ "$skip" = value ]; then skip=''; continue; fi
        if [ "$skip" = option ]; then skip=''; continue; fi
        case "$word" in
            -*) _depthwatt_option_value "\${command:+$command }$word" && skip=option; COMPREPLY=() ;;
            *)
                commands=''
                case "$command" in
${cases(children)}
                esac
                case " $commands " in
                    *" $word "*) command=\${command:+$command }$word ;;
                    *) count=$((count + 1)) ;;
                esac ;;
        esac
    done
    skimming=''
    before=\${COMP_WORDS[COMP_CWORD - 1]}
    local key=''
    if [ "$cur" = "=" ]; then key=$before cur=''
    elif [ "$before" = "=" ]; then key=\${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ -n "$key" ]; then
        case "$key" in
            -*) _depthwatt_option_value "\${command:+$command }$key" ;;
            *) _depthwatt_setting_value "$key" ;;
        esac
        return
    fi
    if [ "\${before#-}" != "$before" ] && _depthwatt_option_value "\${command:+$command }$before"; then return; fi
    case "$command" in
${cases(options)}
    esac
    case "$cur" in
        -*) _depthwatt_words "$options"; return ;;
    esac
    commands=''
    case "$command" in
${cases(children)}
    esac
    _depthwatt_argument "$command:$count"
    [ "$count" -eq 0 ] && [ -n "$commands" ] && COMPREPLY+=($(compgen -W "$commands" -- "$cur"))
    return 0
}

complete -F _depthwatt depthwatt
`;
}
