// SPDX-License-Identifier: Apache-2.0
// How many files this process may have open at a time.
import { readFileSync } from "node:fs";
import { DepthwattError } from "../../core/index.js";

/** Node, the program and the smallest run have about 55 files open. */
const LEAST_OPEN_FILES = 64;

/** Returns the soft limit that the text of /proc/PID/limits names; undefined where it names none. */
export function openFilesLimit(limits: string): number | undefined {
  const found = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** @throws DepthwattError FILES_EXHAUSTED where the limit is too low for any command */
export function checkOpenFilesLimit(): void {
  let limit: number | undefined;
  try {
    limit = openFilesLimit(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return; // without /proc the first file that cannot be opened is the error
  }
  if (limit !== undefined && limit < LEAST_OPEN_FILES)
    throw new DepthwattError(
      "FILES_EXHAUSTED",
      `expected a limit of at least ${LEAST_OPEN_FILES} open files, found ${limit}`,
    );
}
