// SPDX-License-Identifier: Apache-2.0
// A source that can be exchanged for another one while it runs, or closed and opened again. Another one is started next to it and
// has to deliver a pair first: one that cannot leaves everything as it was. Counters continue over all of them.
import type {
  CaptureClock,
  CaptureMemory,
  FramePair,
  PairSource,
  SourceCounters,
  SourceDescription,
  SourceEvents,
} from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";

/** How long a source has for its first pair, next to three of its periods. */
const FIRST_PAIR_MS = 10_000;

/** Why pairs of a source were not used: another source took over, or the run sleeps. */
export type FeedDropCause = "sourceChanged" | "dutyCycle";

export interface ExchangeableEvents {
  /** Pairs of a source that came before its time, or after it. */
  onDropped(pairs: number, cause: FeedDropCause): void;
}

/** A source on its way in, in use, or on its way out. */
class Feed {
  readonly source: PairSource;
  readonly #onDropped: ExchangeableEvents["onDropped"];
  #events: SourceEvents | undefined;
  /** The newest pair that arrived before a consumer did. */
  #held: FramePair | undefined;
  #passedOver = 0;
  #degraded: [reason: string, code?: string] | undefined;
  #warnings: string[] = [];
  #end: { error?: Error } | undefined;
  #started = false;
  /** Why its pairs are not used any more. */
  #retired: FeedDropCause | undefined;
  #onFirst: () => void = () => {};

  constructor(source: PairSource, onDropped: ExchangeableEvents["onDropped"]) {
    this.source = source;
    this.#onDropped = onDropped;
  }

