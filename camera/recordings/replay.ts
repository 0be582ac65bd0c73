// SPDX-License-Identifier: Apache-2.0
// Plays a recording: images on disk become pairs, at a rate or as fast as the consumer gives pairs back. Files are
// decoded a few pairs ahead on libvips' threads.
import { SkewStatistics } from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { PairSource, SourceCounters, SourceDescription, SourceEvents } from "../frame.js";
import type { EnginePicture } from "./images/index.js";
import type { DecodedStep, StepDecoder } from "./replay-decode.js";
import type { ReplayEntry, TimestampSource } from "./replay-listing.js";
import type { ReplayStep } from "./replay-plan.js";

export interface ReplayOptions {
  /** Folder, name with `*`, list file or image of each camera; or `sideBySide` alone, left image in the left half. */
  left?: string;
  right?: string;
  sideBySide?: string;
  /** Pairs per second, or "max". The next pair always waits until fewer than `maxHeldPairs` are held. */
  rateHz: number | "max";
  /** Default auto. Counted time stamps are 1/rateHz apart, 1/30 s at "max". */
  timestamps?: TimestampSource;
  /** Starts again at the end; time stamps and sequence numbers continue rising. Default false. */
  loop?: boolean;
  /** Pictures with colours are played as RGB8; default false: all are grey. */
  colours?: boolean;
  /**
   * Action for a missing, damaged or wrongly sized file. Default skip: each is counted, and onDegraded names it once;
   * of a series only the first ten.
   */
  onBadFile?: "skip" | "stop";
  /** Ends after this many pairs. */
  frames?: number;
  /** Pairs the consumer may hold at once, 1 and more; default 2 at "max", 4 at a rate. */
  maxHeldPairs?: number;
  /** Pairs decoded ahead, default 3. */
  prefetchPairs?: number;
  /** Decoded pictures kept for the next lap of a loop, bytes; default 256 MiB. */
  rememberBytes?: number;
}

/** A folder that went away would else fill the log with each of its files. */
const MAX_NAMED_IN_A_ROW = 10;

/** No spread into Math.max: a recording of an hour has more images than a call may have arguments. */
function minMax<T extends bigint | number>(values: readonly T[]): [min: T, max: T] {
  let min = values[0]!;
  let max = min;
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return [min, max];
}

export class ReplaySource implements PairSource {
  readonly description: SourceDescription;
  /** Pairs in one pass over the recording. */
  readonly pairsPerLap: number;
  readonly #options: ReplayOptions;
  readonly #decoder: StepDecoder;
  readonly #maxHeldPairs: number;
  readonly #lapNs: bigint;
  readonly #lapSequence: number;
  readonly #skew = new SkewStatistics();
  readonly #dropsLeft: Record<string, number> = {};
  readonly #dropsRight: Record<string, number> = {};
  #pairs = 0;
  #heldPairs = 0;
  #stopped = false;
  #started = false;
  #degraded = false;
  /** Steps whose damage has been seen. */
  readonly #reported = new Set<number>();
  #badInARow = 0;
  /** Wakes the player early: a pair came back, or stop. */
  #wakePlayer = () => {};
  #stopWaiters: (() => void)[] = [];

  /** Use openReplaySource (replay-open.ts). */
  constructor(options: ReplayOptions, decoder: StepDecoder, title: string, periodNs: bigint) {
    const shape = decoder.shape!;
    const { rateHz } = options;
    this.#options = options;
    this.#decoder = decoder;
    this.#maxHeldPairs = options.maxHeldPairs ?? 2;
    this.pairsPerLap = decoder.steps.filter((step) => step.left && step.right).length;
    const entries = decoder.steps.flatMap((step) =>
      [step.left, step.right].filter((one) => one !== undefined),
    );
    const [firstNs, lastNs] = minMax(entries.map((entry) => entry.timestampNs));
    this.#lapNs = lastNs - firstNs + periodNs;
    const [firstSequence, lastSequence] = minMax(entries.map((entry) => entry.sequence));
    this.#lapSequence = lastSequence - firstSequence + 1;
    const bytes = (format: string) => shape.width * (format === "RGB8" ? 3 : format === "Y16" ? 2 : 1);
    this.description = {
      title: `${title}, ${this.pairsPerLap} pairs ${shape.width}x${shape.height}, ${rateHz === "max" ? "as fast as they are taken" : `${rateHz} Hz`}${options.loop ? ", looped" : ""}`,
      ...shape,
      leftStrideBytes: bytes(shape.leftFormat),
      rightStrideBytes: bytes(shape.rightFormat),
      rateHz: rateHz === "max" ? undefined : rateHz,
      clock: "file",
    };
  }

