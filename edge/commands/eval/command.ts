// SPDX-License-Identifier: Apache-2.0
// depthwatt eval: how accurate a matcher is on scenes with a ground truth, at one setting or over a range of one.
import { writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import {
  ALGORITHMS,
  type Algorithm,
  createEngine,
  parametersOf,
  readsColours,
  withoutColours,
} from "../../../cuda/index.js";
import { type FlagValue, type LoadedConfig, loadConfig, matchParameters } from "../../config/index.js";
import {
  type Evaluation,
  engineMatcher,
  evaluate,
  evaluationTable,
  readDataset,
  readScene,
  type Scene,
  type SceneEntry,
} from "../../eval/index.js";
import { type Grid, type GridRow, gridCsv, gridHeatMap, gridPlot, oneNumber } from "./grid.js";
import { megaDisparitiesPerSecond, type PaperRow, paperNotes, paperTable } from "./paper-table.js";
import { sweepPlot } from "./plot.js";
import { PUBLISHED } from "./published.js";
import { parseSweep, type Sweep, type SweepRow, sweepCsv } from "./sweep.js";
import {
  describeArguments,
  checkOutputs,
  type ConfigOptions,
  configOf,
  withConfig,
  withExamples,
  withJson,
} from "../../cli/options.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";

interface EvalOptions extends ConfigOptions {
  algorithm?: string;
  backend?: string;
  threshold?: string;
  scenes?: string;
  frames: string;
  sweep?: string[];
  plot?: string;
  heatMap?: string;
  table?: string;
  json?: boolean;
}

const DEFAULT_FRAMES = "3";

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value <= 0) {
    throw new DepthwattError("USAGE", `expected a number above 0 for ${flag}, got "${text}"`);
  }
  return value;
}

function frameCount(text: string): number {
  const value = positive("--frames", text);
  if (!Number.isInteger(value)) {
    throw new DepthwattError("USAGE", `expected a whole number for --frames, got "${text}"`);
  }
  return value;
}

async function readScenes(
  folders: readonly string[],
  wanted: string | undefined,
  algorithm: Algorithm,
): Promise<Scene[]> {
  const entries: SceneEntry[] = [];
  for (const folder of folders) entries.push(...(await readDataset(folder)));
  const names = wanted?.split(",").map((name) => name.trim());
  const unknown = names?.find((name) => !entries.some((entry) => entry.name === name));
  if (unknown !== undefined) {
    throw new DepthwattError(
      "USAGE",
      `expected --scenes to name scenes of the data, of which there are ${entries.map(({ name }) => name).join(", ")}; got "${unknown}"`,
    );
  }
  const chosen = names === undefined ? entries : entries.filter(({ name }) => names.includes(name));
  const scenes: Scene[] = [];
  const colours = readsColours(algorithm);
  for (const entry of chosen) scenes.push(await readScene(entry, colours));
  const grey = scenes.filter(({ format }) => colours && format === "GREY").map(({ name }) => name);
  if (grey.length > 0) note(withoutColours(algorithm, `${grey.join(", ")}: the pictures have`));
  return scenes;
}

function load(options: EvalOptions): LoadedConfig {
  return configOf(options, flagsOf(options));
}

const flagsOf = (options: EvalOptions): Record<string, FlagValue> => ({
  "match.algorithm": { flag: "--algorithm", value: options.algorithm },
  "engine.backend": { flag: "--backend", value: options.backend },
});

/** With one value of each parameter that is swept. That a preset has another one goes without saying. */
function loadSwept(options: EvalOptions, values: Readonly<Record<string, number>>): LoadedConfig {
  const { config: file, preset, set } = options;
  const swept = Object.entries(values).map(([key, value]) => [
    key,
    { flag: "--sweep", value: String(value) },
  ]);
  return loadConfig({ file, preset, set, flags: { ...flagsOf(options), ...Object.fromEntries(swept) } });
}

/** What stands in the way of a sweep is said before its first scene is matched, which may take hours. */
function checkSweeps(options: EvalOptions, sweeps: readonly Sweep[]): void {
  const [first, second] = sweeps;
  if (first!.key === second?.key)
    throw new DepthwattError("USAGE", `expected two parameters to sweep, got ${first!.key} twice`);
  for (const { key } of sweeps)
    if (options.set?.some((pair) => pair.startsWith(`${key}=`)))
      throw new DepthwattError("USAGE", `expected --sweep or --set of ${key}, got both`);
  const at = (x: number, y: number | undefined) =>
    loadSwept(options, { [first!.key]: x, ...(y !== undefined && { [second!.key]: y }) });
  const ends = (sweep: Sweep) => [sweep.values[0]!, sweep.values.at(-1)!];
  // Each value by itself, since a step may meet what is no whole number, and the corners of two.
  for (const x of first!.values) at(x, second?.values[0]);
  for (const y of second?.values ?? []) at(first!.values[0]!, y);
  for (const x of ends(first!)) for (const y of second === undefined ? [] : ends(second)) at(x, y);
}

