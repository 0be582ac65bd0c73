// SPDX-License-Identifier: Apache-2.0
// Runs a command line in the test's own process. A process for each call (program.ts) costs half a second of CPU time, so the
// tests of a command start one only for some of its calls.
import { vi } from "vitest";
import { runCommandLine } from "../../edge/cli/program.js";
import type { Ran } from "./program.js";

/** Records the text that is written to a stream instead of writing it. */
function recordWrites(stream: NodeJS.WriteStream) {
  let text = "";
  const spy = vi.spyOn(stream, "write").mockImplementation((chunk, ...more) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const done = more.find((one) => typeof one === "function") as (() => void) | undefined;
    if (done) process.nextTick(done);
    return true;
  });
  return { spy, text: () => text };
}

/** Runs a command to its end. Calls must follow each other, because all write to the streams of this process. */
export async function runInProcess(words: readonly string[]): Promise<Ran> {
  const { exitCode } = process;
  const [stdout, stderr] = [recordWrites(process.stdout), recordWrites(process.stderr)];
  try {
    process.exitCode = undefined;
    const code = await runCommandLine(words);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.exitCode = exitCode;
    stdout.spy.mockRestore();
    stderr.spy.mockRestore();
  }
}
