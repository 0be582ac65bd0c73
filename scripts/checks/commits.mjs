// SPDX-License-Identifier: Apache-2.0
// The check of commit subjects: those of this branch since origin/main or main, or the newest ones on main.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const MAX_COLUMNS = 72;
/** Commits to check if there is no other branch to compare with, as in a shallow clone. */
const NEWEST = 20;
/** Imperatives that end like a past tense or a third person. */
const IMPERATIVES = new Set(
  "Access Address Bypass Compress Cross Discuss Dismiss Embed Exceed Express Feed Focus Guess Need Pass Press Proceed Process Seed Speed Stress Suppress Toss".split(
    " ",
  ),
);

/**
 * Returns what is wrong with a commit subject, or undefined.
 * @param {string} subject
 * @returns {string | undefined}
 */
export function subjectProblem(subject) {
  if (/^Revert ".+"$/.test(subject)) return undefined;
  if (subject.length > MAX_COLUMNS) return `expected at most ${MAX_COLUMNS} columns, found ${subject.length}`;
  if (subject.endsWith(".")) return "expected no full stop at the end";
  const [first = ""] = subject.split(" ");
  if (!/^\p{Lu}/u.test(first)) return "expected a capital at the beginning";
  if (/(ed|s)$/.test(first) && !IMPERATIVES.has(first))
    return `expected an imperative such as "Add", found "${first}"`;
  return undefined;
}

function git(root, ...words) {
  const { status, stdout } = spawnSync("git", ["-C", root, ...words], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Returns the arguments of git log that choose the commits of this branch. */
function commitRange(root) {
  const published = git(root, "merge-base", "HEAD", "origin/main");
  if (published !== undefined) return [`${published}..HEAD`];
  const base = git(root, "merge-base", "HEAD", "main");
  const isOnMain = base === git(root, "rev-parse", "HEAD");
  return base === undefined || isOnMain ? [`--max-count=${NEWEST}`] : [`${base}..HEAD`];
}

export default {
  name: "commit subjects",
  run(root) {
    // In a worktree .git is a file; an unpacked archive has none.
    if (!existsSync(join(root, ".git"))) return { found: "no git history", problems: [] };
    const log = git(root, "log", "--no-merges", "--format=%h %s", ...commitRange(root)) ?? "";
    const commits = log.split("\n").filter(Boolean);
    const problems = commits.flatMap((line) => {
      const [hash, ...words] = line.split(" ");
      const problem = subjectProblem(words.join(" "));
      return problem === undefined
        ? []
        : [`${hash} "${words.join(" ")}": ${problem}: git commit --amend or rebase`];
    });
    return { found: `${commits.length} commits`, problems };
  },
};
