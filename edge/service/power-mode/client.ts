// SPDX-License-Identifier: Apache-2.0
// Replaces nvpmodel if this process is not root: takes the same arguments, asks the root helper and prints its answer.
// It is a separate program, so that the exit handler can wait for it.
import { writeSync } from "node:fs";
import { connect } from "node:net";
import { pathToFileURL } from "node:url";
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

/** Returns nvpmodel's answer. */
export function ask(words: readonly string[], socketPath = POWER_MODE_SOCKET): Promise<Answer> {
  const request = parseRequest(words);
  const failed = (why: string): Answer => ({ status: 1, out: "", err: `${why}\n` });
  if (request === undefined)
    return Promise.resolve(failed(`expected -q or -m NUMBER, got ${words.join(" ")}`));
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(socketPath, () => socket.write(request));
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", (error) => resolve(failed(`${socketPath}: ${error.message}`)));
    socket.on("end", () => {
      const name = /^ok (\S+)\n$/.exec(answer)?.[1];
      if (name === undefined) resolve(failed(answer.trim() || "the helper for power modes said nothing"));
      else resolve({ status: 0, out: `NV Power Mode: ${name}\n`, err: "" });
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { status, out, err } = await ask(process.argv.slice(2));
  writeSync(1, out);
  writeSync(2, err);
  process.exitCode = status;
}