  /** Once, however often it is called: one that was prepared runs already. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.source.start({
      onPair: (pair) => this.#take(pair),
      onDegraded: (reason, code) => {
        this.#degraded = reason === undefined ? undefined : code === undefined ? [reason] : [reason, code];
        this.#events?.onDegraded(reason, code);
      },
      onWarning: (message) => {
        if (this.#events === undefined) this.#warnings.push(message);
        else this.#events.onWarning?.(message);
      },
      onEnd: () => this.#finish({}),
      onError: (error) => this.#finish({ error }),
    });
  }

  get degraded(): boolean {
    return this.#degraded !== undefined;
  }

  #take(pair: FramePair): void {
    if (this.#events !== undefined) {
      this.#events.onPair(pair);
      return;
    }
    if (this.#retired !== undefined) {
      this.#onDropped(1, this.#retired);
      pair.release();
      return;
    }
    const older = this.#held;
    this.#held = pair;
    if (older !== undefined) {
      this.#passedOver += 1;
      older.release();
    }
    this.#onFirst();
  }

  #finish(end: { error?: Error }): void {
    this.#end = end;
    this.#onFirst();
    if (end.error !== undefined) this.#events?.onError(end.error);
    else this.#events?.onEnd();
  }

  /** @throws DepthwattError of the source; SOURCE_EMPTY, DEVICE_UNAVAILABLE, RUN_ENDED where no pair comes */
  async first(signal: AbortSignal): Promise<void> {
    const { rateHz } = this.source.description;
    const limitMs = Math.max(FIRST_PAIR_MS, rateHz === undefined ? 0 : 3000 / rateHz);
    let timer: NodeJS.Timeout | undefined;
    let given = () => {};
    await new Promise<void>((resolve) => {
      given = resolve;
      this.#onFirst = resolve;
      timer = setTimeout(resolve, limitMs);
      signal.addEventListener("abort", given);
      if (this.#held !== undefined || this.#end !== undefined || signal.aborted) resolve();
    });
    signal.removeEventListener("abort", given);
    clearTimeout(timer);
    if (this.#end?.error !== undefined) throw this.#end.error;
    if (signal.aborted)
      throw new DepthwattError("RUN_ENDED", "the run ended before the new source was in use");
    if (this.#held !== undefined) return;
    if (this.#end !== undefined)
      throw new DepthwattError("SOURCE_EMPTY", "expected at least one pair of the new source, got none");
    const why = this.#degraded === undefined ? "" : `: ${this.#degraded[0]}`;
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      `expected a pair of the new source within ${limitMs / 1000} s, got none${why}`,
    );
  }

  /** From here on its pairs go there; what has come until now is reported first. */
  attach(events: SourceEvents): void {
    this.#events = events;
    if (this.#passedOver > 0) this.#onDropped(this.#passedOver, "sourceChanged");
    for (const warning of this.#warnings.splice(0)) events.onWarning?.(warning);
    if (this.#degraded !== undefined) events.onDegraded(...this.#degraded);
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) events.onPair(held);
    if (this.#end?.error !== undefined) events.onError(this.#end.error);
    else if (this.#end !== undefined) events.onEnd();
  }

  /** Its pairs go nowhere any more. */
  async retire(cause: FeedDropCause = "sourceChanged"): Promise<void> {
    this.#events = undefined;
    this.#retired = cause;
    this.#held?.release();
    this.#held = undefined;
    await this.source.stop();
  }
}

/** A source that has delivered a pair and waits to be used. Exactly one of its methods must be called. */
export interface Successor {
  readonly source: PairSource;
  /** Takes over from the source before it, which is stopped; pairs of it stay valid until they are released. */
  takeOver(): void;
  discard(): Promise<void>;
}

export class ExchangeableSource implements PairSource {
  readonly #drops: ExchangeableEvents;
  #feed: Feed;
  #events: SourceEvents | undefined;
  #stopped = false;
  /** The source is closed; its description is kept. */
  #suspended = false;
  /** Retired ones until they have stopped, and what all that have stopped had counted. */
  readonly #leaving = new Set<Feed>();
  readonly #left = noCounts();
  readonly #stops = new Set<Promise<void>>();

  constructor(source: PairSource, events: ExchangeableEvents) {
    this.#drops = events;
    this.#feed = this.#createFeed(source);
  }

  #createFeed(source: PairSource): Feed {
    return new Feed(source, (pairs, cause) => this.#drops.onDropped(pairs, cause));
  }

  get description(): SourceDescription {
    return this.#feed.source.description;
  }

  get inputMemory(): PairSource["inputMemory"] {
    return this.#suspended ? undefined : this.#feed.source.inputMemory;
  }

  isAway(): boolean {
    return !this.#suspended && (this.#feed.source.isAway?.() ?? false);
  }

  captureMemory(): Record<string, CaptureMemory> {
    return this.#feed.source.captureMemory?.() ?? {};
  }

  captureClocks(): Record<string, CaptureClock> {
    return this.#feed.source.captureClocks?.() ?? {};
  }

  start(events: SourceEvents): void {
    this.#events = events;
    this.#feed.attach(events);
    this.#feed.start();
  }

  /**
   * Starts another source next to this one.
   * @returns resolves with its first pair
   * @throws DepthwattError why it delivers none; it is stopped then
   */
  async prepare(source: PairSource, signal: AbortSignal): Promise<Successor> {
    const feed = this.#createFeed(source);
    try {
      feed.start();
      await feed.first(signal);
    } catch (error) {
      await feed.retire();
      throw error;
    }
    return {
      source,
      takeOver: () => this.#takeOver(feed),
      discard: () => feed.retire(),
    };
  }

  get suspended(): boolean {
    return this.#suspended;
  }

  /** Closes the source; resume() continues with another one. The engine must not use its memory any more. */
  suspend(): Promise<void> {
    if (this.#suspended || this.#stopped) return Promise.resolve();
    this.#suspended = true;
    if (this.#feed.degraded) this.#events?.onDegraded(undefined);
    return this.#retire(this.#feed, "dutyCycle");
  }

  /** Uses a source that is open and not started. */
  resume(source: PairSource): void {
    const feed = this.#createFeed(source);
    this.#takeOver(feed);
    if (!this.#stopped) feed.start();
  }

  #takeOver(feed: Feed): void {
    if (this.#stopped) {
      void this.#retire(feed);
      return;
    }
    const before = this.#feed;
    const wasSuspended = this.#suspended;
    this.#feed = feed;
    this.#suspended = false;
    if (!wasSuspended) void this.#retire(before);
    // The run has not begun: start() attaches it.
    if (this.#events === undefined) return;
    if (!wasSuspended && before.degraded) this.#events.onDegraded(undefined);
    feed.attach(this.#events);
  }

  #retire(feed: Feed, cause?: FeedDropCause): Promise<void> {
    this.#leaving.add(feed);
    const stopped: Promise<void> = feed
      .retire(cause)
      .catch((error: Error) => this.#events?.onWarning?.(`the source before did not stop: ${error.message}`))
      .then(() => {
        this.#leaving.delete(feed);
        this.#stops.delete(stopped);
        addAll(this.#left, feed.source.counters());
      });
    this.#stops.add(stopped);
    return stopped;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.#feed.source.stop(), ...this.#stops]);
  }

  /** Counts of all sources since the start; skew and drift are those of the one in use. */
  counters(): SourceCounters {
    const now = this.#feed.source.counters();
    const sum = noCounts();
    addAll(sum, this.#left);
    // A closed source is among those that have left.
    if (!this.#suspended) addAll(sum, now);
    for (const { source } of this.#leaving) addAll(sum, source.counters());
    const { other, ...counts } = sum;
    return { ...now, ...counts, ...(now.other && { other: { ...now.other, ...other } }) };
  }
}

type ThirdCounts = Pick<NonNullable<SourceCounters["other"]>, "pairs" | "missed" | "drops">;

const noCounts = () => ({
  pairs: 0,
  dropsLeft: {},
  dropsRight: {},
  other: { pairs: 0, missed: {}, drops: {} },
});

function addAll(
  to: ReturnType<typeof noCounts>,
  {
    pairs,
    dropsLeft,
    dropsRight,
    other,
  }: Pick<SourceCounters, "pairs" | "dropsLeft" | "dropsRight"> & { other?: ThirdCounts | undefined },
): void {
  to.pairs += pairs;
  addCounts(to.dropsLeft, dropsLeft);
  addCounts(to.dropsRight, dropsRight);
  if (other === undefined) return;
  to.other.pairs += other.pairs;
  addCounts(to.other.missed, other.missed);
  addCounts(to.other.drops, other.drops);
}

function addCounts(to: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [cause, count] of Object.entries(counts)) to[cause] = (to[cause] ?? 0) + count;
}
