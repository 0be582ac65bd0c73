// SPDX-License-Identifier: Apache-2.0
// From pairs to computed frames: the newest pair wins while the engine is busy, results are offered to every output, and every
// pair that goes no further is counted by cause. No pixel is touched here.
import type { FramePair, PairSource } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import {
  DROP_CAUSES,
  type EngineSlot,
  type FrameResult,
  type NativeEngine,
  perCause,
  STAGE_NAMES,
} from "../../cuda/index.js";
import { BucketCounts, ENERGY_BUCKETS, SKEW_BUCKETS } from "../contracts/bucket-counts.js";
import { ageMs, type ComputedFrame, type Encodings, type FrameSink } from "../contracts/computed-frame.js";
import { CountsByCause, Rate, RunValues } from "../contracts/statistics.js";
import { SlotPool } from "./slots.js";

export interface Computed {
  encodings: Encodings;
  /** Size of the results. */
  width: number;
  height: number;
  /** Pixels of the region that is matched. */
  askedPixels: number;
}

export interface PipelineOptions {
  source: PairSource;
  engine: NativeEngine;
  width: number;
  height: number;
  sinks: readonly FrameSink[];
  /** Counts the drops; given if other parts count theirs there too. */
  drops?: CountsByCause;
  /**
   * Returns the engine's current encodings and region for each frame; absent: it encodes nothing and matches the whole
   * images.
   */
  computed?: () => Computed;
  /** Called when no frame is in work and all earlier ones were handed on: options and source may change now. */
  onRest?: () => void;
  /** Ends the run after this many computed frames. */
  frames?: number;
  onFrame?: (frame: ComputedFrame) => void;
  onDegraded?: (reason: string | undefined, code?: string) => void;
  /** A frame was lost with its backend; the engine's info says what computes now. */
  onBackendLost?: (reason: string) => void;
  onWarning?: (message: string) => void;
}

/** How long the end waits for frames that an output still holds, such as one for a broker that does not read. */
const DRAIN_MS = 2000;

/** After a longer pause the scene may have changed, so the engine must forget earlier frames. */
const LONGEST_PAUSE_NS = 1_000_000_000n;

/** Returns whether a capture time comes within a second after the previous one: false after a restart or if the clock was set back. */
export function followsTime(beforeNs: bigint | undefined, timestampNs: bigint): boolean {
  return beforeNs !== undefined && timestampNs > beforeNs && timestampNs - beforeNs <= LONGEST_PAUSE_NS;
}

