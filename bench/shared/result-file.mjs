// SPDX-License-Identifier: Apache-2.0
// Writes a result file: what was measured, on which machine, at which commit, under which load; one row per line.
//   node bench/shared/result-file.mjs FILE...     rewrites result files in this format
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, getPriority, loadavg, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Keys that every result file has; a value that is not known is null. */
export const RESULT_KEYS = ["machine", "commit", "date", "toolchain", "powerMode", "clocks", "load", "rows"];

/**
 * Command line options of every program that writes a result: name of the machine's folder, a remark on the load, another file.
 * @type {Record<keyof ResultOptions, {type: "string"}>}
 */
export const RESULT_OPTIONS = {
  machine: { type: "string" },
  load: { type: "string" },
  out: { type: "string" },
};

/** @typedef {{ machine?: string | undefined, load?: string | undefined, out?: string | undefined }} ResultOptions */

/** Load average when the program started. */
const loadBefore = loadavg()[0];

const optional = (read) => {
  try {
    return read().trim();
  } catch {
    return null;
  }
};
const firstLine = (command, ...words) =>
  optional(() => execFileSync(command, words, { cwd: root, encoding: "utf8" }).trim().split("\n")[0]);

/**
 * The head of a result file: everything but what was measured.
 * @param {ResultOptions} options
 */
export function describeRun({ machine, load } = {}) {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  const cores = cpus().length;
  const folder = `${model} ${cores} cores`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const changed = firstLine("git", "status", "--porcelain", "--untracked-files=no");
  return {
    machine: { name: machine ?? folder, processor: model, cores, memoryBytes: totalmem(), kernel: release() },
    commit: `${firstLine("git", "rev-parse", "--short=7", "HEAD") ?? "unknown"}${changed ? "-dirty" : ""}`,
    date: new Date().toISOString().slice(0, 10),
    toolchain: { node: process.version, compiler: firstLine("g++", "--version") },
    powerMode: optional(() => readFileSync("/sys/firmware/acpi/platform_profile", "utf8")),
    clocks: optional(() => readFileSync("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "utf8")),
    load: {
      before: loadBefore,
      after: loadavg()[0],
      priority: getPriority(),
      ...(load !== undefined && { remark: load }),
    },
  };
}

/** JSON with one line per key, and one line per element of an array. */
export function formatResult(result) {
  const lines = Object.entries(result).map(([key, value]) => {
    const text =
      Array.isArray(value) && value.length > 0
        ? `[\n${value.map((element) => `  ${JSON.stringify(element)}`).join(",\n")}\n ]`
        : JSON.stringify(value);
    return ` ${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${lines.join(",\n")}\n}\n`;
}

/**
 * Writes bench/results/MACHINE/DATE-COMMIT-KIND.json, or `out`, and prints its path.
 * @param {string} kind such as "speed", the last part of the file's name
 * @param {ResultOptions} options values of RESULT_OPTIONS
 * @param {{what: string, [key: string]: unknown}} measured `what`, in a sentence, and `rows`
 * @returns the path
 */
export function writeResult(kind, { machine, load, out }, { what, ...measured }) {
  const run = describeRun({ machine, load });
  const name = `${run.date}-${run.commit}-${kind}.json`;
  const file = out ?? join(root, "bench/results", run.machine.name, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, formatResult({ what, ...run, ...measured }));
  console.log(file);
  return file;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const file of process.argv.slice(2)) {
    const result = JSON.parse(readFileSync(file, "utf8"));
    const missing = RESULT_KEYS.filter((key) => !(key in result));
    if (missing.length > 0) throw new Error(`${file}: expected the keys ${missing.join(", ")}`);
    writeFileSync(file, formatResult(result));
  }
}
