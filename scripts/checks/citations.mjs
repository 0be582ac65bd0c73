// SPDX-License-Identifier: Apache-2.0
// Checks of citations: of papers by code and pages, and of result files by pages, presets, code and tests.
import { posix } from "node:path";
import { formatResult, RESULT_KEYS } from "../../bench/shared/result-file.mjs";
import { filesBelow, lineAt, readText } from "./tree.mjs";

const LIST = "docs/internals/papers.md";
const isText = (path) => /\.(ts|mjs|h|cc|cu|cuh|md)$/.test(path);
/** "(Hernandez-Juarez et al. 2016, eq. 3)": a name with a capital, perhaps more names, a year; or the number of a file of ours. */
const CITATION =
  /\(((?:\p{Lu}[\p{L}-]+)(?: et al\.| and \p{Lu}[\p{L}-]+)?(?: (?:19|20)\d\d)?)(?:, (?:eq|section|sections|alg|table|fig)[^)]*)\)|\[papers\/\d+/gu;

/** Every paper that code or a page cites is in docs/internals/papers.md, under the words it is cited by. */
export const papers = {
  name: "cited papers",
  run(root) {
    const listed = new Set([...readText(root, LIST).matchAll(/^\| ([^|]+?) \|/gm)].map(([, cited]) => cited));
    const problems = [];
    let count = 0;
    for (const path of filesBelow(root).filter(
      (file) => isText(file) && file !== LIST && !file.startsWith("test/"),
    )) {
      const text = readText(root, path);
      for (const match of text.matchAll(CITATION)) {
        count++;
        if (!listed.has(match[1]))
          problems.push(`${path}:${lineAt(text, match.index)}: "${match[0]}" is not in ${LIST}`);
      }
    }
    return { found: `${count} citations`, problems };
  },
};

const RESULTS = "bench/results/";
const RESULT_NAME = /\b\d{4}-\d\d-\d\d-[0-9a-f]{7}-[\w-]+\.(?:json|csv|svg|txt)\b/g;
/** Lines of all result files together: remove or shorten old ones before this limit is raised. */
const MAX_RESULT_LINES = 15_000;
const isCiting = (path) =>
  /\.(ts|tsx|mjs|h|cc|cu|cuh|md|json|py|sh)$/.test(path) &&
  !path.startsWith(RESULTS) &&
  !path.startsWith("test/architecture/");

/** A profile that `depthwatt profile` wrote has its own format. */
const isProfile = ({ format }) => format !== undefined;

function formatProblems(root, path) {
  const text = readText(root, path);
  const result = JSON.parse(text);
  if (isProfile(result)) return [];
  const missing = RESULT_KEYS.filter((key) => !(key in result));
  if (missing.length > 0) return [`${path}: expected the keys ${missing.join(", ")}`];
  if (formatResult(result) === text) return [];
  return [`${path}: is not in the format of results: run 'node bench/shared/result-file.mjs ${path}'`];
}

/** Every result file is cited by name, every cited one exists, all have one format, and together they stay small. */
export const results = {
  name: "cited results",
  run(root) {
    const kept = filesBelow(root, RESULTS.slice(0, -1)).filter((path) => path !== `${RESULTS}README.md`);
    const names = new Set(kept.map((path) => posix.basename(path)));
    const cited = new Set();
    const problems = [];
    for (const path of filesBelow(root).filter(isCiting)) {
      const text = readText(root, path);
      for (const { 0: name, index } of text.matchAll(RESULT_NAME)) {
        cited.add(name);
        if (!names.has(name)) problems.push(`${path}:${lineAt(text, index)}: ${name} is not in ${RESULTS}`);
      }
    }
    for (const path of kept) {
      if (!cited.has(posix.basename(path)))
        problems.push(`${path}: no page, preset, program or test cites it: delete it`);
      if (path.endsWith(".json")) problems.push(...formatProblems(root, path));
    }
    const lines = kept.reduce((sum, path) => sum + readText(root, path).split("\n").length - 1, 0);
    if (lines > MAX_RESULT_LINES)
      problems.push(
        `${RESULTS}: ${lines} lines, expected at most ${MAX_RESULT_LINES}: delete or shorten results`,
      );
    return { found: `${kept.length} results, ${lines} lines`, problems };
  },
};
