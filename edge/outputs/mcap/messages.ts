// SPDX-License-Identifier: Apache-2.0
// Defines the messages between the run and the recording's thread.
import type { RecorderOptions, RecordingHead } from "./recorder.js";

/** A message inside the buffer that came with it. */
export interface PartPlace {
  channel: number;
  at: number;
  bytes: number;
  publishNs: bigint;
  sequence: number;
}

export interface RecorderThreadData {
  options: RecorderOptions;
  compression: "zstd" | "none";
  head: RecordingHead;
}

export type ToRecorder =
  | { kind: "frame"; buffer: ArrayBuffer; parts: readonly PartPlace[]; logTime: bigint }
  | {
      kind: "document";
      channel: number;
      /** Absent: only `sticky` is new. */
      text?: string | undefined;
      logTime: bigint;
      /** The message with which every later file begins on this channel. */
      sticky?: string | undefined;
    }
  /** The next file begins with it; the one before is ended. */
  | { kind: "head"; head: RecordingHead }
  | { kind: "end" }
  | { kind: "close" };

export type FromRecorder =
  | { kind: "ready" }
  /** A frame's bytes are in a chunk: its buffer can be used again. */
  | { kind: "spare"; buffer: ArrayBuffer }
  | { kind: "written"; frames: number; bytes: number }
  | { kind: "lost"; frames: number; cause: string }
  | { kind: "problem"; problem: string | undefined }
  | { kind: "file"; path: string }
  | { kind: "notice"; text: string };
