// SPDX-License-Identifier: Apache-2.0
// depthwatt eval: how accurate a matcher is on scenes with a ground truth, at one setting or over a range of one.
import { writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { DepthwattError } from "../../core/index.js";
import {
  type Algorithm,
  createEngine,
  parametersOf,
  readsColours,
  withoutColours,
} from "../../cuda/index.js";
import { matchParameters } from "../config/index.js";
import type { LoadedConfig } from "../config/index.js";
import {
  type Evaluation,
  engineMatcher,
  evaluate,
  evaluationTable,
  parseSweep,
  readDataset,
  readScene,
  type Scene,
  type SceneEntry,
  type SweepRow,
  sweepCsv,
  sweepPlot,
} from "../eval/index.js";
import { type ConfigOptions, configOf, withConfig, withExamples, withJson } from "./options.js";
import { columns, note, paint, printJson, printLine } from "./output.js";

interface EvalOptions extends ConfigOptions {
  algorithm?: string;
  backend?: string;
  threshold?: string;
  scenes?: string;
  frames: string;
  sweep?: string;
  plot?: string;
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

function load(options: EvalOptions, extra: readonly string[] = []): LoadedConfig {
  const flags = {
    "match.algorithm": { flag: "--algorithm", value: options.algorithm },
    "engine.backend": { flag: "--backend", value: options.backend },
  };
  return configOf({ ...options, set: [...(options.set ?? []), ...extra] }, flags);
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

async function runSweep(folders: readonly string[], options: EvalOptions, text: string): Promise<void> {
  const { key, values } = parseSweep(text);
  // Both ends are checked before the first scene is matched.
  for (const value of [values[0]!, values.at(-1)!]) load(options, [`${key}=${value}`]);
  const scenes = await readScenes(folders, options.scenes, load(options).config.match.algorithm);
  const rows: SweepRow[] = [];
  for (const value of values) {
    note(`${key} = ${value}`);
    rows.push({ value, evaluation: await evaluateWith(load(options, [`${key}=${value}`]), scenes, options) });
  }
  const file = options.plot ?? `sweep-${key}.svg`;
  const title = `${folders.map((folder) => basename(resolve(folder))).join(", ")}: % bad over ${key}`;
  try {
    await writeFile(file, sweepPlot(title, key, rows));
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
  note(`plot: ${file}`);
  if (options.json) {
    printJson({
      parameter: key,
      plot: file,
      rows: rows.map(({ value, evaluation }) => ({ value, ...evaluation })),
    });
  } else printLine(sweepCsv(key, rows));
}

export function registerEval(program: Command): void {
  const command = program
    .command("eval")
    .argument("<folders...>", "folders with a dataset.json each")
    .description("measure accuracy on scenes with a ground truth")
    .option("--algorithm <name>", "matcher (match.algorithm)")
    .option("--backend <name>", "auto, cpu or cuda (engine.backend)")
    .option("--threshold <px>", "an error above it is bad; by default what each scene says")
    .option("--scenes <names>", "only these, separated by commas")
    .option("--frames <n>", "timed frames per scene; their median is told", DEFAULT_FRAMES)
    .option("--sweep <param=first:last:step>", "one setting over a range: CSV on stdout, and a plot")
    .option("--plot <file>", "where the sweep's plot (SVG) goes; by default sweep-PARAM.svg");
  withJson(withConfig(command), "print one line of JSON");
  withExamples(
    command,
    "depthwatt eval data/midd_v2 --json",
    "depthwatt eval data/midd_v2 data/kitti2015 --set match.sgm.paths=8",
    "depthwatt eval data/midd_v2 --sweep match.sgm.p2=30:120:10 > p2.csv",
  );
  command.action((folders: string[], options: EvalOptions) =>
    options.sweep === undefined ? runOnce(folders, options) : runSweep(folders, options, options.sweep),
  );
}
