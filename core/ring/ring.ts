// SPDX-License-Identifier: Apache-2.0
// Types the ring of frames in shared memory, as the native addon exports it: its writer and its reader.
import { loadAddon } from "../addon.js";

export interface RingWriter {
  /** Frames so far. */
  readonly published: number;
  /** Size of the largest body. */
  readonly bodyBytes: number;
  /**
   * Copies one message into the oldest slot and wakes the readers; never waits for them.
   * @param counts the body is disparityQ4, and is written as counts: disparityQ4 + 1, 0 = invalid
   * @throws DepthwattError ENGINE_PARAMETER for a header or body that is too long, ENGINE_FAILED after close()
   */
  publish(header: Uint8Array, body: ArrayBufferView, counts?: boolean): void;
  /**
   * Sends `reply` over a connected Unix socket, with a read-only descriptor of the memory.
   * @throws DepthwattError ENGINE_PARAMETER for a descriptor that is no such socket
   */
  offer(socket: number, reply: Uint8Array): void;
  /** Marks the ring as ended and wakes the readers, which keep the memory. */
  close(): void;
}

export interface RingFrame {
  /** Counts the frames of the ring from 1. */
  number: number;
  /** Where the message begins in `memory`, and its bytes. */
  offset: number;
  bytes: number;
  /** Frames that were overwritten before they were read. */
  missed: number;
  /** CLOCK_MONOTONIC when the frame was complete. */
  publishedNs: bigint;
}

export interface RingReader {
  /** The ring; undefined until the first frame. It is mapped read-only: writing to it ends the process. */
  readonly memory: ArrayBuffer | undefined;
  /** Returns the newest frame if it was not returned before. */
  newest(): RingFrame | undefined;
  /** Returns whether frame `number` has not been overwritten. */
  isIntact(number: number): boolean;
  close(): void;
}

export interface RingExports {
  /** @throws DepthwattError MEMORY_EXHAUSTED, ENGINE_PARAMETER */
  RingWriter: new (options: {
    slots: number;
    bodyBytes: number;
  }) => RingWriter;
  /**
   * Connects to a publisher, whose reply comes with its next frame.
   * @param stream its code in the header of a frame
   * @param timeoutMs longest time to wait for the reply
   * @param onFrame called when newest() has a frame; with a reason when no frame follows
   * @throws DepthwattError DEVICE_UNAVAILABLE with the publisher's reason
   */
  RingReader: new (
    path: string,
    stream: number,
    timeoutMs: number,
    onFrame: (ended: string | undefined) => void,
  ) => RingReader;
}

/** @throws DepthwattError ADDON_MISSING */
export const ringAddon = (): RingExports => loadAddon<RingExports>();
