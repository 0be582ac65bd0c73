// SPDX-License-Identifier: Apache-2.0
// What a fuzz target has done: printed, and where FUZZ_REPORT names a file, a line of it for test/fuzz/fuzz.mjs.
import { appendFileSync } from "node:fs";

export interface FuzzFacts {
  executions?: number;
  /** Where a test does several things: how often each. */
  counts?: Readonly<Record<string, number>>;
  /** What is counted as reached, in the words of whoever counts it. */
  coverage?: string | undefined;
  seed?: number;
  [fact: string]: unknown;
}

export function reportFuzz(target: string, facts: FuzzFacts): void {
  const count = (globalThis as { reachedCode?: () => string | undefined }).reachedCode;
  const coverage = facts.coverage ?? count?.();
  const line = JSON.stringify({ target, ...facts, coverage });
  console.log(line);
  if (process.env.FUZZ_REPORT !== undefined) appendFileSync(process.env.FUZZ_REPORT, `${line}\n`);
}
