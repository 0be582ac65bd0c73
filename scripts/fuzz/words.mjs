// SPDX-License-Identifier: Apache-2.0
// The command line of the scripts that fuzz: `[--seconds N] [--out FILE] [target...]`.
import { parseArgs } from "node:util";

/** @returns seconds for each target (600), the report's file, and the targets: all where none is named. Ends with 2 where one is wrong. */
export function fuzzWords(targets) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string", default: "600" }, out: { type: "string" } },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0) || positionals.some((name) => !targets.includes(name))) {
    console.error(`error: expected seconds above 0 and targets of: ${targets.join(", ")}`);
    process.exit(2);
  }
  return { seconds, out: values.out, chosen: positionals.length > 0 ? positionals : targets };
}
