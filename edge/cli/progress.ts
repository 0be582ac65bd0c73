// SPDX-License-Identifier: Apache-2.0
// Draws the progress bar of every command that takes longer than two seconds. It is drawn on a terminal only.
import { cutToTerminal } from "./live-line.js";

const BAR = 24;
/** Shortest time between two drawings, so that the text can be read. */
const EVERY_MS = 100;

const minutes = (seconds: number) =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/**
 * Returns a line such as "[########----] 66 % 20/30, 12.3/s, 0:01 left, note".
 * @param total undefined if it is unknown: the line then has no bar and no remaining time
 * @param secondsLeft by default extrapolated from the time per item so far
 */
export function progressLine(
  done: number,
  total: number | undefined,
  seconds: number,
  note = "",
  secondsLeft?: number,
): string {
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = rate > 0 ? [`${rate.toFixed(1)}/s`] : [];
  const words = note === "" ? [] : [note];
  if (total === undefined || total < done) return [String(done), ...speed, ...words].join(", ");
  const share = total === 0 ? 1 : done / total;
  const full = Math.round(BAR * share);
  const bar = `[${"#".repeat(full)}${"-".repeat(BAR - full)}] ${Math.floor(100 * share)} % ${done}/${total}`;
  const remaining = secondsLeft ?? (rate > 0 && done < total ? (total - done) / rate : undefined);
  const left = remaining === undefined ? [] : [`${minutes(remaining)} left`];
  return [bar, ...speed, ...left, ...words].join(", ");
}

/** Draws a bar on stderr if that is a terminal, else nothing. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #beganMs = performance.now();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #drawn = false;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  show(done: number, total: number | undefined, note = "", secondsLeft?: number): void {
    if (!this.#stream.isTTY) return;
    const now = performance.now();
    if (now - this.#drawnMs < EVERY_MS && done !== total) return;
    this.#drawnMs = now;
    this.#drawn = true;
    const line = progressLine(done, total, (now - this.#beganMs) / 1000, note, secondsLeft);
    this.#stream.write(`\r\u001b[K${cutToTerminal(line, this.#stream)}`);
  }

  /** Erases the bar. Call this before anything else is written. */
  clear(): void {
    if (this.#drawn) this.#stream.write("\r\u001b[K");
    this.#drawn = false;
  }
}
