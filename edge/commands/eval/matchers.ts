// SPDX-License-Identifier: Apache-2.0
// Every matcher with its own settings, in one table.
import { ALGORITHMS, type Algorithm } from "../../../cuda/index.js";
import type { Evaluation } from "../../eval/index.js";
import { evaluateWith, load, readScenes } from "./evaluation.js";
import type { EvalOptions } from "./options.js";
import { EvalProgress } from "./progress.js";
import { type Report, tableLines } from "./report.js";

/** Counts width x height x disparities of the whole images, at any matched resolution. */
export function megaDisparitiesPerSecond({ scenes }: Evaluation): number {
  const evaluated = scenes.reduce(
    (sum, { width, height, numDisparities }) => sum + width * height * numDisparities,
    0,
  );
  const milliseconds = scenes.reduce((sum, scene) => sum + scene.milliseconds, 0);
  return evaluated / milliseconds / 1000;
}

export async function evaluateMatchers(folders: readonly string[], options: EvalOptions): Promise<Report> {
  const rows: { algorithm: Algorithm; evaluation: Evaluation }[] = [];
  const progress = new EvalProgress(ALGORITHMS.length);
  for (const algorithm of ALGORITHMS) {
    progress.begin(algorithm);
    const loaded = load({ ...options, algorithm });
    const scenes = await readScenes(folders, options, algorithm);
    rows.push({ algorithm, evaluation: await evaluateWith(loaded, scenes, options, progress) });
  }
  const masks = Object.keys(rows[0]!.evaluation.mean.masks);
  const heading = ["matcher", ...masks.map((mask) => `% bad, ${mask}`), "nonocc, all, disc", "ms", "MDE/s"];
  const lines = rows.map(({ algorithm, evaluation }) => [
    algorithm,
    ...masks.map((mask) => evaluation.mean.masks[mask]?.badPercent?.toFixed(2) ?? "-"),
    evaluation.mean.middleburyV2BadPercent?.toFixed(3) ?? "-",
    evaluation.mean.milliseconds.toFixed(1),
    megaDisparitiesPerSecond(evaluation).toFixed(0),
  ]);
  return {
    json: rows.map(({ algorithm, evaluation }) => ({ algorithm, ...evaluation })),
    lines: tableLines([heading, ...lines]),
    notes: [],
    plots: [],
  };
}