export class Pipeline {
  readonly stageTimes = STAGE_NAMES.map(() => new RunValues());
  /** To the end of the computation; what an output adds is its own. */
  readonly latency = new RunValues();
  /** Joules that frames carried. */
  readonly energy = new BucketCounts(ENERGY_BUCKETS);
  /** Stated skew of every pair that arrived. */
  readonly skew = new BucketCounts(SKEW_BUCKETS);
  readonly drops: CountsByCause;
  readonly rate = new Rate();
  frames = 0;
  validPixels = 0;
  matchedPixels = 0;
  readonly droppedPixels = perCause(() => 0);
  askedPixels = 0;
  readonly #options: PipelineOptions;
  readonly #slots: SlotPool;
  #newest: FramePair | undefined;
  #newestArrivedNs = 0n;
  /** Capture time of the last submitted pair. */
  #submittedNs: bigint | undefined;
  /** Frames that the engine has. */
  #computing = 0;
  /** A frame is being offered: nothing is submitted before every output has seen it. */
  #offering = false;
  #ending = false;
  #drainTimer: NodeJS.Timeout | undefined;
  #drained = false;
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.drops = options.drops ?? new CountsByCause();
    this.#slots = new SlotPool(options.engine.slots.length, () => this.#advance());
  }

  /** Runs until the source ends, the frame limit is reached or stop() is called; rejects when source or engine fail. */
  run(): Promise<void> {
    if (this.#ending) {
      // Stopped while others were still being opened: the source is never started.
      clearTimeout(this.#drainTimer);
      return Promise.resolve();
    }
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#options.source.start({
        onPair: (pair) => this.#take(pair),
        onDegraded: (reason, code) => this.#options.onDegraded?.(reason, code),
        onWarning: (message) => this.#options.onWarning?.(message),
        onEnd: () => this.#end(),
        onError: (error) => this.#fail(error),
      });
    });
  }

  /** Finishes the frames that are being computed and sent; run() resolves then. */
  stop(): void {
    this.#end();
  }

  #take(pair: FramePair): void {
    if (this.#ending) {
      pair.release();
      return;
    }
    if (this.#newest !== undefined) {
      this.drops.add("engineBusy");
      this.#newest.release();
    }
    this.skew.add(Math.abs(Number(pair.left.timestampNs - pair.right.timestampNs)) / 1e6);
    this.#newest = pair;
    this.#newestArrivedNs = process.hrtime.bigint();
    this.#advance();
  }

  /** Gives back the pair that waits: it is of a source that is no longer used. */
  discardWaiting(cause = "sourceChanged"): void {
    this.#submittedNs = undefined;
    this.#dropWaiting(cause);
  }

  /** Frames that the engine has or that wait for it. */
  get inWork(): number {
    return this.#computing + (this.#newest === undefined ? 0 : 1);
  }

  #dropWaiting(cause: string): void {
    if (this.#newest === undefined) return;
    this.drops.add(cause);
    const pair = this.#newest;
    this.#newest = undefined;
    pair.release();
  }

  /** Submits the newest pair as soon as the engine and a slot have room; notices the end. */
  #advance(): void {
    // A change may take the pair that waits away, or submit the first one of another source.
    if (this.#newest !== undefined && this.#computing === 0 && this.#hasRoom()) this.#options.onRest?.();
    const pair = this.#newest;
    if (pair !== undefined && this.#hasRoom()) {
      const index = this.#slots.acquire();
      if (index < 0) return;
      this.#newest = undefined;
      this.#computing += 1;
      this.#submit(index, pair, this.#newestArrivedNs);
    }
    if (this.#ending && this.#computing === 0 && this.#newest === undefined) {
      if (this.#drained || this.#slots.allFree) this.#finish();
    }
  }

  /** Returns whether the engine takes another frame now, and the run can use one. */
  #hasRoom(): boolean {
    const { engine, frames } = this.#options;
    if (this.#offering || this.#computing >= engine.framesInFlight) return false;
    return frames === undefined || this.frames + this.#computing < frames;
  }

  get #wholeImages(): Computed {
    const { width, height } = this.#options;
    return { encodings: {}, width, height, askedPixels: width * height };
  }

  #submit(index: number, pair: FramePair, arrivedNs: bigint): void {
    const { engine } = this.#options;
    const follows = followsTime(this.#submittedNs, pair.left.timestampNs);
    this.#submittedNs = pair.left.timestampNs;
    try {
      engine.submit(
        index,
        pair.left.data,
        pair.right.data,
        (error, result) => this.#computed(index, pair, arrivedNs, error, result),
        follows,
        pair.other?.data,
      );
    } catch (error) {
      this.#computing -= 1;
      pair.release();
      this.drops.add("engineFailed");
      this.#fail(error as Error);
      this.#slots.release(index);
    }
  }

  #computed(
    index: number,
    pair: FramePair,
    arrivedNs: bigint,
    error: Error | null,
    result: FrameResult,
  ): void {
    this.#computing -= 1;
    if (error instanceof DepthwattError && error.code === "FRAME_LOST") {
      pair.release();
      this.drops.add("backendLost");
      this.#options.onBackendLost?.(error.message);
      this.#slots.release(index);
      this.#advance();
      return;
    }
    if (error !== null) {
      pair.release();
      this.drops.add("engineFailed");
      this.#fail(error);
      this.#slots.release(index);
      return;
    }
    const { engine, sinks } = this.#options;
    const { encodings, askedPixels, width, height } = this.#options.computed?.() ?? this.#wholeImages;
    const times = engine.stageMilliseconds;
    for (let i = 0; i < this.stageTimes.length; ++i) {
      const milliseconds = times[i] as number;
      if (!Number.isNaN(milliseconds)) this.stageTimes[i]?.add(milliseconds);
    }
    this.frames += 1;
    this.validPixels += result.validPixels;
    this.matchedPixels += result.matchedPixels;
    for (const cause of DROP_CAUSES) this.droppedPixels[cause] += result.droppedPixels[cause];
    this.askedPixels += askedPixels;
    this.rate.add(performance.now());
    const frame: ComputedFrame = {
      slot: engine.slots[index] as EngineSlot,
      result,
      encodings,
      width,
      height,
      clock: pair.clock,
      timestampPoint: pair.timestampPoint,
      leftTimestampNs: pair.left.timestampNs,
      rightTimestampNs: pair.right.timestampNs,
      leftSequence: pair.left.sequence,
      rightSequence: pair.right.sequence,
      other: pair.other && { timestampNs: pair.other.timestampNs, sequence: pair.other.sequence },
      images: pair,
      arrivedNs,
    };
    this.#options.onFrame?.(frame);
    if (frame.energy?.available) this.energy.add(frame.energy.joules);
    this.#offering = true;
    for (const sink of sinks) {
      this.#slots.hold(index);
      sink(frame, () => this.#slots.release(index));
    }
    this.#offering = false;
    // The cameras get their buffers back before anything else is computed.
    frame.images = undefined;
    pair.release();
    this.latency.add(ageMs(frame));
    if (this.#options.frames !== undefined && this.frames >= this.#options.frames) this.#end();
    this.#slots.release(index);
    this.#advance();
  }

  #end(): void {
    if (this.#ending) return;
    this.#ending = true;
    if (this.#options.frames !== undefined && this.frames >= this.#options.frames) {
      this.#newest?.release();
      this.#newest = undefined;
    }
    this.#drainTimer = setTimeout(() => this.#giveUpWaiting(), DRAIN_MS);
    this.#advance();
  }

  /** Drops the waiting pairs: a sink holds all slots. */
  #giveUpWaiting(): void {
    if (this.#computing === 0) this.#dropWaiting("notSent");
    this.#drained = true;
    this.#advance();
  }

  #finish(): void {
    clearTimeout(this.#drainTimer);
    const settle = this.#settle;
    this.#settle = undefined;
    if (settle === undefined) return;
    this.#options.source.stop().then(settle.resolve, settle.reject);
  }

  #fail(error: Error): void {
    this.#ending = true;
    clearTimeout(this.#drainTimer);
    this.#dropWaiting("notSent");
    const settle = this.#settle;
    this.#settle = undefined;
    this.#options.source.stop().then(
      () => settle?.reject(error),
      () => settle?.reject(error),
    );
  }
}
