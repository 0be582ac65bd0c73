// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: the list of commands, and what holds for all of them.
import { Command } from "commander";
import { COMMANDS, type CommandEntry } from "../commands/list.js";
import { VERSION } from "../contracts/version.js";
import { DEFAULT_COLUMNS, formatItem, helpColumns, helpText } from "./help.js";
import { checkOpenFilesLimit } from "./open-files.js";
import { beginOutput } from "./output.js";
import { reportError } from "./report-error.js";

const EPILOGUE = `
Exit codes: 0 done, 2 usage or configuration, 3 device, file or sensor, 4 engine, 5 broker, 6 done but something was \
left out, 70 a bug.
Begin with: depthwatt run, then depthwatt doctor for what this machine has.`;

const commandName = ({ usage }: CommandEntry) => usage.split(" ", 1)[0];

/** @param called the command to define whole; the others are only listed. Every one if undefined. */
export async function buildProgram(called?: string): Promise<Command> {
  const program = new Command("depthwatt")
    .description("Stereo depth from paired cameras, published over MQTT with its cost in joules per frame.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", () => helpText(EPILOGUE))
    .exitOverride()
    // Usage errors are reported by reportError, in the same form as every other error.
    .configureOutput({ outputError: () => {}, getOutHelpWidth: () => helpColumns() ?? DEFAULT_COLUMNS });
  program.configureHelp({
    formatItem,
    // Without "[command]", so that the list is the same whether a command's own commands are defined or not.
    subcommandTerm: (command) => `${command.name()} ${command.usage().replace(" [command]", "")}`,
  });
  const all =
    called === undefined || COMMANDS.some((entry) => entry.needsAll && commandName(entry) === called);
  for (const entry of COMMANDS) {
    const command = program.command(entry.usage).description(entry.summary).helpGroup(`${entry.group}:`);
    if (all || commandName(entry) === called) (await entry.load()).define(command);
    command.helpOption("-h, --help", "print this help");
  }
  return program;
}

/** Turns `help config explain` into `config explain --help`. A command that is unknown stays alone, to be refused as such. */
function withoutHelpCommand(words: readonly string[]): readonly string[] {
  const [first, ...rest] = words;
  if (first !== "help") return words;
  const known = ["help", undefined, ...COMMANDS.map(commandName)].includes(rest[0]);
  return known ? [...rest.filter((word) => word !== "help"), "--help"] : rest;
}

/** Runs one command line to its end. @returns the exit code */
export async function runCommandLine(given: readonly string[]): Promise<number> {
  beginOutput();
  try {
    checkOpenFilesLimit();
  } catch (error) {
    return reportError(error, "depthwatt");
  }
  const words = withoutHelpCommand(given);
  const program = await buildProgram(words.find((word) => !word.startsWith("-")) ?? "");
  try {
    await program.parseAsync(words, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // The first one named: `profile compare` is of profile.
    const named = words.find((word) => program.commands.some((command) => command.name() === word));
    return reportError(
      error,
      named === undefined ? "depthwatt" : `depthwatt ${named}`,
      words.includes("--json"),
    );
  }
}
