// SPDX-License-Identifier: Apache-2.0
// A progress bar, where a person looks: nothing is drawn into a file or a pipe.
import { cutToTerminal } from "./live-line.js";

const BAR = 24;
/** A bar that is drawn more often cannot be read. */
const EVERY_MS = 100;

const minutes = (seconds: number) =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** "[########----] 66 % 20/30, 12.3/s, 0:01 left, what" */
export function progressLine(done: number, total: number | undefined, seconds: number, note = ""): string {
  const rate = seconds > 0 ? done / seconds : 0;
  const more = [...(rate > 0 ? [`${rate.toFixed(1)}/s`] : []), ...(note === "" ? [] : [note])];
  if (total === undefined || total < done) return [String(done), ...more].join(", ");
  const share = total === 0 ? 1 : done / total;
  const full = Math.round(BAR * share);
  const bar = `[${"#".repeat(full)}${"-".repeat(BAR - full)}] ${Math.floor(100 * share)} % ${done}/${total}`;
  const left = rate > 0 && done < total ? [`${minutes((total - done) / rate)} left`] : [];
  return [bar, ...more.slice(0, 1), ...left, ...more.slice(1)].join(", ");
}

export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #beganMs = performance.now();
  #drawnMs = Number.NEGATIVE_INFINITY;
  #drawn = false;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  show(done: number, total: number | undefined, note = ""): void {
    if (!this.#stream.isTTY) return;
    const now = performance.now();
    if (now - this.#drawnMs < EVERY_MS && done !== total) return;
    this.#drawnMs = now;
    this.#drawn = true;
    const line = progressLine(done, total, (now - this.#beganMs) / 1000, note);
    this.#stream.write(`\r\u001b[K${cutToTerminal(line, this.#stream)}`);
  }

  /** Takes the bar away: before anything else is written. */
  clear(): void {
    if (this.#drawn) this.#stream.write("\r\u001b[K");
    this.#drawn = false;
  }
}
