// SPDX-License-Identifier: Apache-2.0
// The program in a terminal: `script` of Debian's bsdutils, which every Debian has, opens a pseudo terminal for it.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { quoteShellWord } from "../../core/index.js";
import { PROGRAM } from "./program.js";

export interface TerminalRun {
  /** Everything that the terminal was sent, with its control sequences. */
  shown(): string;
  /** As if the keys were pressed; Ctrl-C is "\u0003". */
  press(keys: string): void;
  /** Exit code of the program. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

/** @param columns width of the terminal */
export function startInTerminal(words: readonly string[], columns = 100): TerminalRun {
  const run = [process.execPath, PROGRAM, ...words].map(quoteShellWord);
  const command = `stty cols ${columns} rows 40; exec ${run.join(" ")}`;
  const child: ChildProcessWithoutNullStreams = spawn("script", ["-qec", command, "/dev/null"], {
    env: { ...process.env, TERM: "xterm", NO_COLOR: "" },
  });
  let shown = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      shown += chunk;
    });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      process.removeListener("exit", kill);
      resolve(code);
    });
  });
  return { shown: () => shown, press: (keys) => void child.stdin.write(keys), ended, kill };
}
