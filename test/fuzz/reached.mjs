// SPDX-License-Identifier: Apache-2.0
// Loaded before a test run (`node --import`): counts which code of which files ran, by V8's own counters of blocks. Then
// globalThis.reachedCode() says how much was run of the functions' text in the files whose paths begin as FUZZ_REACHED says.
import { Session } from "node:inspector";

const session = new Session();
session.connect();
function ask(method, parameters) {
  let answer;
  session.post(method, parameters, (error, result) => {
    if (error) throw new Error(`${method}: ${error.message}`);
    answer = result;
  });
  return answer;
}
ask("Profiler.enable");
ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/** Characters of one file's functions: all, and those in blocks that ran. Ranges are nested: an inner one holds over an outer one. */
function reachedCharacters(functions) {
  const end = Math.max(...functions.map(({ ranges }) => ranges[0].endOffset));
  const state = new Uint8Array(end); // 0 is no function's, 1 was not run, 2 was
  // The whole module and what wraps it are no functions of the file.
  const inner = functions.filter(({ functionName }) => functionName !== "");
  for (const { ranges } of inner)
    for (const { startOffset, endOffset, count } of ranges)
      state.fill(count > 0 ? 2 : 1, startOffset, endOffset);
  let [all, ran] = [0, 0];
  for (const one of state) {
    if (one > 0) all++;
    if (one === 2) ran++;
  }
  const entered = inner.filter(({ ranges }) => ranges[0].count > 0).length;
  return { all, ran, functions: inner.length, entered };
}

globalThis.reachedCode = () => {
  const paths = process.env.FUZZ_REACHED.split(" ");
  const root = process.cwd();
  const totals = { all: 0, ran: 0, functions: 0, entered: 0 };
  for (const { url, functions } of ask("Profiler.takePreciseCoverage").result) {
    const path = url.replace("file://", "").slice(root.length + 1);
    if (!paths.some((beginning) => path.startsWith(beginning))) continue;
    const one = reachedCharacters(functions);
    for (const key of Object.keys(totals)) totals[key] += one[key];
  }
  if (totals.all === 0) return undefined;
  const percent = ((100 * totals.ran) / totals.all).toFixed(1);
  return `${percent} % of the text of ${totals.functions} functions (${totals.entered} entered)`;
};
