// SPDX-License-Identifier: Apache-2.0
// Writes and reads the lines of an energy log, as JSON and as CSV. CSV has one column for each field and each rail.
import type { EnergyRecord } from "../../contracts/energy.js";

/** Fields in the order of the columns; rails follow as "rail:LABEL". */
export const FIELDS = [
  "time",
  "seconds",
  "frames",
  "fps",
  "matcher",
  "watts",
  "wattsUncertainty",
  "wattsIdle",
  "joules",
  "joulesPerFrame",
  "fpsPerWatt",
  "mode",
  "gpuMegahertz",
  "emcMegahertz",
  "cpuMegahertz",
  "temperatureCelsius",
  "throttled",
  "asleepSeconds",
] as const satisfies readonly Exclude<keyof EnergyRecord, "rails">[];

const RAIL = "rail:";
const UNAVAILABLE = "unavailable: ";

const asText = (value: unknown): string => {
  if (typeof value === "object" && value !== null && "reason" in value)
    return `${UNAVAILABLE}${value.reason}`;
  return String(value);
};

/** RFC 4180: quotes where a comma, a quote or a line end would end the field. */
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const csvLine = (fields: readonly string[]) => `${fields.map(quoted).join(",")}\n`;

export const jsonLine = (record: EnergyRecord): string => `${JSON.stringify(record)}\n`;

export const csvHead = (record: EnergyRecord): string =>
  csvLine([...FIELDS, ...Object.keys(record.rails).map((label) => `${RAIL}${label}`)]);

/** @param head the file's first line: rails that it does not name are left out, rails that are gone are unavailable */
export function csvRow(record: EnergyRecord, head: string): string {
  const gone = { available: false, reason: "the sensor has no such rail now" };
  const names = splitCsv(head);
  return csvLine(
    names.map((name) =>
      asText(
        name.startsWith(RAIL)
          ? (record.rails[name.slice(RAIL.length)] ?? gone)
          : record[name as (typeof FIELDS)[number]],
      ),
    ),
  );
}

/** The fields of one line. */
function splitCsv(line: string): string[] {
  const fields: string[] = [];
  const pattern = /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g;
  for (const [, inQuotes, plain] of line.trimEnd().matchAll(pattern))
    fields.push(inQuotes === undefined ? plain! : inQuotes.replaceAll('""', '"'));
  return fields;
}

const TEXTS: readonly string[] = ["time", "matcher", "mode"];

function fromText(name: string, text: string): unknown {
  if (text.startsWith(UNAVAILABLE)) return { available: false, reason: text.slice(UNAVAILABLE.length) };
  if (TEXTS.includes(name)) return text;
  if (text === "true" || text === "false") return text === "true";
  return Number(text);
}

function fromCsv(line: string, names: readonly string[]): EnergyRecord | undefined {
  const texts = splitCsv(line);
  if (texts.length !== names.length) return undefined;
  const record: Record<string, unknown> = {};
  const rails: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const value = fromText(name, texts[index]!);
    if (name.startsWith(RAIL)) rails[name.slice(RAIL.length)] = value;
    else record[name] = value;
  }
  return isRecord({ ...record, rails });
}

/** A value as it is in a record, or undefined if it is none. */
export function isRecord(value: unknown): EnergyRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { time, seconds, frames, rails } = value as Record<string, unknown>;
  const sound =
    typeof time === "string" &&
    Number.isFinite(Date.parse(time)) &&
    Number.isFinite(seconds) &&
    Number.isFinite(frames) &&
    typeof rails === "object" &&
    rails !== null;
  return sound ? (value as EnergyRecord) : undefined;
}

/** @returns the records, and how many lines are none, such as one that a power cut left unfinished */
export function readLines(text: string): { records: EnergyRecord[]; broken: number } {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const records: EnergyRecord[] = [];
  let broken = 0;
  let names: string[] | undefined;
  for (const line of lines) {
    if (line.startsWith(`${FIELDS[0]},`)) {
      names = splitCsv(line);
      continue;
    }
    const record = names === undefined ? fromJson(line) : fromCsv(line, names);
    if (record === undefined) broken++;
    else records.push(record);
  }
  return { records, broken };
}

function fromJson(line: string): EnergyRecord | undefined {
  try {
    return isRecord(JSON.parse(line));
  } catch {
    return undefined;
  }
}
