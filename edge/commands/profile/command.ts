// SPDX-License-Identifier: Apache-2.0
// depthwatt profile: sweeps operating points, writes CSV, JSON and a report; compare shows two of them side by side.
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { ALGORITHMS, type StageName } from "../../../cuda/index.js";
import { withExamples, withJson } from "../../cli/options.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";
import type { Unavailable } from "../../contracts/availability.js";
import { shortNumber } from "../../plot/index.js";
import { type KernelTimes, readKernelTimes } from "../../profile/kernel-times.js";
import { profileCsv, readProfile, writeWhole } from "../../profile/store.js";
import type { AddedWork, Profile } from "../../profile/types.js";
import { compareProfiles } from "./compare.js";
import { createContribution } from "./contribute.js";
import { reportHtml } from "./report.js";
import { type ProfileOptions, runProfile } from "./run.js";
import { STEPS, type StageCosts, type StageEnergy, stageCosts } from "./stage-energy.js";

async function writeOutputs(folder: string, profile: Profile): Promise<string[]> {
  const files = [join(folder, "profile.csv"), join(folder, "report.html")];
  await writeWhole(files[0]!, profileCsv(profile.results));
  await writeWhole(files[1]!, reportHtml(profile));
  return [join(folder, "profile.json"), ...files];
}

const KERNELS_HINT =
  "Make it on the board: bash cuda/check/check.sh --model --out OUT, then name OUT/model-half2.json.";

async function contribute(folder: string, kernels: KernelTimes | null): Promise<void> {
  const file = join(folder, "contribution.json");
  await writeWhole(file, `${JSON.stringify(createContribution(readProfile(folder), kernels), null, 2)}\n`);
  note(`${file} is ready to be sent in: see docs/guides/contribute.md.`);
}

async function profile(
  options: ProfileOptions & { json?: boolean; contribute?: boolean; kernels?: string; reportOnly?: boolean },
) {
  const folder = resolve(options.output);
  // Before anything is measured: a file that is not there must not cost the minutes of a sweep.
  const kernels = options.kernels === undefined ? null : readKernelTimes(options.kernels, KERNELS_HINT);
  if (kernels !== null && !options.contribute)
    throw new DepthwattError("USAGE", "expected --contribute with --kernels, whose times go into that file");
  const result = options.reportOnly ? readProfile(folder) : await runProfile(folder, options);
  const files = await writeOutputs(folder, result);
  if (options.contribute) await contribute(folder, kernels);
  if (options.json) {
    const rows = result.results.map(({ timeline: _drawn, ...rest }) => rest);
    const { idleBefore, idleAfter } = result;
    printJson({
      files,
      idleBefore,
      idleAfter,
      stageCosts: stageCosts(result.results) ?? null,
      results: rows,
    });
    return;
  }
  printStageCosts(stageCosts(result.results));
  for (const file of files) printLine(file);
}

function printStageCosts(costs: StageCosts | undefined): void {
  if (costs === undefined) return;
  const { joules, milliseconds, idleJoulesPerFrame, notAdded } = costs;
  const measured = "stages" in joules ? joules.stages : [];
  const cost = ({ joulesPerFrame, halfWidth }: Omit<StageEnergy, "stage">) =>
    `${shortNumber(1000 * joulesPerFrame)} +- ${shortNumber(1000 * halfWidth)}`;
  const known: string[] = [...Object.keys(milliseconds), ...measured.map(({ stage }) => stage)];
  const names = STEPS.filter((name) => known.includes(name) || name in notAdded);
  const rows = names.map((name) => {
    const found = measured.find(({ stage }) => stage === name);
    const time = milliseconds[name as StageName];
    const missing = notAdded[name as AddedWork];
    const joulesCell = found === undefined ? (missing ? `unavailable: ${missing.reason}` : "") : cost(found);
    return [name, time === undefined ? "" : time.toFixed(3), joulesCell];
  });
  const idle =
    typeof idleJoulesPerFrame === "number"
      ? [["of it idle", "", shortNumber(1000 * idleJoulesPerFrame)]]
      : [["of it idle", "", `unavailable: ${idleJoulesPerFrame.reason}`]];
  const rest = "stages" in joules ? [["everything else", "", cost(joules.remainder)], ...idle] : [];
  const head = ["stage", "ms", "mJ per frame, 95 %"];
  for (const [index, line] of columns([head, ...rows, ...rest]).entries())
    printLine(index === 0 ? paint("dim", line) : line);
  if (!("stages" in joules)) printLine(`no joules of stages: ${joules.reason}`);
}

