// SPDX-License-Identifier: Apache-2.0
// A result file of bench/results: what was measured, on which machine, at which commit, beside what load.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";

const said = (command, ...words) => execFileSync(command, words, { encoding: "utf8" }).trim();

/** Load of the last minute, five and fifteen: what runs beside a measurement. */
export const loadNow = () =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(", ");

/**
 * Writes `figures` to the file, or prints them without one. `machine` is the machine's name below bench/results; `load` says
 * what ran beside it, as a person saw it.
 */
export function writeResult(file, { what, machine, load, ...figures }) {
  const result = {
    what,
    machine: {
      name: machine,
      processor: cpus()[0]?.model.trim(),
      cores: cpus().length,
      memoryBytes: totalmem(),
      kernel: said("uname", "-r"),
    },
    commit: said("git", "rev-parse", "--short", "HEAD"),
    date: new Date().toISOString().slice(0, 10),
    toolchain: { node: process.version, compiler: said("g++", "--version").split("\n")[0] },
    powerMode: null,
    clocks: null,
    load,
    ...figures,
  };
  const text = `${JSON.stringify(result, undefined, 2)}\n`;
  if (file === undefined) console.log(text);
  else writeFileSync(file, text);
}
