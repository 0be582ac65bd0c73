// SPDX-License-Identifier: Apache-2.0
// The guest's program: runs the groups of cases that its words name and ends with the number of failures.
import { report, runCases } from "./tools.mjs";

const groups = {
  capture: async () => (await import("./capture-cases.mjs")).captureCases,
  "loop-back": async () => (await import("./loop-back-cases.mjs")).loopBackCases,
  calibrate: async () => (await import("./calibrate-cases.mjs")).calibrateCases,
  "bad-days": async () => (await import("./bad-day-cases.mjs")).badDayCases,
};

const words = process.argv.slice(2);
for (const name of ["scene", "boards"])
  if (words[0]?.startsWith(`--${name}=`))
    process.env[name.toUpperCase()] = words.shift().slice(`--${name}=`.length);
const only = words[0] === "--only" ? new RegExp(words[1]) : undefined;
let failed = 0;
for (const name of only ? Object.keys(groups) : words) {
  const cases = await groups[name]();
  const chosen = Object.entries(cases).filter(([title]) => only === undefined || only.test(title));
  failed += await runCases(Object.fromEntries(chosen));
}
report({ finished: true, failed });
process.exit(failed === 0 ? 0 : 1);