function evaluateWith(
  loaded: LoadedConfig,
  scenes: readonly Scene[],
  options: EvalOptions,
): Promise<Evaluation> {
  const match = engineMatcher({
    config: loaded.config,
    fixedNumDisparities: loaded.origins.get("match.numDisparities")?.kind !== "default",
    frames: frameCount(options.frames),
    createEngine,
  });
  const threshold = options.threshold === undefined ? undefined : positive("--threshold", options.threshold);
  return evaluate(scenes, match, threshold);
}

/** Every matcher with its own settings, in one table. */
async function runAll(folders: readonly string[], options: EvalOptions): Promise<void> {
  const rows: { algorithm: Algorithm; evaluation: Evaluation }[] = [];
  for (const algorithm of ALGORITHMS) {
    note(algorithm);
    const loaded = load({ ...options, algorithm });
    const scenes = await readScenes(folders, options.scenes, algorithm);
    rows.push({ algorithm, evaluation: await evaluateWith(loaded, scenes, options) });
  }
  if (options.json) {
    printJson(rows.map(({ algorithm, evaluation }) => ({ algorithm, ...evaluation })));
    return;
  }
  const masks = Object.keys(rows[0]!.evaluation.mean.masks);
  const lines = rows.map(({ algorithm, evaluation }) => [
    algorithm,
    ...masks.map((mask) => evaluation.mean.masks[mask]?.badPercent?.toFixed(2) ?? "-"),
    evaluation.mean.middleburyV2BadPercent?.toFixed(3) ?? "-",
    evaluation.mean.milliseconds.toFixed(1),
    megaDisparitiesPerSecond(evaluation).toFixed(0),
  ]);
  const heading = ["matcher", ...masks.map((mask) => `% bad, ${mask}`), "nonocc, all, disc", "ms", "MDE/s"];
  printTable([heading, ...lines]);
}

function printTable(rows: readonly string[][]): void {
  const [heading, ...lines] = columns(rows);
  printLine(paint("bold", heading!));
  for (const line of lines) printLine(line);
}

/** The presets whose figures a paper prints: of one matcher, or of all. */
async function runPapers(folders: readonly string[], options: EvalOptions): Promise<void> {
  const { algorithm = "all" } = options;
  if (algorithm !== "all" && !(ALGORITHMS as readonly string[]).includes(algorithm)) {
    throw new DepthwattError(
      "USAGE",
      `expected --algorithm to be all, ${ALGORITHMS.join(", ")}, got "${algorithm}"`,
    );
  }
  if (options.preset !== undefined)
    throw new DepthwattError(
      "USAGE",
      "expected --preset or --table paper, which has presets of its own, got both",
    );
  const rows: PaperRow[] = [];
  for (const preset of Object.keys(PUBLISHED)) {
    const { algorithm: _, ...others } = options;
    const loaded = load({ ...others, preset });
    const matcher = loaded.config.match.algorithm;
    if (algorithm !== "all" && matcher !== algorithm) continue;
    note(preset);
    const scenes = await readScenes(folders, options.scenes, matcher);
    rows.push({ preset, evaluation: await evaluateWith(loaded, scenes, options) });
  }
  if (options.json) {
    printJson(
      rows.map(({ preset, evaluation }) => ({
        preset,
        megaDisparitiesPerSecond: megaDisparitiesPerSecond(evaluation),
        ...evaluation,
        published: PUBLISHED[preset],
      })),
    );
    return;
  }
  printTable(paperTable(rows));
  for (const line of paperNotes(rows)) note(line);
  note("% bad counts pixels without an estimate as wrong. MDE/s counts the disparities of the whole images.");
}

async function runOnce(folders: readonly string[], options: EvalOptions): Promise<void> {
  const loaded = load(options);
  const scenes = await readScenes(folders, options.scenes, loaded.config.match.algorithm);
  const evaluation = await evaluateWith(loaded, scenes, options);
  if (options.json) {
    const { refine } = loaded.config;
    const used = matchParameters(loaded.config.match);
    const { algorithm, parameters: _, ...shared } = used;
    const match = { ...shared, ...parametersOf(used) };
    printJson({ algorithm, ...evaluation, parameters: { match, refine } });
    return;
  }
  const [heading, ...rows] = columns(evaluationTable(evaluation));
  printLine(paint("bold", heading!));
  for (const row of rows) printLine(row);
  const { middleburyV2BadPercent: twelve } = evaluation.mean;
  if (twelve !== null) printLine(`Middlebury v2, mean of nonocc, all and disc: ${twelve.toFixed(3)} %`);
  note("% bad counts pixels without an estimate as wrong.");
}

