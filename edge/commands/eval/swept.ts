// SPDX-License-Identifier: Apache-2.0
// One parameter over a range, or two: every value of the first with every value of the second.
import { DepthwattError } from "../../../core/index.js";
import { checkOutputs } from "../../cli/options.js";
import { evaluateWith, folderTitle, load, loadSwept, readScenes } from "./evaluation.js";
import { type Grid, type GridRow, gridCsv, gridHeatMap, gridPlot, oneNumber } from "./grid.js";
import type { EvalOptions } from "./options.js";
import { sweepPlot } from "./plot.js";
import { EvalProgress } from "./progress.js";
import type { Report } from "./report.js";
import { parseSweep, type Sweep, type SweepRow, sweepCsv } from "./sweep.js";

/** Loads every value before the first scene is matched, which may take hours. @throws DepthwattError USAGE, CONFIG_* */
function checkSweeps(options: EvalOptions, [first, second]: readonly [Sweep, Sweep?]): void {
  if (first.key === second?.key)
    throw new DepthwattError("USAGE", `expected two parameters to sweep, got ${first.key} twice`);
  for (const key of second === undefined ? [first.key] : [first.key, second.key])
    if (options.set?.some((pair) => pair.startsWith(`${key}=`)))
      throw new DepthwattError("USAGE", `expected --sweep or --set of ${key}, got both`);
  const at = (x: number, y: number | undefined) =>
    loadSwept(options, { [first.key]: x, ...(second && y !== undefined && { [second.key]: y }) });
  const ends = ({ values }: Sweep) => [values[0]!, values.at(-1)!];
  // Each value alone, since a step may reach a number that is not whole, and the corners of two.
  for (const x of first.values) at(x, second?.values[0]);
  for (const y of second?.values ?? []) at(first.values[0]!, y);
  for (const x of ends(first)) for (const y of second === undefined ? [] : ends(second)) at(x, y);
}

const loadScenes = (folders: readonly string[], options: EvalOptions) =>
  readScenes(folders, options, load(options).config.match.algorithm);

export async function evaluateSweep(folders: readonly string[], options: EvalOptions): Promise<Report> {
  const sweep = parseSweep(options.sweep![0]!);
  const { key, values } = sweep;
  checkSweeps(options, [sweep]);
  const scenes = await loadScenes(folders, options);
  const rows: SweepRow[] = [];
  const progress = new EvalProgress(values.length);
  for (const value of values) {
    progress.begin(`${key} = ${value}`);
    const evaluation = await evaluateWith(loadSwept(options, { [key]: value }), scenes, options, progress);
    rows.push({ value, evaluation });
  }
  const plot = options.plot ?? `sweep-${key}.svg`;
  const svg = sweepPlot(`${folderTitle(folders)}: % bad over ${key}`, key, rows);
  return {
    json: { parameter: key, plot, rows: rows.map(({ value, evaluation }) => ({ value, ...evaluation })) },
    lines: [sweepCsv(key, rows)],
    notes: [],
    plots: [{ name: "plot", file: plot, svg }],
  };
}

export async function evaluateGrid(folders: readonly string[], options: EvalOptions): Promise<Report> {
  const [a, b] = options.sweep!.map(parseSweep) as [Sweep, Sweep];
  checkSweeps(options, [a, b]);
  const plot = options.plot ?? `sweep-${a.key}-${b.key}.svg`;
  const heatMap = options.heatMap ?? `heat-${a.key}-${b.key}.svg`;
  checkOutputs({}, { "--plot": plot, "--heat-map": heatMap });
  const scenes = await loadScenes(folders, options);
  const rows: GridRow[] = [];
  const progress = new EvalProgress(a.values.length * b.values.length);
  for (const x of a.values) {
    for (const y of b.values) {
      progress.begin(`${a.key} = ${x}, ${b.key} = ${y}`);
      const loaded = loadSwept(options, { [a.key]: x, [b.key]: y });
      const evaluation = await evaluateWith(loaded, scenes, options, progress);
      rows.push({ values: [x, y], evaluation });
    }
  }
  const grid: Grid = { keys: [a.key, b.key], rows };
  const title = folderTitle(folders);
  const jsonRows = rows.map(({ values, evaluation }) => ({
    values,
    badPercent: oneNumber(evaluation),
    ...evaluation,
  }));
  return {
    json: { parameters: grid.keys, plot, heatMap, rows: jsonRows },
    lines: [gridCsv(grid)],
    notes: [],
    plots: [
      { name: "plot", file: plot, svg: gridPlot(title, grid) },
      { name: "heat map", file: heatMap, svg: gridHeatMap(title, grid) },
    ],
  };
}
