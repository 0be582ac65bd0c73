// SPDX-License-Identifier: Apache-2.0
// The presets whose numbers a paper prints, of one matcher or of all, each next to the published row.
import { DepthwattError } from "../../../core/index.js";
import { ALGORITHMS } from "../../../cuda/index.js";
import { evaluateWith, load, readScenes } from "./evaluation.js";
import type { EvalOptions } from "./options.js";
import { megaDisparitiesPerSecond, type PaperRow, paperNotes, paperTable } from "./paper-table.js";
import { EvalProgress } from "./progress.js";
import { PUBLISHED } from "./published.js";
import { MISSING_IS_WRONG, type Report, tableLines } from "./report.js";

function checkFlags(algorithm: string, preset: string | undefined): void {
  if (algorithm !== "all" && !(ALGORITHMS as readonly string[]).includes(algorithm)) {
    throw new DepthwattError(
      "USAGE",
      `expected --algorithm to be all, ${ALGORITHMS.join(", ")}, got "${algorithm}"`,
    );
  }
  if (preset !== undefined)
    throw new DepthwattError("USAGE", "expected --preset or --table paper, which names presets, got both");
}

export async function evaluatePapers(
  folders: readonly string[],
  { algorithm = "all", ...options }: EvalOptions,
): Promise<Report> {
  checkFlags(algorithm, options.preset);
  const rows: PaperRow[] = [];
  const chosen = Object.keys(PUBLISHED)
    .map((preset) => ({ preset, loaded: load({ ...options, preset }) }))
    .filter(({ loaded }) => algorithm === "all" || loaded.config.match.algorithm === algorithm);
  const progress = new EvalProgress(chosen.length);
  for (const { preset, loaded } of chosen) {
    progress.begin(preset);
    const scenes = await readScenes(folders, options, loaded.config.match.algorithm);
    rows.push({ preset, evaluation: await evaluateWith(loaded, scenes, options, progress) });
  }
  return {
    json: rows.map(({ preset, evaluation }) => ({
      preset,
      megaDisparitiesPerSecond: megaDisparitiesPerSecond(evaluation),
      ...evaluation,
      published: PUBLISHED[preset],
    })),
    lines: tableLines(paperTable(rows)),
    notes: [...paperNotes(rows), `${MISSING_IS_WRONG} MDE/s counts the disparities of the whole images.`],
    plots: [],
  };
}
