// SPDX-License-Identifier: Apache-2.0
// depthwatt presets: every preset with what it is for, where its values are from, and how good it is.
import type { Command } from "commander";
import { withExamples, withJson } from "../../cli/options.js";
import { columns, paint, printJson, printLine, terminalWidth, wrap } from "../../cli/output.js";
import { type Figure, PRESET_GROUP_NAMES, PRESET_GROUPS, PRESETS, type Preset } from "../../presets/index.js";

const HEADINGS = { use: "Presets by use", paper: "Presets with the settings of papers" };

const indent = (text: string) => wrap(text, terminalWidth() - 2).map((line) => `  ${line}`);

const shown = (figure: Figure, kind: "measured" | "published") => {
  const value = figure[kind]?.value;
  return value === undefined ? "-" : `${value}`;
};

function print(name: string, { summary, source, figures }: Preset): void {
  printLine(paint("bold", name));
  for (const line of [...indent(`${summary}.`), ...indent(`Values: ${source}.`)]) printLine(line);
  if (figures.length === 0) return;
  const rows = figures.map((figure) => [
    "",
    shown(figure, "measured"),
    shown(figure, "published"),
    figure.unit,
    figure.of,
  ]);
  for (const line of columns([["", "measured", "published", "", ""], ...rows])) printLine(line);
}

function presets({ json }: { json?: boolean }): void {
  if (json) {
    printJson(Object.entries(PRESETS).map(([name, preset]) => ({ name, ...preset })));
    return;
  }
  for (const group of PRESET_GROUP_NAMES) {
    printLine(HEADINGS[group]);
    printLine();
    for (const [name, preset] of Object.entries(PRESET_GROUPS[group])) {
      print(name, preset);
      printLine();
    }
  }
  printLine(paint("dim", "--json gives every preset's settings, and the file or table of each figure"));
}

export function define(command: Command): void {
  withJson(command, "print as JSON, with settings and sources of the numbers").action(presets);
  withExamples(
    command,
    "depthwatt presets",
    "depthwatt presets --json | jq '.[] | select(.name == \"esaw-9\").settings'",
  );
}
