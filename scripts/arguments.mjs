// SPDX-License-Identifier: Apache-2.0
// The command line of a script: parseArgs of node:util, whose complaints are a line instead of an exception, and --help.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** The comment at a script's head says what it does and takes. */
function headOf(script) {
  const lines = readFileSync(script, "utf8").split("\n").slice(1);
  const end = lines.findIndex((line) => !line.startsWith("//"));
  return lines
    .slice(0, end)
    .filter((line) => !line.startsWith("// SPDX"))
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n");
}

/** @param config as parseArgs takes it. Ends with 0 after --help, with 2 where a word is wrong. */
export function scriptArguments(config) {
  const script = process.argv[1];
  if (process.argv.includes("--help")) {
    console.log(headOf(script));
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
