// SPDX-License-Identifier: Apache-2.0
// Replaces nvpmodel if this process is not root: takes the same arguments, asks the root helper and prints its answer.
// It is a separate program, so that the exit handler can wait for it. "clocks" restores clock limits after a process has died.
import { writeSync } from "node:fs";
import { connect } from "node:net";
import { pathToFileURL } from "node:url";
import { processName, restoreClocks } from "../../../power/index.js";
import { clockRequest } from "./request.js";
import { POWER_MODE_SOCKET } from "./socket.js";

function parseRequest(words: readonly string[]): string | undefined {
  if (words.length === 1 && words[0] === "-q") return "query\n";
  return words.length === 2 && words[0] === "-m" ? `set ${words[1]}\n` : undefined;
}

export interface Answer {
  status: number;
  out: string;
  err: string;
}

/** Returns the helper's answer without "ok". Rejects with the reason of a refusal. */
export function askHelper(request: string, socketPath = POWER_MODE_SOCKET): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(socketPath, () => socket.write(request));
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", (error) => reject(new Error(`${socketPath}: ${error.message}`)));
    socket.on("end", () => {
      const words = /^ok (.+)\n$/.exec(answer)?.[1];
      if (words === undefined) reject(new Error(answer.trim() || "the helper for power modes said nothing"));
      else resolve(words);
    });
  });
}

/** Returns nvpmodel's answer. */
export async function ask(words: readonly string[], socketPath = POWER_MODE_SOCKET): Promise<Answer> {
  const request = parseRequest(words);
  const failed = (why: string): Answer => ({ status: 1, out: "", err: `${why}\n` });
  if (request === undefined) return failed(`expected -q or -m NUMBER, got ${words.join(" ")}`);
  try {
    return { status: 0, out: `NV Power Mode: ${await askHelper(request, socketPath)}\n`, err: "" };
  } catch (error) {
    return failed((error as Error).message);
  }
}

/** Restores the clock limits of a process. @param pid default: of processes that have ended */
async function restore(pid = process.pid, root = "/"): Promise<Answer> {
  try {
    if (process.geteuid?.() === 0 || root !== "/") restoreClocks(processName(pid), { root });
    else await askHelper(clockRequest(pid, {}));
    return { status: 0, out: "", err: "" };
  } catch (error) {
    return { status: 1, out: "", err: `${(error as Error).message}\n` };
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [first, pid, root] = process.argv.slice(2);
  const { status, out, err } =
    first === "clocks"
      ? await restore(pid === undefined ? undefined : Number(pid), root)
      : await ask(process.argv.slice(2));
  writeSync(1, out);
  writeSync(2, err);
  process.exitCode = status;
}
