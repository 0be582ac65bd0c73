// SPDX-License-Identifier: Apache-2.0
// Finds lost frames: frame numbers that are missing, per device and stream, and restarts that only look like losses.
import type { FrameHeader } from "../publish/payload.js";

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
