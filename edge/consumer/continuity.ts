// SPDX-License-Identifier: Apache-2.0
// Finds lost frames: frame numbers that are missing, per device and stream, and restarts that only look like losses.
import type { FrameHeader } from "../frame/payload.js";

export interface Gap {
  /** Frames that the publisher numbered and that did not come. */
  missing: number;
}

export class Continuity {
  private last: { runId: number; frameNumber: number } | undefined;

  /** Frames lost between the one before and this one; 0 for the first of a run, or one that comes twice or late. */
  missingBefore({ runId, frameNumber }: FrameHeader): number {
    const before = this.last;
    if (before !== undefined && before.runId === runId) {
      // Modulo 2^32: a step of more than half the range is a step back.
      const step = (frameNumber - before.frameNumber) >>> 0;
      if (step === 0 || step > 2 ** 31) return 0;
      this.last = { runId, frameNumber };
      return step - 1;
    }
    this.last = { runId, frameNumber };
    return 0;
  }
}

/** Streams remembered; anybody may publish under new names for ever, and a name costs about 200 bytes. */
const MOST_STREAMS = 4096;

/** One Continuity per stream; where there are too many, the one that was silent longest is forgotten and begins anew. */
export class ContinuityByStream {
  private readonly known = new Map<string, Continuity>();

  get size(): number {
    return this.known.size;
  }

  of(stream: string): Continuity {
    const continuity = this.known.get(stream) ?? new Continuity();
    // A map keeps the order in which its keys were set: taken out and set again, this one is the youngest.
    this.known.delete(stream);
    this.known.set(stream, continuity);
    if (this.known.size > MOST_STREAMS) this.known.delete(this.known.keys().next().value as string);
    return continuity;
  }
}
