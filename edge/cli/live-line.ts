// SPDX-License-Identifier: Apache-2.0
// The live line of `depthwatt run`: one line, renewed in a terminal, appended elsewhere.
import type { RunFigures } from "../run/figures.js";

/** Returns whether a drop was asked for: by a rate limit, by a page that shows fewer frames, or by the duty cycle. */
const isSkip = (cause: string) =>
  cause.endsWith(".rateLimit") || ["viewer.pageBusy", "settling", "dutyCycle", "noMotion"].includes(cause);

/** "30.0 fps | 91.2 % matched, 100.0 % valid | match 7.9 (8.4) rectify 0.6 (0.7) ... ms p50 (p95) | 12.1 W 2.47 fps/W | lost 3, skipped 12" */
export function figuresLine(figures: RunFigures): string {
  const stages = Object.entries(figures.stages)
    .sort(([, one], [, other]) => other.p50Ms - one.p50Ms)
    .map(([name, times]) => `${name} ${times.p50Ms.toFixed(2)} (${times.p95Ms.toFixed(2)})`);
  let skipped = 0;
  let lost = 0;
  for (const [cause, count] of Object.entries(figures.drops)) {
    // Both images of a pair that was lost count once.
    const left = cause.startsWith("right.") ? (figures.drops[cause.replace("right.", "left.")] ?? 0) : 0;
    if (isSkip(cause)) skipped += count;
    else lost += Math.max(0, count - left);
  }
  const { matchedPercent, validPercent, dutyCycle } = figures;
  const isAsleep = dutyCycle.available && dutyCycle.state === "asleep";
  return [
    `${figures.fps.toFixed(1)} fps${isAsleep ? ", asleep" : ""}`,
    ...(typeof matchedPercent === "number" && typeof validPercent === "number"
      ? [`${matchedPercent.toFixed(1)} % matched, ${validPercent.toFixed(1)} % valid`]
      : []),
    powerWords(figures),
    `lost ${lost}${skipped > 0 ? `, skipped ${skipped}` : ""}`,
    `ms p50 (p95): ${stages.join(", ") || "none yet"}`,
  ].join(" | ");
}

/** "12.10 W, 2.47 fps/W" */
export function powerWords({ power }: Pick<RunFigures, "power">): string {
  if (!power.available) return "watts unavailable";
  const perWatt = typeof power.fpsPerWatt === "number" ? `, ${power.fpsPerWatt.toFixed(2)} fps/W` : "";
  return `${power.watts.toFixed(2)} W${perWatt}`;
}

/** One line as it fits into a terminal of any width: a longer one would break and could not be written over. */
export function cutToTerminal(line: string, stream: Pick<NodeJS.WriteStream, "columns">): string {
  const width = Math.max((stream.columns || 80) - 1, 1);
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** Writes lines over each other where `stream` is a terminal. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  #drawn = false;
  #last = "";

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  show(line: string): void {
    if (!this.#stream.isTTY) {
      // In a log, a line that says the same again says nothing.
      if (line !== this.#last) this.#stream.write(`${line}\n`);
      this.#last = line;
      return;
    }
    this.#stream.write(`\r\u001b[K${cutToTerminal(line, this.#stream)}`);
    this.#drawn = true;
  }

  /** Leaves the newest line where it is and goes to the next one: before anything else is written. */
  finish(): void {
    if (this.#drawn) this.#stream.write("\n");
    this.#drawn = false;
  }
}
