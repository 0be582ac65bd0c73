// SPDX-License-Identifier: Apache-2.0
// Reports the files that a command cannot convert or match and skips.
import { note } from "./output.js";
import type { Progress } from "./progress.js";

/** The exit code of a command that is done but has skipped something. */
export const EXIT_SKIPPED = 6;

/** Returns a function that prints each skipped item above the progress bar; beyond `max` items it prints nothing. */
export function noteSkipped(progress: Progress, max: number, word = "skipped"): (text: string) => void {
  let notes = 0;
  return (text) => {
    if (notes === max) return;
    notes++;
    progress.clear();
    note(`${word}: ${text}${notes === max ? "; more of them are only counted" : ""}`);
  };
}
