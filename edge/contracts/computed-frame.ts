// SPDX-License-Identifier: Apache-2.0
// A computed frame as the pipeline hands it on.
import type { FramePair, RawImage } from "../../camera/index.js";
import type { FrameEnergy } from "../../core/frame/frame-energy.js";
import type { EngineOptions, EngineSlot, FrameResult } from "../../cuda/index.js";
import type { Unavailable } from "./availability.js";

/** Encodings that the engine writes into encodedDepth, encodedDisparity, leftRgb, right, points, voxels and registered; absent: nothing. */
export type Encodings = Pick<
  EngineOptions,
  "encodeDepth" | "encodeDisparity" | "leftRgb" | "rightGrey" | "points" | "voxels" | "registration"
>;

/** Encodings that an output requires; the form of points and voxels and the camera of registration are settings of the run. */
export type RequestedEncodings = Omit<Encodings, "points" | "voxels" | "registration"> & {
  points?: true;
  voxels?: true;
  registration?: true;
};

/** A computed frame; its slot stays as it is until it is released. */
export interface ComputedFrame {
  slot: EngineSlot;
  result: FrameResult;
  /** The encodings in the slot's bodies, and whether its left image has colours. */
  encodings: Encodings;
  width: number;
  height: number;
  clock: FramePair["clock"];
  timestampPoint: FramePair["timestampPoint"];
  leftTimestampNs: bigint;
  rightTimestampNs: bigint;
  leftSequence: number;
  rightSequence: number;
  /** The image of another camera in slot.registeredImage; absent: this frame has none. */
  other?: Pick<RawImage, "timestampNs" | "sequence"> | undefined;
  /** The captured pair, lent: only while the frame is being handed to the sinks; absent afterwards. */
  images?: Pick<FramePair, "left" | "right"> | undefined;
  /** CLOCK_MONOTONIC when the pair reached the pipeline, nanoseconds. */
  arrivedNs: bigint;
  /** The energy that the frame carries to its readers; set before the outputs get the frame. */
  energy?: FrameEnergy | Unavailable | undefined;
}

/** Takes computed frames. `release` must be called exactly once, now or later. */
export type FrameSink = (frame: ComputedFrame, release: () => void) => void;

/** Milliseconds since `frame` was captured where its clock is ours, since it arrived for recordings. */
export function ageMs(frame: ComputedFrame): number {
  const since = frame.clock === "monotonic" ? frame.leftTimestampNs : frame.arrivedNs;
  return Number(process.hrtime.bigint() - since) / 1e6;
}
