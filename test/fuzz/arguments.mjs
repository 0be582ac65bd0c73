// SPDX-License-Identifier: Apache-2.0
// The command line of the scripts that fuzz: `[--seconds N] [--jobs N] [--out FILE] [--commit NAME] [target...]`.
import { availableParallelism } from "node:os";
import { scriptArguments } from "../../scripts/arguments.mjs";

/**
 * @returns seconds for each target (600), how many run at a time (1), the report's file, the commit where git is not asked, and the
 *   targets: all where none is named; and what `more` adds. Ends with 2 where one is wrong.
 */
export function fuzzArguments(targets, more = {}) {
  const { values, positionals } = scriptArguments({
    allowPositionals: true,
    options: {
      seconds: { type: "string", default: "600" },
      jobs: { type: "string", default: "1" },
      out: { type: "string" },
      commit: { type: "string" },
      ...more,
    },
  });
  const fail = (sentence) => {
    console.error(`error: expected ${sentence}`);
    process.exit(2);
  };
  const [seconds, jobs] = [Number(values.seconds), Number(values.jobs)];
  if (!(seconds > 0) || positionals.some((name) => !targets.includes(name)))
    fail(`seconds above 0 and targets of: ${targets.join(", ")}`);
  // With fewer cores than targets, a target's seconds are no seconds of the CPU.
  if (!(Number.isInteger(jobs) && jobs >= 1 && jobs <= availableParallelism()))
    fail(`jobs of 1 to ${availableParallelism()}, the cores of this machine`);
  return { ...values, seconds, jobs, chosen: positionals.length > 0 ? positionals : targets };
}
