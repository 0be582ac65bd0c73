// SPDX-License-Identifier: Apache-2.0
// The program's commands, and what a shell printed about them.
import type { Command } from "commander";
import { buildProgram } from "../../edge/cli/program.js";

export const program = await buildProgram();
const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];
/** The program and every command below it. */
export const commands = everyCommand(program);
/** The names of a command and those above it, from the program on. */
export function pathOf(command: Command): string[] {
  return [...(command.parent === null ? [] : pathOf(command.parent)), command.name()];
}
/** Returns values in the order of `commands` by the names of their commands. */
export const byCommand = (values: string[][]) =>
  Object.fromEntries(values.map((value, at) => [pathOf(commands[at]!).join(" "), value]));
/** Splits what a shell printed, one suggestion a line and END after each answer. */
export const splitAnswers = (text: string): string[][] =>
  text
    .split(/^END\n/m)
    .slice(0, -1)
    .map((answer) => answer.split("\n").filter((line) => line !== ""));