  counters(): SourceCounters {
    return {
      pairs: this.#pairs,
      dropsLeft: { ...this.#dropsLeft },
      dropsRight: { ...this.#dropsRight },
      skewMsMean: this.#skew.meanMs,
      skewMsP99: this.#skew.p99Ms,
      driftPpm: undefined,
    };
  }

  start(events: SourceEvents): void {
    if (this.#started) throw new DepthwattError("INTERNAL", "a replay source was started twice");
    this.#started = true;
    this.#play(events).then(
      () => !this.#stopped && events.onEnd(),
      (error: Error) => events.onError(error),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakePlayer();
    if (this.#heldPairs > 0) await new Promise<void>((resolve) => this.#stopWaiters.push(resolve));
  }

  async #play(events: SourceEvents): Promise<void> {
    const { steps } = this.#decoder;
    const { loop, rateHz, onBadFile } = this.#options;
    const limit = this.#options.frames ?? Number.POSITIVE_INFINITY;
    const ahead: Promise<DecodedStep>[] = [];
    let asked = 0;
    let readable = 0;
    let dueMs = performance.now();
    for (let at = 0; !this.#stopped && this.#pairs < limit; at++) {
      if (at > 0 && at % steps.length === 0) {
        if (!loop) break;
        if (readable === 0) throw this.#nothingReadable();
        readable = 0;
      }
      const end = loop ? Number.POSITIVE_INFINITY : steps.length;
      while (asked < end && asked <= at + (this.#options.prefetchPairs ?? 3)) {
        ahead.push(this.#decoder.decode(asked++ % steps.length));
      }
      const decoded = await ahead.shift()!;
      if (!("left" in decoded)) {
        this.#drop(decoded.dropLeft, decoded.dropRight);
        if (decoded.error && onBadFile === "stop") throw decoded.error;
        if (decoded.error) this.#reportOnce(events, at % steps.length, decoded.error);
        continue;
      }
      readable++;
      this.#badInARow = 0;
      // One turn of the event loop per pair: a consumer that gives pairs back at once must not starve the others.
      if (rateHz === "max") await new Promise((resolve) => setImmediate(resolve));
      else while (performance.now() < dueMs && !this.#stopped) await this.#rest(dueMs - performance.now());
      // A recording can wait: a slow engine slows it down and loses no pair.
      while (this.#heldPairs >= this.#maxHeldPairs && !this.#stopped) await this.#rest(undefined);
      if (rateHz !== "max") dueMs = Math.max(dueMs + 1000 / rateHz, performance.now());
      if (this.#stopped) break;
      this.#setDegraded(events, undefined);
      this.#deliver(
        events,
        decoded.left,
        decoded.right,
        steps[at % steps.length]!,
        Math.floor(at / steps.length),
      );
    }
  }

  #deliver(
    events: SourceEvents,
    left: EnginePicture,
    right: EnginePicture,
    step: ReplayStep,
    lap: number,
  ): void {
    const image = ({ data, width, height, format }: EnginePicture, entry: ReplayEntry) => ({
      data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      width,
      height,
      format,
      strideBytes: data.byteLength / height,
      timestampNs: entry.timestampNs + BigInt(lap) * this.#lapNs,
      sequence: entry.sequence + lap * this.#lapSequence,
    });
    this.#skew.add(step.left!.timestampNs, step.right!.timestampNs);
    this.#pairs++;
    this.#heldPairs++;
    let released = false;
    events.onPair({
      left: image(left, step.left!),
      right: image(right, step.right!),
      clock: "file",
      release: () => {
        if (released) throw new DepthwattError("INTERNAL", "a replayed pair was released twice");
        released = true;
        this.#heldPairs--;
        if (this.#heldPairs === 0 && this.#stopped) for (const resolve of this.#stopWaiters) resolve();
        else this.#wakePlayer();
      },
    });
  }

  #drop(left: string | undefined, right: string | undefined): void {
    if (left) this.#dropsLeft[left] = (this.#dropsLeft[left] ?? 0) + 1;
    if (right) this.#dropsRight[right] = (this.#dropsRight[right] ?? 0) + 1;
  }

  #setDegraded(events: SourceEvents, reason: string | undefined): void {
    if (reason === undefined && !this.#degraded) return;
    this.#degraded = reason !== undefined;
    events.onDegraded(reason);
  }

  /** Names each bad file once, however often it is looped, and of a folder that went away the first few. */
  #reportOnce(events: SourceEvents, step: number, error: Error): void {
    if (this.#reported.has(step)) return;
    this.#reported.add(step);
    this.#badInARow++;
    if (this.#badInARow > MAX_NAMED_IN_A_ROW) return;
    const last = this.#badInARow === MAX_NAMED_IN_A_ROW;
    this.#setDegraded(events, `${error.message}${last ? "; more of them in a row are only counted" : ""}`);
  }

  #nothingReadable(): Error {
    const { title } = this.description;
    return new DepthwattError("SOURCE_EMPTY", `${title}: expected readable pairs, found none in a whole lap`);
  }

  /** Rests until a pair comes back, until stop, or for at most `ms`. */
  #rest(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wakePlayer = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
