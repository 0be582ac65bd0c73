// SPDX-License-Identifier: Apache-2.0
// The command line as its users run it: the compiled program in its own process.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

export const PROGRAM = "dist/edge/cli/main.js";

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ran>;
  stdout(): string;
  stderr(): string;
}

export function startProgram(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: { ...process.env, ...environment } });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  // A test that fails before it stopped its program must not leave it running.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("close", () => process.removeListener("exit", kill));
  const ended = new Promise<Ran>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

export function runProgram(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return startProgram(words, environment).ended;
}

/** The last line of stdout as JSON. */
export function lastJson<T = Record<string, unknown>>({ stdout, stderr, code }: Ran): T {
  const line = stdout.trim().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as T;
  } catch {
    throw new Error(
      `expected JSON as the last line, got ${JSON.stringify(line)}; exit ${code}, stderr:\n${stderr}`,
    );
  }
}
