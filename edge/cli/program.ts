// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: the list of commands, and what holds for all of them.
import { Command, Help } from "commander";
import { VERSION } from "../version.js";
import { COMMANDS } from "./commands.js";
import { DEFAULT_COLUMNS, formatItem, helpColumns, helpText } from "./help.js";
import { reportError } from "./report-error.js";

const EPILOGUE = `
Exit codes: 0 done, 2 usage or configuration, 3 device, file or sensor, 4 engine, 5 broker, 6 done but something was \
left out, 70 a bug.
Begin with: depthwatt run, then depthwatt doctor for what this machine has.`;

/** Of every command, whether it was defined or only listed. */
const TERMS = new Map(
  COMMANDS.map(({ name, arguments: all }) => [name, `${name} [options] ${all}`.trimEnd()]),
);

/** @param called the command to define whole; the others are only listed. Every one if undefined. */
export async function buildProgram(called?: string): Promise<Command> {
  const program = new Command("depthwatt")
    .description("Stereo depth from paired cameras, published over MQTT with its cost in joules per frame.")
    .version(VERSION, "--version", "print the version")
    .helpOption("--help", "print this help")
    .helpCommand(false)
    .addHelpText("after", () => helpText(EPILOGUE))
    .exitOverride()
    // Usage errors are told by reportError, in the same form as every other error.
    .configureOutput({ outputError: () => {}, getOutHelpWidth: () => helpColumns() ?? DEFAULT_COLUMNS });
  program.configureHelp({
    formatItem,
    subcommandTerm: (command) =>
      (command.parent === program && TERMS.get(command.name())) || new Help().subcommandTerm(command),
  });
  const every =
    called === undefined || COMMANDS.some(({ name, readsOthers }) => readsOthers && called === name);
  for (const { name, description, define } of COMMANDS) {
    const command = program.command(name).description(description);
    if (every || called === name) (await define())(command);
    command.helpOption("--help", "print this help");
  }
  return program;
}

/** Runs one command line to its end. @returns the exit code */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const program = await buildProgram(words.find((word) => !word.startsWith("-")) ?? "");
  try {
    await program.parseAsync(words, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // The first one named: `profile compare` is of profile.
    const named = words.find((word) => program.commands.some((command) => command.name() === word));
    return reportError(error, named === undefined ? "depthwatt" : `depthwatt ${named}`);
  }
}
