// SPDX-License-Identifier: Apache-2.0
// Manual pages for man(1), made from the commands: the words of --help in roff.
import type { Command } from "commander";
import { allNodes, type CommandNode, commandTree } from "./command-tree.js";

export interface ManualFacts {
  version: string;
  /** ISO date, such as 2026-11-22. */
  date: string;
}

/** Text as roff prints it: no control line begins by chance, and a dash can be copied into a shell. */
export function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}

const bold = (text: string) => `\\fB${roff(text)}\\fR`;

/** "--left <path>" with the flags bold and the value's name in italics. */
function term(text: string): string {
  const [, flags = text, rest = ""] = /^(.*?)(?:\s+([<[].*))?$/.exec(text)!;
  const value = /^([<[])(.*)([\]>])$/.exec(rest);
  if (value === null) return bold(text);
  const [, open, name = "", close] = value;
  const italic = `\\fI${roff(name)}\\fR`;
  return open === "<" ? `${bold(flags)} ${italic}` : `${bold(flags)} ${open}${italic}${close}`;
}

/** A sentence as it is in a page: --help begins small and ends without a full stop. */
function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?)]$/.test(first) && !/\)$/.test(first) ? first : `${first}.`;
}

const entry = (name: string, text: string) => `.TP\n${term(name)}\n${roff(text)}`;

/** Returns the text that withExamples() and addHelpText() put below the options. */
function textBelow(command: Command): string {
  let all = "";
  const output = command.configureOutput();
  command.configureOutput({
    ...output,
    writeOut: (piece) => (all += piece),
    getOutHelpWidth: () => 1000,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  const own = command.helpInformation();
  command.configureOutput(output);
  return all.startsWith(own) ? all.slice(own.length).trim() : "";
}

function splitExamples(text: string): { examples: string[]; remarks: string[] } {
  const lines = text.split("\n");
  const isExample = (line: string) => line.startsWith("  $ ");
  return {
    examples: lines.filter(isExample).map((line) => line.slice(4)),
    remarks: lines.filter((line) => !isExample(line) && !/^Examples?:$/.test(line) && line !== ""),
  };
}

const pageName = (path: readonly string[]) => ["depthwatt", ...path].join("-");
const reference = (path: readonly string[]) => `.BR ${roff(pageName(path))} (1)`;

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`.SH ${title}`, ...lines];
}

function renderPage(node: CommandNode, parent: CommandNode | undefined, facts: ManualFacts): string {
  const { command, path, children } = node;
  const help = command.createHelp();
  const name = pageName(path);
  const { examples, remarks } = splitExamples(textBelow(command));
  const listed = help.visibleArguments(command);
  const others = [...(parent ? [parent] : []), ...children].map(({ path }) => reference(path));
  const list = children.map(
    (child) => `.TP\n${reference(child.path)}\n${roff(sentence(child.command.description()))}`,
  );
  const settings = help.visibleOptions(command).some(({ long }) => long === "--set")
    ? ["'depthwatt config --print' lists every setting, 'depthwatt config explain KEY' says what one means."]
    : [];
  const lines = [
    `.\\" Made from the command's help; edits here are lost.`,
    `.TH ${roff(name).toUpperCase()} 1 ${facts.date} "depthwatt ${facts.version}" "User Commands"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(command.description().replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    `.B ${roff(["depthwatt", ...path].join(" "))}`,
    roff(command.usage()),
    ".SH DESCRIPTION",
    roff(sentence(command.description())),
    ...section(
      "ARGUMENTS",
      listed.map((one) => entry(`<${one.name()}>`, sentence(help.argumentDescription(one)))),
    ),
    ...section(
      "OPTIONS",
      help
        .visibleOptions(command)
        .map((one) => entry(help.optionTerm(one), sentence(help.optionDescription(one)))),
    ),
    ...section("COMMANDS", list),
    ...section("NOTES", [...remarks, ...settings].map(roff)),
    ...section(
      "EXAMPLES",
      examples.flatMap((example) => [".PP", ".EX", `    ${roff(example)}`, ".EE"]),
    ),
    ...section(
      "SEE ALSO",
      others.map((one, i) => (i < others.length - 1 ? `${one},` : one)),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** Every page by its file name, such as "depthwatt-run.1". */
export function manualPages(program: Command, facts: ManualFacts): Map<string, string> {
  const root = commandTree(program);
  const parents = new Map(allNodes(root).flatMap((node) => node.children.map((child) => [child, node])));
  return new Map(
    allNodes(root).map((node) => [`${pageName(node.path)}.1`, renderPage(node, parents.get(node), facts)]),
  );
}
