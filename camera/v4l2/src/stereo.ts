// SPDX-License-Identifier: Apache-2.0
// Two cameras read as one: frames of the same moment, paired by time stamp.
import { CameraError } from "./errors.js";
import type { Frame } from "./frame.js";
import { Newest } from "./newest.js";
import type { Camera } from "./open-camera.js";
import { driftPpm } from "./pair/frame-period.js";
import { Pairer, pairWindowNs, type Side } from "./pair/pair.js";
import { Rephaser } from "./pair/rephase.js";
import { SkewStatistics } from "./pair/skew.js";

export interface PairOptions {
  /** Largest time between the two frames of a pair, for cameras that are triggered together; default half a frame period. */
  maxSkewMs?: number;
  /** Restart the right camera's stream at the right moment where free-running cameras expose out of step. Default false. */
  rephase?: boolean;
}

/** Two frames of one moment. */
export class FramePair {
  readonly left: Frame;
  readonly right: Frame;

  /** @internal */
  constructor(left: Frame, right: Frame) {
    this.left = left;
    this.right = right;
  }

  /** Capture time of the right frame minus the left one's, nanoseconds. */
  get skewNs(): number {
    return Number(this.right.timestampNs - this.left.timestampNs);
  }

  /** Gives both buffers back. A second call does nothing. */
  release(): void {
    this.left.release();
    this.right.release();
  }

  /** In a loop: it stays held at the next turn, until release(). @returns itself */
  keep(): this {
    this.left.keep();
    this.right.keep();
    return this;
  }

  /** @internal */
  releaseUnlessKept(): void {
    this.left.releaseUnlessKept();
    this.right.releaseUnlessKept();
  }
}

export interface PairStatistics {
  pairs: number;
  /** Pairs that a newer one took the place of before they were read. */
  replaced: number;
  /** Frames without a partner. `unmatched`: none near enough in time; `alone`: the other camera delivered nothing to pair with. */
  unpaired: Record<Side, { unmatched: number; alone: number }>;
  /** Mean and 99th percentile of the time between the two frames, milliseconds; undefined before the first pair. */
  skewMsMean: number | undefined;
  skewMsP99: number | undefined;
  /** How much longer the right camera's frame period is, parts per million; undefined while it cannot be known. */
  driftPpm: number | undefined;
  /** Times that the right camera was restarted into phase. */
  restarts: number;
}

export class CameraPair implements AsyncIterable<FramePair> {
  readonly left: Camera;
  readonly right: Camera;
  readonly #options: PairOptions;
  readonly #skew = new SkewStatistics();
  readonly #unpaired = { left: { unmatched: 0, alone: 0 }, right: { unmatched: 0, alone: 0 } };
  readonly #rephaser: Rephaser | undefined;
  #pairs = 0;
  #replaced = 0;
  #restarts = 0;

  /** @internal Use pair(). */
  constructor(left: Camera, right: Camera, options: PairOptions) {
    this.left = left;
    this.right = right;
    this.#options = options;
    this.#rephaser = options.rephase === true ? new Rephaser() : undefined;
  }

  /**
   * Reads both cameras: every pair is handed to `onPair`, which releases it sooner or later. @returns how to stop reading
   * @throws CameraError INVALID_STATE where one of them is read already or closed
   */
  start(onPair: (pair: FramePair) => void, onEnd: (error: unknown) => void = () => {}): () => void {
    return this.#read(onPair, onEnd, () => {});
  }

  #read(onPair: (pair: FramePair) => void, onEnd: (error: unknown) => void, onTurn: () => void): () => void {
    const pairer = new Pairer<Frame>(this.windowNs, {
      onPair: (left, right) => {
        const pair = new FramePair(left, right);
        this.#pairs++;
        this.#skew.add(left.timestampNs, right.timestampNs);
        this.#shiftPhase(pair);
        onPair(pair);
      },
      onUnpaired: (side, frame, cause) => {
        this.#unpaired[side][cause]++;
        frame.release();
      },
    });
    const stops: (() => void)[] = [];
    const stop = () => {
      for (const one of stops.splice(0)) one();
      pairer.clear();
    };
    try {
      for (const side of ["left", "right"] as const) {
        stops.push(
          this[side].attach({
            onFrame: (frame) => {
              pairer.windowNs = this.windowNs;
              pairer.push(side, frame);
            },
            onTurn,
            onLost: () => pairer.clear(),
            onEnd: (error) => {
              stop();
              onEnd(error);
            },
          }),
        );
      }
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  /** Iterates over the pairs. A pair is released at the next turn unless kept. Newer pairs replace unread ones. */
  [Symbol.asyncIterator](): AsyncIterableIterator<FramePair, undefined, undefined> {
    const newest = new Newest<FramePair>(
      () => this.#replaced++,
      () => stop(),
    );
    const stop = this.#read(
      (pair) => newest.put(pair),
      (error) => newest.end(error),
      () => newest.flush(),
    );
    return newest;
  }

  /** Largest time between the two frames of a pair now, nanoseconds. */
  get windowNs(): number {
    const { maxSkewMs } = this.#options;
    const strictNs = maxSkewMs === undefined ? undefined : maxSkewMs * 1e6;
    return pairWindowNs(this.left.periodNs, this.right.periodNs, strictNs);
  }

  statistics(): PairStatistics {
    return {
      pairs: this.#pairs,
      replaced: this.#replaced,
      unpaired: { left: { ...this.#unpaired.left }, right: { ...this.#unpaired.right } },
      skewMsMean: this.#skew.meanMs,
      skewMsP99: this.#skew.p99Ms,
      driftPpm: driftPpm(this.left.supervised.period, this.right.supervised.period),
      restarts: this.#restarts,
    };
  }

  #shiftPhase({ skewNs, left }: FramePair): void {
    const { supervised } = this.right;
    const periodNs = this.left.periodNs;
    if (!this.#rephaser || supervised.startLatencyNs === undefined || periodNs === undefined) return;
    const nowNs = Number(left.arrivalNs);
    const decision = this.#rephaser.add(
      skewNs,
      Number(left.timestampNs),
      nowNs,
      periodNs,
      supervised.startLatencyNs,
    );
    if (decision.kind !== "restart") return;
    this.#restarts++;
    supervised.restartAt(decision.atNs);
  }
}

/**
 * Two open cameras as one stream of pairs. It opens and closes nothing: the cameras stay the caller's.
 * @throws CameraError INVALID_ARGUMENT for one camera twice or a limit that is no positive number
 */
export function pair(left: Camera, right: Camera, options: PairOptions = {}): CameraPair {
  if (left === right) throw new CameraError("INVALID_ARGUMENT", "Expected two cameras, got one twice.");
  const { maxSkewMs } = options;
  if (maxSkewMs !== undefined && !(maxSkewMs > 0 && Number.isFinite(maxSkewMs)))
    throw new CameraError(
      "INVALID_ARGUMENT",
      `Expected more than 0 ms for maxSkewMs, got ${String(maxSkewMs)}.`,
    );
  return new CameraPair(left, right, options);
}
