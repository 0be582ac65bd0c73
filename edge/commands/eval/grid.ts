// SPDX-License-Identifier: Apache-2.0
// Two parameters over their ranges: a table as CSV, lines over the first parameter, and a heat map.
import type { Evaluation } from "../../eval/evaluate.js";
import { heatMap, xyPlot } from "../../plot/index.js";
import { csvCell, sweepColumns } from "./sweep.js";

export interface GridRow {
  /** Values of the first and of the second parameter. */
  values: [number, number];
  evaluation: Evaluation;
}

export interface Grid {
  keys: [string, string];
  rows: readonly GridRow[];
}

/** The one number of an evaluation: Middlebury v2's mean where the scenes have it, else the mean of all valid pixels. */
export function oneNumber({ mean }: Evaluation): number | null {
  return mean.middleburyV2BadPercent ?? mean.masks.valid?.badPercent ?? null;
}

const MEANING = "% bad";

const distinct = (rows: readonly GridRow[], at: 0 | 1) => [...new Set(rows.map(({ values }) => values[at]))];

const valueAt = (rows: readonly GridRow[], first: number, second: number): number | null => {
  const row = rows.find(({ values }) => values[0] === first && values[1] === second);
  return row === undefined ? null : oneNumber(row.evaluation);
};

/** Comma-separated, RFC 4180: both parameters, the one number, then the columns of a sweep. */
export function gridCsv({ keys, rows }: Grid): string {
  const header = [...keys, MEANING, ...sweepColumns(rows[0]!.evaluation).map(([name]) => name)];
  const cell = (value: number | null) => (value === null ? "" : value.toFixed(4));
  const lines = rows.map(({ values, evaluation }) => [
    ...values.map(String),
    cell(oneNumber(evaluation)),
    ...sweepColumns(evaluation).map(([, number]) => cell(number)),
  ]);
  return [header, ...lines].map((line) => line.map(csvCell).join(",")).join("\n");
}

/** A line for each value of the second parameter. */
export function gridPlot(title: string, { keys, rows }: Grid): string {
  const series = distinct(rows, 1).map((second) => ({
    name: `${keys[1].split(".").at(-1)} ${second}`,
    points: distinct(rows, 0).flatMap((first): [number, number][] => {
      const value = valueAt(rows, first, second);
      return value === null ? [] : [[first, value]];
    }),
  }));
  return xyPlot({ title, x: keys[0], y: MEANING, series });
}

export function gridHeatMap(title: string, { keys, rows }: Grid): string {
  const [down, across] = [distinct(rows, 0), distinct(rows, 1)];
  const values = down.map((first) => across.map((second) => valueAt(rows, first, second)));
  return heatMap({
    title: `${title}, ${MEANING}`,
    x: keys[1],
    y: keys[0],
    columns: across,
    rows: down,
    values,
  });
}