async function writePlot(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Two parameters: every value of the one with every value of the other. */
async function runGrid(
  folders: readonly string[],
  options: EvalOptions,
  [first, second]: readonly [string, string],
): Promise<void> {
  const [a, b] = [parseSweep(first), parseSweep(second)];
  checkSweeps(options, [a, b]);
  const plot = options.plot ?? `sweep-${a.key}-${b.key}.svg`;
  const heat = options.heatMap ?? `heat-${a.key}-${b.key}.svg`;
  checkOutputs({}, { "--plot": plot, "--heat-map": heat });
  const scenes = await readScenes(folders, options.scenes, load(options).config.match.algorithm);
  const rows: GridRow[] = [];
  for (const x of a.values) {
    for (const y of b.values) {
      note(`${a.key} = ${x}, ${b.key} = ${y}`);
      const evaluation = await evaluateWith(loadSwept(options, { [a.key]: x, [b.key]: y }), scenes, options);
      rows.push({ values: [x, y], evaluation });
    }
  }
  const grid: Grid = { keys: [a.key, b.key], rows };
  const title = folders.map((folder) => basename(resolve(folder))).join(", ");
  // The figures first: a plot that cannot be written does not cost them.
  if (options.json) {
    const told = rows.map(({ values, evaluation }) => ({
      values,
      badPercent: oneNumber(evaluation),
      ...evaluation,
    }));
    printJson({ parameters: grid.keys, plot, heatMap: heat, rows: told });
  } else printLine(gridCsv(grid));
  await writePlot(plot, gridPlot(title, grid));
  await writePlot(heat, gridHeatMap(title, grid));
  note(`plot: ${plot}, heat map: ${heat}`);
}

async function runSweep(folders: readonly string[], options: EvalOptions, text: string): Promise<void> {
  const sweep = parseSweep(text);
  const { key, values } = sweep;
  checkSweeps(options, [sweep]);
  const scenes = await readScenes(folders, options.scenes, load(options).config.match.algorithm);
  const rows: SweepRow[] = [];
  for (const value of values) {
    note(`${key} = ${value}`);
    rows.push({
      value,
      evaluation: await evaluateWith(loadSwept(options, { [key]: value }), scenes, options),
    });
  }
  const file = options.plot ?? `sweep-${key}.svg`;
  const title = `${folders.map((folder) => basename(resolve(folder))).join(", ")}: % bad over ${key}`;
  if (options.json) {
    printJson({
      parameter: key,
      plot: file,
      rows: rows.map(({ value, evaluation }) => ({ value, ...evaluation })),
    });
  } else printLine(sweepCsv(key, rows));
  await writePlot(file, sweepPlot(title, key, rows));
  note(`plot: ${file}`);
}

export function define(command: Command): void {
  describeArguments(command, { folders: "folders with a dataset.json each" });
  command
    .option("--algorithm <name>", "matcher (match.algorithm); all: each of them, in one table")
    .option("--table <name>", "paper: the presets of the papers, below each what the paper prints")
    .option("--backend <name>", "auto, cpu or cuda (engine.backend)")
    .option("--threshold <px>", "an error above it is bad; by default what each scene says")
    .option("--scenes <names>", "only these, separated by commas")
    .option("--frames <n>", "timed frames per scene; their median is told", DEFAULT_FRAMES)
    .option(
      "--sweep <param=first:last:step>",
      "one setting over a range, or over a,b,c; given twice: both, each with each; CSV on stdout, and a plot",
      (value: string, before: string[] = []) => [...before, value],
    )
    .option("--plot <file>", "where the sweep's plot (SVG) goes; by default sweep-PARAM.svg")
    .option("--heat-map <file>", "where that of two goes; by default heat-PARAM-PARAM.svg");
  withJson(withConfig(command), "print one line of JSON");
  withExamples(
    command,
    "depthwatt eval data/midd_v2 --json",
    "depthwatt eval data/midd_v2 data/kitti2015 --set match.sgm.paths=8",
    "depthwatt eval data/midd_v2 --algorithm all --table paper",
    "depthwatt eval data/midd_v2 --sweep match.sgm.p2=30:120:10 > p2.csv",
    "depthwatt eval data/midd_v2 --preset esaw-5 --sweep esaw.steps=3:10:1 --sweep basePercent=150:300:10 > esaw.csv",
  );
  command.action((folders: string[], options: EvalOptions) => {
    const { sweep = [], table, algorithm } = options;
    if (table !== undefined && table !== "paper")
      throw new DepthwattError("USAGE", `expected --table paper, got "${table}"`);
    if (sweep.length > 2)
      throw new DepthwattError("USAGE", `expected --sweep once or twice, got it ${sweep.length} times`);
    if (sweep.length > 0 && (table !== undefined || algorithm === "all"))
      throw new DepthwattError("USAGE", "expected --sweep of one matcher, and without --table");
    if (sweep.length < 2 && options.heatMap !== undefined)
      throw new DepthwattError(
        "USAGE",
        `expected --sweep twice beside --heat-map, got ${sweep.length} of it`,
      );
    if (sweep.length === 0 && options.plot !== undefined)
      throw new DepthwattError("USAGE", "expected --sweep beside --plot, got nothing");
    if (table !== undefined) return runPapers(folders, options);
    if (algorithm === "all") return runAll(folders, options);
    if (sweep.length === 2) return runGrid(folders, options, [sweep[0]!, sweep[1]!]);
    return sweep.length === 1 ? runSweep(folders, options, sweep[0]!) : runOnce(folders, options);
  });
}
