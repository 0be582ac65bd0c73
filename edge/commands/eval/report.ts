// SPDX-License-Identifier: Apache-2.0
// Defines the report of a mode of depthwatt eval, and prints it: JSON, lines of a table or CSV, and plots as files.
import { writeFile } from "node:fs/promises";
import { DepthwattError } from "../../../core/index.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";

export interface Plot {
  /** The kind of plot, such as "heat map". */
  name: string;
  file: string;
  svg: string;
}

export interface Report {
  json: unknown;
  /** The same for a person or a spreadsheet, on stdout. */
  lines: readonly string[];
  /** Notes for the reader of the lines, on stderr. */
  notes: readonly string[];
  plots: readonly Plot[];
}

export const MISSING_IS_WRONG = "% bad counts pixels without an estimate as wrong.";

/** Lays out rows as a table; the first row is the heading. */
export function tableLines(rows: readonly string[][]): string[] {
  const [heading, ...lines] = columns(rows);
  return [paint("bold", heading!), ...lines];
}

async function writePlot({ file, svg }: Plot): Promise<void> {
  try {
    await writeFile(file, svg);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Prints the numbers before it writes the plots: a plot that cannot be written does not cost them. */
export async function printReport({ json, lines, notes, plots }: Report, asJson = false): Promise<void> {
  if (asJson) printJson(json);
  else {
    for (const line of lines) printLine(line);
    for (const text of notes) note(text);
  }
  for (const plot of plots) await writePlot(plot);
  if (plots.length > 0) note(plots.map(({ name, file }) => `${name}: ${file}`).join(", "));
}
