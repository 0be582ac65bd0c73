// SPDX-License-Identifier: Apache-2.0
// Shares between the fuzzing scripts: running targets `jobs` at a time, and a report that is rewritten after each of
// them.
import { renameSync, writeFileSync } from "node:fs";
import { describeRun, formatResult } from "../../bench/shared/result-file.mjs";

/**
 * Runs every target, prints its row as `formatRow(row)` says, and writes the report, rows in the order of the targets.
 * @returns the rows; the exit code is 1 where one of them has findings or did not run
 */
export async function reportTargets({ what, targets, words, run, formatRow }) {
  const { seconds, jobs, out, commit } = words;
  const began = new Date();
  const rows = new Map();
  const write = () => {
    if (out === undefined) return;
    const report = {
      what,
      ...describeRun(),
      ...(commit !== undefined && { commit }),
      began: began.toISOString(),
      ended: new Date().toISOString(),
      askedSeconds: seconds,
      targetsAtATime: jobs,
      rows: targets.filter((target) => rows.has(target)).map((target) => rows.get(target)),
    };
    writeFileSync(`${out}.part`, formatResult(report));
    renameSync(`${out}.part`, out);
  };
  const waiting = [...targets];
  const work = async () => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const row = await run(target);
      rows.set(target, row);
      const verdict = row.findings.length > 0 ? "BAD " : row.executions > 0 ? "ok  " : "not run";
      console.log(`${verdict} ${formatRow(row)}`);
      if (verdict !== "ok  ") process.exitCode = 1;
      write();
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return [...rows.values()];
}
