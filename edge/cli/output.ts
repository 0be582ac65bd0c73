// SPDX-License-Identifier: Apache-2.0
// Writes a command's output: results to stdout, everything else to stderr; colour only on a terminal.
import { DepthwattError } from "../../core/index.js";

type Colour = "red" | "green" | "yellow" | "dim" | "bold";
const CODES: Record<Colour, [number, number]> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  dim: [2, 22],
  bold: [1, 22],
};

/** Colours `text` for a terminal; unchanged if the stream is no terminal, or NO_COLOR is set (no-color.org). */
export function paint(colour: Colour, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  if (!stream.isTTY || process.env.NO_COLOR) return text;
  const [on, off] = CODES[colour];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

/** Signals that end a command in order: Ctrl-C, a service manager, and a closed terminal. */
export const END_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One line of result on stdout. */
export function printLine(text = ""): void {
  process.stdout.write(`${text}\n`);
}

/** A result for scripts: one line of JSON on stdout; 64-bit integers become decimal text, NaN and infinities null. */
export function printJson(value: unknown): void {
  hasPrintedJson = true;
  printLine(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? item.toString() : item)));
}

let hasPrintedJson = false;

/** Call this before a command runs: nothing is on stdout yet. */
export function beginOutput(): void {
  hasPrintedJson = false;
}

/** Prints the error of a command with --json, unless its result is already on stdout: scripts parse one document. */
export function printJsonError(error: { code: string; message: string; hint: string }): void {
  if (!hasPrintedJson) printJson({ error });
}

/** Prints a notice that is no result on stderr. */
export function note(text: string): void {
  process.stderr.write(`${fitted(text, process.stderr)}\n`);
}

/** Prints a sentence of result on stdout. */
export function printText(text: string): void {
  process.stdout.write(`${fitted(text, process.stdout)}\n`);
}

/** Breaks long lines between words on a terminal, which would break them within words; files get them whole. */
function fitted(text: string, stream: NodeJS.WriteStream): string {
  if (!stream.isTTY) return text;
  const width = terminalWidth(stream);
  const lines = text.split("\n").flatMap((line) => (line.length > width ? wrap(line, width) : line));
  return lines.join("\n");
}

/** Rows as columns, left-aligned, two spaces between; no space at the ends of lines. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join("  ")
      .trimEnd(),
  );
}

/** Breaks `text` between words so that no line is longer than `width`, a longer word alone excepted. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Returns the columns of the terminal; 80 if they are unknown. */
export function terminalWidth(stream: NodeJS.WriteStream = process.stdout): number {
  return stream.columns && stream.columns >= 40 ? stream.columns : 80;
}

/**
 * Ends the process after all output is written: process.exit() alone would cut off output that waits for a full pipe. Waits
 * at most 5 seconds for a reader that has stopped.
 */
export function leave(exitCode: number): void {
  process.exitCode = exitCode;
  let open = 2;
  const drained = () => {
    if (--open === 0) process.exit(exitCode);
  };
  setTimeout(() => process.exit(exitCode), LEAVE_MS).unref();
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength === 0 || stream.destroyed) drained();
    else stream.write("", drained);
  }
}

/** How long a slow reader of our output may take at the end. */
const LEAVE_MS = 5000;

/**
 * Ends the command when stdout has no reader any more, as after `depthwatt run | head`: that is no error. A command
 * with an orderly end comes to it, as by a signal; another exits.
 */
function endForLackOfReaders(): void {
  if (nobodyReads) return;
  nobodyReads = true;
  if (process.listenerCount("SIGTERM") === 0) process.exit(0);
  process.emit("SIGTERM", "SIGTERM");
}
let nobodyReads = false;

/** Reports a full disk behind stdout through `onLostResult`; behind stderr an error cannot be reported. */
export function watchOutputs(onLostResult: (error: DepthwattError) => void): void {
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
    if (cause.code === "EPIPE") return endForLackOfReaders();
    onLostResult(
      new DepthwattError("OUTPUT_UNWRITABLE", `cannot write to stdout: ${cause.message}`, { cause }),
    );
  });
  process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") endForLackOfReaders();
  });
}
