// SPDX-License-Identifier: Apache-2.0
// A source of camera pairs that is watched: records what it delivers. The cameras themselves are v4l2-camera's driver in memory.
import type { FramePair, SourceEvents } from "../../camera/index.js";
import { readCounter } from "../../camera/v4l2/test/fake-video/helpers.js";

export {
  clocks,
  counted,
  now,
  play,
  readCounter,
  rest,
  until,
  video,
} from "../../camera/v4l2/test/fake-video/helpers.js";

export interface Seen {
  left: number;
  right: number;
  leftNs: bigint;
  rightNs: bigint;
  leftSequence: number;
}

/** Records pairs and gives each back at once, or keeps it where asked to. */
export function recording(keep = false) {
  const seen: Seen[] = [];
  const held: FramePair[] = [];
  const degraded: (string | undefined)[] = [];
  const warnings: string[] = [];
  const errors: Error[] = [];
  const events: SourceEvents = {
    onPair(pair) {
      seen.push({
        left: readCounter(pair.left.data),
        right: readCounter(pair.right.data),
        leftNs: pair.left.timestampNs,
        rightNs: pair.right.timestampNs,
        leftSequence: pair.left.sequence,
      });
      if (keep) held.push(pair);
      else pair.release();
    },
    onDegraded: (reason) => degraded.push(reason),
    onWarning: (message) => warnings.push(message),
    onEnd: () => {},
    onError: (error) => errors.push(error),
  };
  return { seen, held, degraded, warnings, errors, events };
}
