// SPDX-License-Identifier: Apache-2.0
// depthwatt energy: the energy log of a service or of files, as a table, a plot and totals.
import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { describeArguments, withExamples, withJson } from "../../cli/options.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";
import { readFiles, readJournal } from "./read.js";
import { sinceMoment } from "./since.js";
import { energyPlot, grouped, HEAD, row, sparkline, summarise } from "./summary.js";

interface EnergyOptions {
  since?: string;
  unit: string;
  plot?: string;
  json?: boolean;
}

/** Rows of the table: a terminal's height. */
const ROWS = 20;

function energy(files: string[], { since, unit, plot, json }: EnergyOptions): void {
  const from = since === undefined ? undefined : sinceMoment(since, new Date());
  const found = files.length > 0 ? readFiles(files) : readJournal(unit, from);
  const records = found.records.filter(
    ({ time }) => from === undefined || Date.parse(time) >= from.getTime(),
  );
  if (found.broken > 0) note(`${found.broken} lines are not entries and were skipped`);
  if (records.length === 0) {
    const place = files.length > 0 ? files.join(", ") : `the journal of ${unit}`;
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `expected entries of the energy log, found none in ${place}`,
      {
        hint:
          since === undefined
            ? "The service writes one every log.energyIntervalSeconds; outputs.energy.file is a log without a journal."
            : "Give an earlier --since.",
      },
    );
  }
  if (plot !== undefined) savePlot(plot, energyPlot(records));
  const total = summarise(records);
  if (json) {
    printJson({ total, records });
    return;
  }
  const rows = grouped(records, ROWS);
  for (const [index, line] of columns([HEAD, ...rows.map(row)]).entries())
    printLine(index === 0 ? paint("dim", line) : line);
  printLine();
  if (total.watts !== undefined) {
    printLine(`W        ${sparkline(rows.map(({ watts }) => watts))}`);
    printLine(`J/frame  ${sparkline(rows.map(({ joulesPerFrame }) => joulesPerFrame))}`);
    printLine();
  }
  const joules = total.joules === undefined ? "joules unavailable" : `${total.joules.toFixed(1)} J`;
  const perFrame = total.joulesPerFrame === undefined ? "" : `, ${total.joulesPerFrame.toFixed(4)} J a frame`;
  printLine(
    `${records.length} entries, ${total.frames} frames in ${Math.round(total.seconds)} s, ${joules}${perFrame}`,
  );
  printLine(`matcher: ${total.matchers.join("; ")}`);
}

function savePlot(path: string, svg: string | undefined): void {
  if (svg === undefined)
    throw new DepthwattError("SOURCE_UNREADABLE", "expected watts to plot, found entries without any", {
      hint: "'depthwatt doctor' says why this machine shows no power.",
    });
  try {
    writeFileSync(path, svg);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${path}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

export function define(command: Command): void {
  describeArguments(command, {
    files: "files of outputs.energy.file; older ones next to them are read too (default: the journal)",
  });
  withJson(command, "print totals and every entry as JSON")
    .option("--since <time>", "only newer entries: '2 hours', '30 min' or 2026-01-31T08:00 (default: all)")
    .option("--unit <name>", "the service's unit in the journal", "depthwatt")
    .option("--plot <file.svg>", "also draw watts and joules per frame over time")
    .action(energy);
  withExamples(
    command,
    "depthwatt energy --since '2 hours'",
    "depthwatt energy /var/log/depthwatt/energy.jsonl --plot energy.svg",
    "depthwatt energy --json | jq .total.joulesPerFrame",
  );
}