function compare(a: string, b: string, options: { json?: boolean }): void {
  const comparison = compareProfiles(readProfile(a), readProfile(b));
  if (options.json) {
    printJson(comparison);
    return;
  }
  for (const difference of comparison.differences) printLine(`differs: ${difference}`);
  const change = (percent: number): string => `${percent >= 0 ? "+" : ""}${percent.toFixed(1)} %`;
  const doubt = (significant: boolean | Unavailable): string =>
    typeof significant === "object" ? " (uncertainty unknown)" : significant ? "" : " (within uncertainty)";
  const rows = comparison.points.map(({ id, fps, watts, joulesPerFrame }) => {
    const side = (item: typeof watts, unit: string): string[] =>
      item.available
        ? [
            `${shortNumber(item.a)} ${unit}`,
            `${shortNumber(item.b)} ${unit}`,
            `${change(item.changePercent)}${doubt(item.significant)}`,
          ]
        : ["-", "-", ""];
    return [
      id,
      fps.a.toFixed(1),
      fps.b.toFixed(1),
      change(fps.changePercent),
      ...side(watts, "W"),
      ...side(joulesPerFrame, "J"),
    ];
  });
  const head = ["point", "fps A", "fps B", "", "A", "B", "", "per frame A", "B", ""];
  for (const [index, line] of columns([head, ...rows]).entries())
    printLine(index === 0 ? paint("dim", line) : line);
  const refused = comparison.points.find(({ watts }) => !watts.available)?.watts;
  if (refused !== undefined && !refused.available) printLine(`no watts to compare: ${refused.reason}`);
  for (const [name, ids] of [
    ["A", comparison.onlyA],
    ["B", comparison.onlyB],
  ] as const) {
    if (ids.length > 0) printLine(`only in ${name}: ${ids.join(", ")}`);
  }
}

export function define(command: Command): void {
  command
    .option(
      "-o, --output <dir>",
      "folder for the results; an interrupted profile there is continued",
      "profile",
    )
    .option("--modes <names>", "nvpmodel modes by name, all, or current", "current")
    .option(
      "--clocks <list>",
      "upper limits of the GPU's clock in MHz, with /EMC that of the memory too; all, or current",
      "current",
    )
    .option("--algorithms <names>", `matchers: ${ALGORITHMS.join(", ")}`, "sgm")
    .option("--sizes <list>", "image sizes", "640x480")
    .option("--disparities <list>", "numbers of disparities", "64,128")
    .option("--paths <list>", "numbers of paths", "2,4,8")
    .option("--rates <list>", "frames per second, or max", "max")
    .option("--resolutions <list>", "full, half", "full")
    .option(
      "--searches <list>",
      "searches of sgm, where they differ: full, coarseToFine",
      "full,coarseToFine",
    )
    .option("--seconds <n>", "seconds measured per point, at least 2", "20")
    .option("--warm-up <n>", "unmeasured seconds before each point", "4")
    .option("--idle <n>", "seconds of idle power before and after, at least 2", "10")
    .option(
      "--stages",
      "measure what each stage and publishing cost: --stage-rounds 4 --repeat-stages rectify=40,match=3,median=40",
    )
    .option("--stage-rounds <n>", "rounds that leave out or repeat each stage, to measure its cost", "0")
    .option("--repeat-stages <list>", "stages that those rounds repeat, such as match=3,median=40")
    .option("--config <file>", "also measure capture in those rounds, with the source of this configuration")
    .option("--rig <name>", "the rig of that configuration, if it has several")
    .option(
      "--foreign <command>",
      "also measure the engine of a helper (source.foreign) on the images {left} and {right}, with {disparities}",
    )
    .option("--backend <name>", "auto, cpu or cuda", "auto")
    .option("--sensor <name>", "power sensor", "auto")
    .option("--yes", "change power modes and clocks without asking")
    .option("--contribute", "also write contribution.json, to be sent in")
    .option("--kernels <file>", "kernel times from 'check.sh --model', for contribution.json")
    .option("--report-only", "write CSV and report again from the folder's results");
  withJson(command, "print the results as JSON").action(profile);
  withExamples(
    command,
    "depthwatt profile --sizes 640x480,1280x720 --paths 4,8 -o out/desk",
    "depthwatt profile --disparities 64 --paths 4 --stages",
    "sudo depthwatt profile --modes all --contribute -o out/orin",
    "sudo depthwatt profile --clocks all --rates max,15 -o out/clocks",
    "depthwatt profile compare out/before out/after",
  );
  const compareCommand = command
    .command("compare")
    .argument("<a>", "folder of a profile")
    .argument("<b>", "folder of another")
    .description("show two profiles point by point");
  compareCommand.option("--json", "print the comparison as JSON");
  compareCommand.action((a: string, b: string) => compare(a, b, compareCommand.optsWithGlobals()));
  withExamples(compareCommand, "depthwatt profile compare out/before out/after");
}
