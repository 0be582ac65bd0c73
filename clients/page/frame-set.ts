// SPDX-License-Identifier: Apache-2.0
// The decoded images of one frame that the worker passes to the page.
import type { Counts, FrameHeader, PictureStream } from "depthwatt-consumer/frames";
import type { FromPage, ToPage } from "../../edge/outputs/viewer/protocol.js";

export interface Picture {
  header: FrameHeader;
  /** As they travelled: [height][width] of u8, u16 or f32. */
  counts: Counts;
}

export interface FrameSet {
  device: string;
  pictures: Partial<Record<PictureStream, Picture>>;
  /** Streams that came damaged, with the sentence that says how. */
  damaged: Partial<Record<PictureStream, string>>;
  /** Frames that the program finished since the set before and that this page had no room for. */
  skipped: number;
  bytes: number;
}

export type LinkState = "connecting" | "open" | "lost";

export type ToWorker =
  | { type: "connect"; url: string }
  | { type: "login"; password: string }
  | { type: "watch"; watch: Extract<FromPage, { type: "watch" }> }
  | { type: "say"; message: FromPage }
  /** The page has shown a set. */
  | { type: "shown" };

export type FromWorker =
  | { type: "link"; state: LinkState }
  | { type: "said"; message: ToPage }
  | { type: "frames"; set: FrameSet };
