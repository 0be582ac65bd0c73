// SPDX-License-Identifier: Apache-2.0
// Calculates shares of code that ran from the reports of V8 (in Istanbul's form) and gcov.
import { relative } from "node:path";

/** Rounds down to a tenth of a percent, so that a floor is never above what was measured. */
const floorPercent = (run, all) => (all === 0 ? 100 : Math.floor((1000 * run) / all) / 10);

const worstFirst = (files) =>
  files.filter(({ missing }) => missing > 0).sort((one, other) => other.missing - one.missing);

/**
 * Returns the shares of lines and branches that ran in any of the runs; `files` has the branches that did not, worst first.
 * @param {readonly Record<string, any>[]} maps Istanbul's coverage-final.json of each run
 * @param {string} root
 * @param {readonly Record<string, any>[]} programs counts of built programs. They add no lines and branches: the compiler that
 *   built them may have written some of them in another way.
 */
export function typescriptShares(maps, root, programs = []) {
  const totals = { lines: 0, linesRun: 0, branches: 0, branchesRun: 0 };
  const paths = [...new Set(maps.flatMap((map) => Object.keys(map)))].sort();
  const files = paths.map((path) => {
    const own = maps.flatMap((map) => map[path] ?? []);
    const runs = [...own, ...programs.flatMap((map) => map[path] ?? [])];
    /** @type {Map<number, boolean>} */
    const lines = new Map();
    /** @type {Map<string, boolean>} */
    const branches = new Map();
    for (const [at, { statementMap, s, branchMap, b }] of runs.entries()) {
      const isOwn = at < own.length;
      for (const [id, { start }] of Object.entries(statementMap))
        if (isOwn || lines.has(start.line))
          lines.set(start.line, (lines.get(start.line) ?? false) || s[id] > 0);
      for (const [id, { loc, type }] of Object.entries(branchMap))
        b[id].forEach((/** @type {number} */ count, /** @type {number} */ arm) => {
          const key = `${type} ${loc.start.line}:${loc.start.column} ${arm}`;
          if (isOwn || branches.has(key)) branches.set(key, (branches.get(key) ?? false) || count > 0);
        });
    }
    const run = [...branches.values()].filter(Boolean).length;
    totals.lines += lines.size;
    totals.linesRun += [...lines.values()].filter(Boolean).length;
    totals.branches += branches.size;
    totals.branchesRun += run;
    return {
      file: relative(root, path),
      missing: branches.size - run,
      percent: floorPercent(run, branches.size),
    };
  });
  const lines = floorPercent(totals.linesRun, totals.lines);
  return { lines, branches: floorPercent(totals.branchesRun, totals.branches), files: worstFirst(files) };
}

/**
 * Adds the counts of a file's lines to those of other objects that hold the same lines.
 * @param {Map<string, Map<number, number>>} lines
 * @param {string} file
 * @param {readonly {line_number: number, count: number}[]} counted
 */
export function mergeLines(lines, file, counted) {
  const counts = lines.get(file) ?? new Map();
  for (const { line_number: line, count } of counted) counts.set(line, (counts.get(line) ?? 0) + count);
  lines.set(file, counts);
}

/**
 * Returns the share of lines that ran; `files` has the lines that did not, worst first.
 * @param {Map<string, Map<number, number>>} lines
 */
export function lineShare(lines) {
  let [all, run] = [0, 0];
  const files = [...lines].map(([file, counts]) => {
    const ran = [...counts.values()].filter((count) => count > 0).length;
    all += counts.size;
    run += ran;
    return { file, missing: counts.size - ran, percent: floorPercent(ran, counts.size) };
  });
  return { lines: floorPercent(run, all), files: worstFirst(files) };
}

/**
 * Returns a line for each measured share that is below its floor.
 * @param {Record<string, any>} report
 * @param {Record<string, Record<string, number>>} floor
 */
export function shortfalls(report, floor) {
  return Object.entries(floor).flatMap(([language, shares]) =>
    Object.entries(shares).flatMap(([name, least]) => {
      const found = report[language]?.[name];
      return found === undefined || found >= least
        ? []
        : [
            `below   ${language} ${name}: expected at least ${least} %, found ${found} %. Test what you added.`,
          ];
    }),
  );
}
