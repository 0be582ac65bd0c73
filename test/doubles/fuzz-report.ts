// SPDX-License-Identifier: Apache-2.0
// Reports the work of a fuzz target: prints it, and appends a line to the file that FUZZ_REPORT names, for
// test/fuzz/fuzz.mjs.
import { appendFileSync } from "node:fs";

export interface FuzzFacts {
  executions?: number;
  /** Where a test does several things: how often each. */
  counts?: Readonly<Record<string, number>>;
  /** Coverage, in the words of the tool that measured it. */
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
