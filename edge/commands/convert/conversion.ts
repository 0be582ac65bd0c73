// SPDX-License-Identifier: Apache-2.0
// Defines the counts and reports of every conversion.
import { isDepthwattError } from "../../../core/index.js";

export interface Conversion {
  /** Files or messages written now. */
  written: number;
  /** Files that were there already, from a conversion that was interrupted. */
  kept: number;
  /** Files that could not be converted, by cause. */
  skipped: Record<string, number>;
}

export interface ConversionEvents {
  /** `total` is undefined if it is unknown. */
  onProgress(done: number, total: number | undefined): void;
  /** One thing that was skipped, and why. */
  onSkip(text: string): void;
  onWarning(text: string): void;
}

export class Counting implements Conversion {
  written = 0;
  kept = 0;
  readonly skipped: Record<string, number> = {};
  readonly #events: ConversionEvents;
  readonly #total: number | undefined;
  #done = 0;
  readonly #warned = new Set<string>();

  constructor(events: ConversionEvents, total: number | undefined) {
    this.#events = events;
    this.#total = total;
  }

  wrote(): void {
    this.written++;
    this.#step();
  }

  keeps(): void {
    this.kept++;
    this.#step();
  }

  /** Counts what cannot be read. @throws `error` itself where it is not about one image */
  skipUnreadable(error: unknown, prefix = ""): void {
    if (!isDepthwattError(error) || error.code === "IMAGE_LIBRARY_MISSING") throw error;
    this.skip("unreadable", prefix + error.message);
  }

  skip(cause: string, text: string, count = 1): void {
    this.skipped[cause] = (this.skipped[cause] ?? 0) + count;
    this.#events.onSkip(text);
    this.#step();
  }

  /** Warns once of a topic whose messages have no capture time. */
  warnOfLogTime(topic: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.#events.onWarning(`${topic}: capture times are 0, so the times of recording are used`);
  }

  #step(): void {
    this.#events.onProgress(++this.#done, this.#total);
  }
}
