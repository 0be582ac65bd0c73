// SPDX-License-Identifier: Apache-2.0
// The sink of a published stream, and what every sink is given.
import type { Reduction, StreamName } from "../../../core/frame/frame-format.js";
import { bytesBeforeBody } from "../../../core/frame/payload.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type { FrameDescription, Publisher } from "./index.js";
import type { RealtimeOffset } from "./realtime-offset.js";

/** Takes one frame of one stream; `done` is called once, with whether it was sent. */
export type StreamSink = (frame: ComputedFrame, done: (sent: boolean) => void) => void;

export interface StreamOptions {
  publisher: Publisher;
  offset: RealtimeOffset;
  onDropped: (cause: string) => void;
  /** A frame goes out with fewer pixels than were computed, or with larger voxels. */
  onReduced: (stream: StreamName, reduction: Reduction) => void;
  /** Colours of depth in another camera's image, in millimetres; the next call overwrites them. */
  colours: (millimetres: Uint16Array) => Uint8Array;
}

/** Size of a message whose body has so many bytes. */
export const messageBytes = (description: FrameDescription, bodyBytes: number): number =>
  bytesBeforeBody(description) + bodyBytes;
