// SPDX-License-Identifier: Apache-2.0
// Finds lost frames: frame numbers that are missing, per device, stream and run; restarts that only look like losses; and two
// publishers that share a device name.
import type { FrameHeader } from "../../../core/frame/payload.js";

/** Runs of one stream remembered; a restart every few frames is no reason to remember more. */
const MAX_RUNS = 8;
/** A run that comes back once may be a message that was late; one that comes back twice is being published. */
const RETURNS_OF_A_PUBLISHER = 2;

interface Run {
  frameNumber: number;
  /** How often it followed a frame of another run after its first frame. */
  returns: number;
}

export class Continuity {
  readonly #runs = new Map<number, Run>();
  #newest: number | undefined;

  /** Frames lost between the one before and this one; 0 for the first of a run, or one that comes twice or late. */
  missingBefore({ runId, frameNumber }: Pick<FrameHeader, "runId" | "frameNumber">): number {
    const run = this.#runs.get(runId);
    if (run !== undefined && this.#newest !== runId) run.returns++;
    this.#newest = runId;
    // A map keeps the order in which its keys were set: the run that is silent longest is the first.
    this.#runs.delete(runId);
    this.#runs.set(runId, run ?? { frameNumber, returns: 0 });
    if (this.#runs.size > MAX_RUNS) this.#runs.delete(this.#runs.keys().next().value as number);
    if (run === undefined) return 0;
    // Modulo 2^32: a step of more than half the range is a step back.
    const step = (frameNumber - run.frameNumber) >>> 0;
    if (step === 0 || step > 2 ** 31) return 0;
    run.frameNumber = frameNumber;
    return step - 1;
  }

  /** Runs that were seen to send next to each other; empty where there is one publisher, however often it was restarted. */
  get concurrentRuns(): number[] {
    const runs = [...this.#runs].filter(([, { returns }]) => returns >= RETURNS_OF_A_PUBLISHER);
    return runs.length > 1 ? runs.map(([runId]) => runId) : [];
  }
}

/**
 * Maximum number of streams remembered; anybody may publish under new names for ever, and a name costs some hundred
 * bytes.
 */
const MAX_STREAMS = 4096;

/**
 * Keeps one Continuity per stream; if there are too many, the stream that was silent longest is dropped and restarts.
 */
export class ContinuityByStream {
  readonly #known = new Map<string, Continuity>();

  get size(): number {
    return this.#known.size;
  }

  of(stream: string): Continuity {
    const continuity = this.#known.get(stream) ?? new Continuity();
    this.#known.delete(stream);
    this.#known.set(stream, continuity);
    if (this.#known.size > MAX_STREAMS) this.#known.delete(this.#known.keys().next().value as string);
    return continuity;
  }
}
