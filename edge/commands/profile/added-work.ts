// SPDX-License-Identifier: Apache-2.0
// Work next to the frames of a profile, whose energy is found by comparison: cameras that deliver, frames that are published.
import type { EngineSlot, FrameResult } from "../../../cuda/index.js";
import type { Config } from "../../config/index.js";
import type { Encodings } from "../../contracts/computed-frame.js";
import { mqtt } from "../../outputs/mqtt/open.js";
import type { ImageLayout } from "../../pipeline/engine-options.js";
import type { AddedWork } from "../../profile/types.js";
import { openSource } from "../../run/open-source.js";

/** Lends a computed frame. @param release called once, when its slot may be written again */
export type LendFrame = (slot: EngineSlot, result: FrameResult, takenNs: bigint, release: () => void) => void;

export interface OpenedWork {
  /** Pairs or frames since it was opened. */
  readonly count: number;
  /** Absent: it needs no frames. */
  lend?: LendFrame;
  /** Why it ended early; undefined: it has not. */
  readonly failure: Error | undefined;
  close(): Promise<void>;
}

/** The frames that are published. */
export interface PublishedFrames extends Pick<ImageLayout, "width" | "height"> {
  encodings: Encodings;
  /** How captured images are in memory. */
  input: ImageLayout;
}

/**
 * Opens the work of a point.
 * @param cameras the configuration whose source captures; publishing has the default settings and the embedded broker
 * @throws DepthwattError of the source or of the broker
 */
export function openAddedWork(
  work: AddedWork,
  { defaults, cameras, frames }: { defaults: Config; cameras: Config; frames: PublishedFrames },
): Promise<OpenedWork> {
  return work === "capture" ? openCapture(cameras) : openPublish(defaults, frames);
}

async function openCapture(cameras: Config): Promise<OpenedWork> {
  const { source } = await openSource(cameras);
  let count = 0;
  let failure: Error | undefined;
  source.start({
    onPair: (pair) => {
      count++;
      pair.release();
    },
    onDegraded: () => {},
    onEnd: () => {
      failure ??= new Error(`the source ${cameras.source.kind} ended after ${count} pairs`);
    },
    onError: (error) => {
      failure ??= error;
    },
  });
  return {
    get count() {
      return count;
    },
    get failure() {
      return failure;
    },
    close: () => source.stop(),
  };
}

async function openPublish(
  { outputs, base, device, match }: Config,
  { encodings, ...images }: PublishedFrames,
): Promise<OpenedWork> {
  const output = await mqtt.open({
    settings: outputs.mqtt,
    base,
    device,
    ...images,
    hasDepth: true,
    rig: undefined,
    rateHz: undefined,
    searched: () => ({ min: match.minDisparity, max: match.minDisparity + match.numDisparities - 1 }),
    notice: () => {},
    http: () => Promise.reject(new Error("a profile serves no pages")),
  });
  await output.ready;
  let [count, number] = [0, 0];
  return {
    get count() {
      return count;
    },
    get failure() {
      return output.failure;
    },
    lend: (slot, result, takenNs, release) => {
      number++;
      const frame = {
        slot,
        result,
        encodings,
        width: images.width,
        height: images.height,
        clock: "monotonic" as const,
        timestampPoint: undefined,
        leftTimestampNs: takenNs,
        rightTimestampNs: takenNs,
        leftSequence: number,
        rightSequence: number,
        arrivedNs: takenNs,
      };
      let isSent = false;
      let isReleased = false;
      const sent = () => {
        if (!isSent) count++;
        isSent = true;
      };
      output.frame({
        frame,
        number,
        sent,
        release: () => {
          if (!isReleased) release();
          isReleased = true;
        },
      });
    },
    close: () => output.close(),
  };
}
