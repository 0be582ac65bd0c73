// SPDX-License-Identifier: Apache-2.0
// The metrics of a recording as a table: a row for each, a column for each number in any of them.
import { DepthwattError, writeBeside } from "../../../core/index.js";
import type { Recording } from "../../mcap/recording.js";
import { type Conversion, type ConversionEvents, Counting } from "./conversion.js";
import { countLoss } from "./to-folders.js";

type Cell = number | string | boolean;

/** {a: {b: 1}} is {"a.b": 1}; null and lists have no cell. */
export function flattened(
  value: unknown,
  prefix = "",
  into: Record<string, Cell> = {},
): Record<string, Cell> {
  if (typeof value === "number" || typeof value === "string" || typeof value === "boolean")
    into[prefix] = value;
  else if (typeof value === "object" && value !== null && !Array.isArray(value))
    for (const [key, child] of Object.entries(value))
      flattened(child, prefix === "" ? key : `${prefix}.${key}`, into);
  return into;
}

/** Spreadsheets run text that begins so as a formula; an apostrophe makes it text. */
const FORMULA = /^[=+\-@\t\r]/;

function cellText(cell: Cell | undefined): string {
  if (typeof cell !== "string") return String(cell ?? "");
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @throws DepthwattError SOURCE_EMPTY: a recording without figures */
export async function toCsv(
  recording: Recording,
  out: string,
  events: ConversionEvents,
): Promise<Conversion> {
  const channel = [...recording.channels.values()].find(
    ({ schemaId }) => recording.schemas.get(schemaId)?.name === "depthwatt.Metrics",
  );
  const counting = new Counting(events, channel && Number(recording.counts?.get(channel.id) ?? 0n));
  const rows: Record<string, Cell>[] = [];
  for await (const { data, logTime } of recording.messages({ channels: new Set([channel?.id ?? -1]) })) {
    try {
      rows.push({ timeNs: String(logTime), ...flattened(JSON.parse(new TextDecoder().decode(data))) });
      counting.wrote();
    } catch (error) {
      counting.skip("unreadable", (error as Error).message);
    }
  }
  countLoss(recording, counting);
  // Where some were damaged, the table is as empty as the counts say.
  if (rows.length === 0 && Object.keys(counting.skipped).length === 0)
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${recording.file}: expected figures of a run (depthwatt.Metrics), found none`,
      { hint: "Figures are in what 'depthwatt record' writes, once a second and at the end." },
    );
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    columns.map(cellText).join(","),
    ...rows.map((row) => columns.map((name) => cellText(row[name])).join(",")),
  ];
  await writeBeside(out, `${lines.join("\n")}\n`);
  return counting;
}
