// SPDX-License-Identifier: Apache-2.0
// Finds the entries of an energy log: in the journal, or in files, older and compressed ones with them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DepthwattError } from "../../../core/index.js";
import type { EnergyRecord } from "../../contracts/energy.js";
import { isOlderFile } from "../../outputs/energy/energy-file.js";
import { isRecord, readLines } from "../../outputs/energy/lines.js";

export interface FoundEntries {
  /** The oldest first. */
  records: EnergyRecord[];
  /** Lines that are no entry. */
  broken: number;
}

const MAX_JOURNAL_BYTES = 1 << 30;

/** @throws DepthwattError SOURCE_UNREADABLE */
export function readFiles(paths: readonly string[]): FoundEntries {
  const found = paths.flatMap(withOlderFiles).map((path) => readLines(readText(path)));
  const records = found.flatMap((one) => one.records);
  records.sort((one, other) => one.time.localeCompare(other.time));
  return { records, broken: found.reduce((sum, one) => sum + one.broken, 0) };
}

/** The files that the log moved aside before this one. One that was being compressed is there twice: the plain one counts. */
function withOlderFiles(path: string): string[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [path];
  const older = readdirSync(folder).filter((name) => isOlderFile(name, basename(path)));
  const once = older.filter((name) => !(name.endsWith(".gz") && older.includes(name.slice(0, -3))));
  return [...once.sort().map((name) => join(folder, name)), path];
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    return (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  } catch (cause) {
    throw new DepthwattError("SOURCE_UNREADABLE", `cannot read ${path}: ${(cause as Error).message}`, {
      cause,
      hint: "Give the file of outputs.energy.file, or no file to read the service's journal.",
    });
  }
}

/** @throws DepthwattError SOURCE_UNREADABLE without a journal */
export function readJournal(unit: string, since: Date | undefined): FoundEntries {
  const words = ["-o", "json", "-u", unit, "--no-pager", "DEPTHWATT_EVENT=energy"];
  if (since !== undefined) words.push(`--since=@${Math.floor(since.getTime() / 1000)}`);
  const { status, stdout, stderr, error } = spawnSync("journalctl", words, {
    encoding: "utf8",
    maxBuffer: MAX_JOURNAL_BYTES,
  });
  if (error !== undefined || status !== 0) {
    const why = error?.message ?? stderr.trim().split("\n")[0] ?? `journalctl ended with ${status}`;
    throw new DepthwattError("SOURCE_UNREADABLE", `cannot read the journal: ${why}`, {
      hint: "Set outputs.energy.file, and give that file to this command.",
    });
  }
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  const found = lines.map((line) => isRecord(parse(parse(line)?.DEPTHWATT_RECORD)));
  const records = found.filter((record) => record !== undefined);
  return { records, broken: found.length - records.length };
}

function parse(text: unknown): Record<string, unknown> | undefined {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
