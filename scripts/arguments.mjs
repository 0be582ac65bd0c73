// SPDX-License-Identifier: Apache-2.0
// The command line of a script: parseArgs of node:util, whose complaints are a line instead of an exception, and --help.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** The comment at a script's head says what it does and takes. */
function headComment(script) {
  const lines = readFileSync(script, "utf8").split("\n").slice(1);
  const end = lines.findIndex((line) => !line.startsWith("//"));
  return lines
    .slice(0, end)
    .filter((line) => !line.startsWith("// SPDX"))
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n");
}

/**
 * Parses the command line. Ends the process with 0 after --help, with 2 where an argument is wrong.
 * @template {import("node:util").ParseArgsConfig} T
 * @param {T} config as parseArgs takes it
 * @returns {ReturnType<typeof parseArgs<T>>}
 */
export function scriptArguments(config) {
  const script = process.argv[1];
  if (process.argv.includes("--help")) {
    console.log(headComment(script));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    if (!error.code?.startsWith("ERR_PARSE_ARGS")) throw error;
    console.error(`error: ${error.message}\nhint: --help says what this script takes`);
    process.exit(2);
  }
}
