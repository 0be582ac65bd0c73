// SPDX-License-Identifier: Apache-2.0
// A source that lets through the pairs that the duty cycle wants, and at most so many a second; the others go straight back and
// are counted.
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
  readonly #onDrop: (cause: string) => void;
  readonly #refuse: (pair: FramePair) => string | undefined;
  #intervalMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @param refuse returns why a pair is not wanted; asked before the rate is looked at */
  constructor(
    source: PairSource,
    onDrop: (cause: string) => void,
    refuse: (pair: FramePair) => string | undefined = () => undefined,
  ) {
    this.#source = source;
    this.#onDrop = onDrop;
    this.#refuse = refuse;
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
    const isEarly = now - this.#lastMs < this.#intervalMs * (1 - EARLY_SHARE);
    const cause = this.#refuse(pair) ?? (isEarly ? "governor" : undefined);
    if (cause !== undefined) {
      this.#onDrop(cause);
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
