// SPDX-License-Identifier: Apache-2.0
// Limits log lines that repeat, such as those of a camera program that is started again for days.

/** Lines with the same words that are logged without a limit. */
const FREE = 5;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** After this time without the line it counts as new. */
const QUIET_MS = 2 * LONGEST_PAUSE_MS;
const MAX_KINDS = 100;

interface Kind {
  count: number;
  loggedMs: number;
  seenMs: number;
  pauseMs: number;
  leftOut: number;
}

export class RepeatLimit {
  readonly #kinds = new Map<string, Kind>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /**
   * Decides about one line; lines that differ in numbers alone are the same.
   * @returns the line to log, with the count of lines left out before it; undefined: leave it out
   */
  admit(line: string): string | undefined {
    const now = this.#nowMs();
    const key = line.replace(/\d+/g, "0");
    let kind = this.#kinds.get(key);
    if (kind === undefined || now - kind.seenMs > QUIET_MS) {
      kind = { count: 0, loggedMs: now, seenMs: now, pauseMs: FIRST_PAUSE_MS, leftOut: 0 };
      this.#kinds.delete(key);
      this.#kinds.set(key, kind);
      const oldest = this.#kinds.keys().next();
      if (this.#kinds.size > MAX_KINDS && !oldest.done) this.#kinds.delete(oldest.value);
    }
    kind.seenMs = now;
    kind.count++;
    if (kind.count > FREE) {
      if (now - kind.loggedMs < kind.pauseMs) {
        kind.leftOut++;
        return undefined;
      }
      kind.pauseMs = Math.min(2 * kind.pauseMs, LONGEST_PAUSE_MS);
    }
    kind.loggedMs = now;
    const { leftOut } = kind;
    kind.leftOut = 0;
    return leftOut === 0 ? line : `${line} (${leftOut} such lines were left out)`;
  }
}
