// SPDX-License-Identifier: Apache-2.0
// depthwatt reproduce: the tables and figures of a paper, ours next to the printed values.
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { wholeNumberFrom } from "../../cli/numbers.js";
import { describeArguments, loadFlagConfig, withExamples, withJson } from "../../cli/options.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import { EXIT_SKIPPED } from "../../cli/skipped.js";
import { readKernelTimes } from "../../profile/kernel-times.js";
import { KERNELS_HINT, Lab } from "./lab.js";
import { PAPERS } from "./list.js";
import type { Exhibit, Paper } from "./paper.js";
import { gapReasons, isGap, type Reproduced, reproduce, reproducedTable } from "./reproduce.js";

interface ReproduceOptions extends SettingOptions<"backend"> {
  table?: string;
  figure?: string;
  data?: string;
  frames: number;
  kernels?: string;
  json?: boolean;
}

/** Returns the tables and figures that the flags name; all of them without a flag. @throws DepthwattError USAGE */
export function chooseExhibits({ exhibits }: Paper, { table, figure }: ReproduceOptions): readonly Exhibit[] {
  if (table !== undefined && figure !== undefined)
    throw new DepthwattError("USAGE", "expected --table or --figure, got both");
  const kind = table !== undefined ? "table" : "figure";
  const number = table ?? figure;
  if (number === undefined) return exhibits;
  const ofKind = exhibits.filter((exhibit) => exhibit.kind === kind);
  const chosen = ofKind.filter((exhibit) => exhibit.number.toLowerCase() === number.toLowerCase());
  if (chosen.length > 0) return chosen;
  const known = ofKind.length === 0 ? "none" : ofKind.map((exhibit) => exhibit.number).join(", ");
  throw new DepthwattError("USAGE", `expected --${kind} to be one of ${known}, got "${number}"`);
}

function print(paper: Paper, reproduced: readonly Reproduced[], backend = "nothing"): void {
  printLine(paint("bold", `${paper.number}: ${paper.cited}, computed by ${backend}`));
  const kinds = { table: "Table", figure: "Figure", section: "Section" };
  for (const { kind, number, title, rows } of reproduced) {
    printLine();
    printLine(paint("bold", `${kinds[kind]} ${number}: ${title}`));
    for (const line of columns(reproducedTable(rows))) printLine(line);
    for (const reason of gapReasons(rows)) printLine(reason);
  }
  for (const sentence of paper.protocol) note(sentence);
}

async function run(number: string, options: ReproduceOptions): Promise<void> {
  const paper = PAPERS.find((one) => one.number === number)!;
  const exhibits = chooseExhibits(paper, options);
  const { config } = loadFlagConfig({}, settingFlags(options));
  const progress = new Progress();
  const lab = new Lab({
    data: options.data ?? process.env.DEPTHWATT_DATA,
    backend: config.engine.backend,
    frames: options.frames,
    kernels: options.kernels === undefined ? undefined : readKernelTimes(options.kernels, KERNELS_HINT),
    onMatch: (what) => progress.show(++matched, undefined, what),
  });
  let matched = 0;
  const reproduced = await reproduce(exhibits, lab).finally(() => progress.clear());
  const rows = reproduced.flatMap((exhibit) => exhibit.rows);
  const gaps = rows.filter(({ ours }) => isGap(ours)).length;
  if (options.json) {
    const { protocol, cited } = paper;
    printJson({
      paper: number,
      cited,
      backend: lab.usedBackend ?? null,
      protocol,
      gaps,
      exhibits: reproduced,
    });
  } else print(paper, reproduced, lab.usedBackend);
  if (gaps > 0) process.exitCode = EXIT_SKIPPED;
}

export function define(command: Command): void {
  const [paper] = describeArguments(command, {
    paper: PAPERS.map((one) => `${one.number}: ${one.cited}`).join("; "),
  });
  paper!.choices(PAPERS.map((one) => one.number));
  command
    .option("--table <number>", "one table only, as the paper numbers it")
    .option("--figure <number>", "one figure only, as the paper numbers it")
    .option("--data <folder>", "folder of the data sets (default: DEPTHWATT_DATA)")
    .option("--frames <n>", "timed frames per scene, whose median is shown", wholeNumberFrom(1), 1)
    .option("--kernels <file>", "kernel times without optimisations, from 'check.sh --baselines'");
  withSettingFlags(command, "backend");
  withJson(command, "print one line of JSON");
  withExamples(
    command,
    "depthwatt reproduce 002 --table IV --data data",
    "depthwatt reproduce 003 --backend cpu --json",
    "depthwatt reproduce 004 --backend cuda --kernels out/baselines.json",
  );
  command.action(run);
}
