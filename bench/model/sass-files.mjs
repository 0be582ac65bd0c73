// SPDX-License-Identifier: Apache-2.0
// Reads disassemblies, and writes instruction counts as a result file of bench/results/disassembly.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** Returns the text of a disassembly; a name that ends in .gz is compressed. */
export function readSass(file) {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
}

/** @param commit undefined: the commit that is checked out here */
export function writeCounts(file, rows, commit) {
  const head = {
    machine: "disassembly",
    commit:
      commit ??
      execFileSync("git", ["rev-parse", "--short=7", "HEAD"], {
        cwd: import.meta.dirname,
        encoding: "utf8",
      }).trim(),
    date: new Date().toISOString(),
    toolchain: "nvcc 11.8 for sm_53 to sm_87, 13.0 for the others",
    powerMode: "none",
    clocks: "none",
    load: "none",
  };
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  writeFileSync(file, `${JSON.stringify(head).slice(0, -1)},\n "rows": [\n${lines}\n ]}\n`);
}
