// SPDX-License-Identifier: Apache-2.0
// A source that a test plays by hand and an engine that finishes frames when the test reports it.
import type { FramePair, PairSource, SourceCounters, SourceEvents } from "../../camera/index.js";
import { type EngineSlot, type FrameResult, type NativeEngine, STAGE_NAMES } from "../../cuda/index.js";

export class HandSource implements PairSource {
  readonly description = {
    title: "by hand",
    width: 4,
    height: 2,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: 4,
    rightStrideBytes: 4,
    rateHz: undefined,
    clock: "monotonic",
  } as const;
  events: SourceEvents | undefined;
  /** Sequence numbers of the pairs that came back, in order. */
  readonly released: number[] = [];
  stopped = false;
  #sequence = 0;

  start(events: SourceEvents): void {
    this.events = events;
  }

  async stop(): Promise<void> {
    this.stopped = true;
  }

  counters(): SourceCounters {
    return {
      pairs: this.#sequence,
      dropsLeft: {},
      dropsRight: {},
      skewMsMean: undefined,
      skewMsP99: undefined,
      driftPpm: undefined,
    };
  }

  /** Delivers the next pair, captured now unless another time is given, and returns its sequence number. */
  deliver(timestampNs = process.hrtime.bigint()): number {
    const sequence = this.#sequence++;
    const side = {
      data: new Uint8Array(8),
      width: 4,
      height: 2,
      strideBytes: 4,
      format: "GREY",
      timestampNs,
      sequence,
    } as const;
    let releases = 0;
    const pair: FramePair = {
      left: side,
      right: { ...side },
      clock: "monotonic",
      release: () => {
        if (++releases > 1) throw new Error(`pair ${sequence} was released twice`);
        this.released.push(sequence);
      },
    };
    this.events?.onPair(pair);
    return sequence;
  }
}

/** The watch of an engine without a watch. */
export const UNWATCHED = {
  verticalOffset: {
    watched: false,
    known: false,
    atLimit: false,
    measuredRows: 0,
    appliedRows: 0,
    measuredRowsOverWidth: 0,
    appliedRowsOverWidth: 0,
  },
  noise: { watched: false, known: false, sigma: 0, smoothed: false, range: 0 },
  memory: { images: "in-place", results: "in-place" },
  search: { chosen: "full", reason: "a test" },
} as const;

export class HandEngine implements NativeEngine {
  readonly info = {
    backend: "cpu",
    backendReason: "a test",
    instructionSet: "scalar",
    threads: 1,
    workspaceBytes: 0,
    framesInFlight: 1,
    ...UNWATCHED,
  } as const;
  readonly slots: readonly EngineSlot[];
  readonly compute = (): never => {
    throw new Error("frames are submitted");
  };
  framesInFlight = 1;
  readonly stageMilliseconds = new Float64Array(STAGE_NAMES.length).fill(1);
  /** Slots submitted and not finished, oldest first. */
  readonly pending: { slot: number; onDone: (error: Error | null, result: FrameResult) => void }[] = [];
  /** The argument `follows` of each submitted frame. */
  readonly follows: (boolean | undefined)[] = [];
  submitted = 0;

  constructor(slots: number) {
    this.slots = Array.from({ length: slots }, () => ({
      left: new Uint8Array(8),
      leftRgb: new Uint8Array(0),
      right: new Uint8Array(0),
      voxels: new Int16Array(0),
      registered: new Uint16Array(0),
      registeredConfidence: new Uint8Array(0),
      registeredImage: new Uint8Array(0),
      floor: new Float64Array(0),
      grid: new Uint8Array(0),
      disparityQ4: new Int16Array(8),
      confidence: new Uint8Array(8),
      depthMillimetres: new Uint16Array(8),
      encodedDepth: new Uint8Array(8),
      encodedDisparity: new Uint8Array(8),
      points: new Uint8Array(8),
    }));
  }

  submit(
    slot: number,
    _left: Uint8Array,
    _right: Uint8Array,
    onDone: (error: Error | null, result: FrameResult) => void,
    follows?: boolean,
  ): void {
    if (this.pending.some((job) => job.slot === slot)) throw new Error(`slot ${slot} was submitted twice`);
    this.submitted += 1;
    this.pending.push({ slot, onDone });
    this.follows.push(follows);
  }

  /** Finishes the oldest frame. */
  finish(error: Error | null = null): void {
    const job = this.pending.shift();
    if (job === undefined) throw new Error("no frame is being computed");
    job.onDone(error, {
      slot: job.slot,
      encodedDepthBytes: 0,
      encodedDisparityBytes: 0,
      validPixels: 8,
      matchedPixels: 6,
      droppedPixels: { filled: 1, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    });
  }

  setRightMap(): void {}
  close(): void {}
}
