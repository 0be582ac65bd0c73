// SPDX-License-Identifier: Apache-2.0
// A source that lets through at most so many pairs a second; the others go straight back and are counted.
import type {
  CaptureClock,
  CaptureMemory,
  FramePair,
  PairSource,
  SourceCounters,
  SourceDescription,
  SourceEvents,
} from "../../camera/index.js";

/** A pair that comes this much of an interval early is on time: cameras jitter. */
const EARLY_SHARE = 0.1;

export class RateGate implements PairSource {
  readonly #source: PairSource;
  readonly #onDrop: () => void;
  #intervalMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(source: PairSource, onDrop: () => void) {
    this.#source = source;
    this.#onDrop = onDrop;
  }

  get description(): SourceDescription {
    return this.#source.description;
  }

  get inputMemory(): PairSource["inputMemory"] {
    return this.#source.inputMemory;
  }

  isAway(): boolean {
    return this.#source.isAway?.() ?? false;
  }

  captureMemory(): Record<string, CaptureMemory> {
    return this.#source.captureMemory?.() ?? {};
  }

  captureClocks(): Record<string, CaptureClock> {
    return this.#source.captureClocks?.() ?? {};
  }

  /** @param rateHz pairs per second at most; undefined = every pair */
  limit(rateHz: number | undefined): void {
    this.#intervalMs = rateHz === undefined ? 0 : 1000 / rateHz;
  }

  start(events: SourceEvents): void {
    this.#source.start({ ...events, onPair: (pair) => this.#take(pair, events) });
  }

  #take(pair: FramePair, events: SourceEvents): void {
    const now = performance.now();
    if (now - this.#lastMs < this.#intervalMs * (1 - EARLY_SHARE)) {
      this.#onDrop();
      pair.release();
      return;
    }
    this.#lastMs = now;
    events.onPair(pair);
  }

  stop(): Promise<void> {
    return this.#source.stop();
  }

  counters(): SourceCounters {
    return this.#source.counters();
  }
}
