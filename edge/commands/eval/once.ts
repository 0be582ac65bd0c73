// SPDX-License-Identifier: Apache-2.0
// One matcher at one setting: a table of the scenes.
import { matcherParameters } from "../../../cuda/index.js";
import { matchParameters } from "../../config/index.js";
import { densityTable, evaluationTable, measuresTable } from "../../eval/index.js";
import { evaluateWith, load, readScenes } from "./evaluation.js";
import type { EvalOptions } from "./options.js";
import { MISSING_IS_WRONG, type Report, tableLines } from "./report.js";

export async function evaluateOnce(folders: readonly string[], options: EvalOptions): Promise<Report> {
  const loaded = load(options);
  const { match, refine } = loaded.config;
  const scenes = await readScenes(folders, options, match.algorithm);
  const evaluation = await evaluateWith(loaded, scenes, options);
  const used = matchParameters(match);
  const { algorithm, parameters: _, ...shared } = used;
  const { middleburyV2BadPercent: twelve } = evaluation.mean;
  const summary =
    twelve === null ? [] : [`Middlebury v2, mean of nonocc, all and disc: ${twelve.toFixed(3)} %`];
  const withMean = [...evaluation.scenes, { name: "mean", ...evaluation.mean }];
  const curves = withMean.flatMap(({ name, densityCurve: curve }) => (curve ? [{ name, curve }] : []));
  return {
    json: {
      algorithm,
      ...evaluation,
      parameters: { match: { ...shared, ...matcherParameters(used) }, refine },
    },
    lines: [
      ...tableLines(evaluationTable(evaluation)),
      ...summary,
      "",
      ...tableLines(measuresTable(withMean)),
      ...(curves.length === 0 ? [] : ["", ...tableLines(densityTable(curves))]),
    ],
    notes: [MISSING_IS_WRONG],
    plots: [],
  };
}
