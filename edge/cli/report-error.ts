// SPDX-License-Identifier: Apache-2.0
// Formats an error for the user: one line and a hint for a known error, the stack for an unknown one.
import { CommanderError } from "commander";
import { ERROR_CATALOGUE, printable, redactUrl } from "../../core/index.js";
import { codedError } from "../contracts/coded-error.js";
import { journalFields, leadsToJournal, sendToJournal } from "../service/journal.js";
import { note, paint, printJsonError } from "./output.js";

const EXIT_USAGE = 2;
const EXIT_BUG = 70;

const PINO_ERROR = 50;

/** In a service: one entry, with the code that can be searched for. @returns whether the journal has it */
function saidToJournal(message: string, hint: string, code: string): boolean {
  if (!leadsToJournal()) return false;
  const line = JSON.stringify({
    level: PINO_ERROR,
    msg: `error: ${message}\nhint: ${hint}`,
    hint,
    errorCode: code,
  });
  return sendToJournal(journalFields(redactUrl(line))) === "";
}

function say(message: string, hint: string, code: string, json: boolean): void {
  const error = { code, message: printable(redactUrl(message)), hint: printable(redactUrl(hint)) };
  if (json) printJsonError(error);
  if (saidToJournal(message, hint, code)) return;
  note(`${paint("red", "error:", process.stderr)} ${error.message}`);
  note(`${paint("bold", "hint:", process.stderr)} ${error.hint}`);
}

/** Commander's message is "error: what\n(Did you mean x?)". */
function reportUsage(error: CommanderError, commandLine: string, json: boolean): number {
  if (error.exitCode === 0) return 0;
  // Called without a command: the help it printed says it all.
  if (error.code === "commander.help") return EXIT_USAGE;
  const [first = "", ...rest] = error.message.split("\n");
  const guess = rest
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  const see = `Run '${commandLine} --help'.`;
  say(first.replace(/^error: /, ""), guess === "" ? see : `${guess} ${see}`, "USAGE", json);
  return EXIT_USAGE;
}

/**
 * Prints `error` on stderr.
 * @param commandLine such as "depthwatt run", for the hint of a usage error
 * @param json also prints {"error": {code, message, hint}} on stdout if no result is there yet
 * @returns the exit code
 */
export function reportError(error: unknown, commandLine: string, json = false): number {
  if (error instanceof CommanderError) return reportUsage(error, commandLine, json);
  const known = codedError(error);
  if (known && known.code !== "INTERNAL") {
    say(known.message, known.hint, known.code, json);
    return known.exitCode;
  }
  note(
    error instanceof Error
      ? redactUrl(error.stack ?? error.message)
      : `a value that is no error was thrown: ${String(error)}`,
  );
  say("this is a bug in depthwatt", ERROR_CATALOGUE.INTERNAL.hint, "INTERNAL", json);
  return EXIT_BUG;
}
