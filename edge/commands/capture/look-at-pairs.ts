// SPDX-License-Identifier: Apache-2.0
// Shows pairs of a source to a measurement, and gives each back.
import type { FramePair, PairSource } from "../../../camera/index.js";
import { note } from "../../cli/output.js";

export interface PairCount {
  frames: number;
  /** Pairs before them, while the exposure settles. */
  skip: number;
}

/** Calls `look` with the pairs that the options ask for. @throws DepthwattError of the source */
export async function lookAtPairs(
  source: Pick<PairSource, "start">,
  { frames, skip }: PairCount,
  look: (pair: FramePair) => void,
): Promise<void> {
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        if (seen >= skip && seen < skip + frames) look(pair);
        pair.release();
        if (++seen === skip + frames) resolve();
      },
      onDegraded: (reason) => reason !== undefined && note(`note: ${reason}`),
      onWarning: (message) => note(`note: ${message}`),
      onEnd: resolve,
      onError: reject,
    });
  });
}
