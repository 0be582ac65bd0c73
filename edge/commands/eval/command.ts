// SPDX-License-Identifier: Apache-2.0
// depthwatt eval: how accurate a matcher is on scenes with a ground truth, at one setting or over a range of one.
import type { Command } from "commander";
import { wholeNumberFrom } from "../../cli/numbers.js";
import { describeArguments, withConfig, withExamples, withJson } from "../../cli/options.js";
import { withSettingFlags } from "../../cli/setting-flags.js";
import { evaluateHeldOut } from "./held-out.js";
import { evaluateMatchers } from "./matchers.js";
import { evaluateOnce } from "./once.js";
import { type EvalMode, type EvalOptions, modeFrom } from "./options.js";
import { printReport, type Report } from "./report.js";
import { evaluateGrid, evaluateSweep } from "./swept.js";

const MODES: Record<EvalMode, (folders: readonly string[], options: EvalOptions) => Promise<Report>> = {
  once: evaluateOnce,
  matchers: evaluateMatchers,
  sweep: evaluateSweep,
  grid: evaluateGrid,
  heldOut: (folders, options) => evaluateHeldOut(folders, options),
};

export function define(command: Command): void {
  describeArguments(command, {
    folders:
      "folders with a dataset.json each, or of Middlebury v3, KITTI 2012, KITTI 2015 or ETH3D as downloaded",
  });
  command
    .option("--algorithm <name>", "matcher (match.algorithm); all: every matcher, in one table")
    .option("--threshold <px>", "errors above it are bad (default: from each scene)")
    .option("--scenes <names>", "only these scenes, separated by commas")
    .option("--frames <n>", "timed frames per scene, whose median is shown", wholeNumberFrom(1), 3)
    .option(
      "--sweep <param=first:last:step>",
      "one setting over a range, or over a,b,c; given twice: every combination; CSV on stdout, and a plot",
      (value: string, before: string[] = []) => [...before, value],
    )
    .option("--plot <file>", "the sweep's plot, SVG (default: sweep-PARAM.svg)")
    .option("--heat-map <file>", "the heat map of two parameters, SVG (default: heat-PARAM-PARAM.svg)")
    .option(
      "--held-out",
      "once for each commit, on scenes that chose no setting; writes held-out-FOLDER-COMMIT.json",
    );
  withSettingFlags(command, "backend");
  withJson(withConfig(command), "print one line of JSON");
  withExamples(
    command,
    "depthwatt eval data/midd_v2 --json",
    "depthwatt eval data/midd_v2 data/kitti2015 --set match.sgm.paths=8",
    "depthwatt eval data/midd_v2 --algorithm all",
    "depthwatt eval MiddEval3/trainingH --scenes Adirondack,Pipes",
    "depthwatt eval data/midd_v2 --sweep match.sgm.p2=30:120:10 > p2.csv",
    "depthwatt eval data/midd_v2 --preset esaw-5 --sweep esaw.steps=3:10:1 --sweep basePercent=150:300:10 > esaw.csv",
  );
  command.action(async (folders: string[], options: EvalOptions) =>
    printReport(await MODES[modeFrom(options)](folders, options), options.json),
  );
}
