// SPDX-License-Identifier: Apache-2.0
// Frames of a depthwatt on this machine, read from its shared memory (outputs.sharedMemory) without a copy.
import { type Element, STREAM_CODES, type StreamName } from "../../core/frame/frame-format.js";
import { type FrameHeader, parseFrame } from "../../core/frame/payload.js";
import { DepthwattError, type RingFrame, type RingReader, ringAddon } from "../../core/index.js";

export interface SharedFrame {
  header: FrameHeader;
  /**
   * The values as the header's element describes them, in memory that the publisher writes again. Never write to it: the memory is
   * read-only, and the process would end.
   */
  values: Uint8Array | Uint16Array | Int16Array | Float32Array;
  /** Frames that were overwritten before they were read. */
  missed: number;
  /** CLOCK_MONOTONIC when the frame was complete, nanoseconds. */
  publishedNs: bigint;
  /** Returns whether `values` are still those of this frame. Call it after their last use. */
  isIntact(): boolean;
}

export interface SharedFrameOptions {
  /** Longest time to wait for the first frame, milliseconds; default 5000. */
  timeoutMs?: number;
}

const VALUES = { u8: Uint8Array, rgb8: Uint8Array, u16: Uint16Array, i16: Int16Array, f32: Float32Array };

/**
 * Iterates the newest frame each time; leaving the loop closes the connection. The iteration ends when the publisher ends or its
 * frames get another size: read again then.
 * @param path outputs.sharedMemory.path of the publisher
 * @throws DepthwattError DEVICE_UNAVAILABLE with the reason if there is no publisher or it does not offer the stream
 */
export async function* readSharedFrames(
  path: string,
  stream: StreamName,
  { timeoutMs = 5000 }: SharedFrameOptions = {},
): AsyncGenerator<SharedFrame, void, undefined> {
  let wake = () => {};
  let ended: string | undefined;
  const reader = openReader(path, stream, timeoutMs, (reason) => {
    ended ??= reason;
    wake();
  });
  try {
    for (let any = false; ; ) {
      const frame = reader.newest();
      if (frame !== undefined) {
        any = true;
        const shared = sharedFrame(reader, frame);
        if (shared !== undefined) yield shared;
      } else if (ended === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if (any) return;
      else
        throw new DepthwattError("DEVICE_UNAVAILABLE", `no frames of ${stream} from ${path}: ${ended}`, {
          hint,
        });
    }
  } finally {
    reader.close();
  }
}

const hint = "Check outputs.sharedMemory.path and .group of the publisher, and that it runs.";

function openReader(
  path: string,
  stream: StreamName,
  timeoutMs: number,
  onFrame: (ended: string | undefined) => void,
): RingReader {
  try {
    return new (ringAddon().RingReader)(path, STREAM_CODES[stream], timeoutMs, onFrame);
  } catch (cause) {
    throw new DepthwattError("DEVICE_UNAVAILABLE", (cause as Error).message, { cause, hint });
  }
}

/** Returns undefined if the frame was overwritten meanwhile. */
function sharedFrame(reader: RingReader, frame: RingFrame): SharedFrame | undefined {
  const { number, offset, bytes, missed, publishedNs } = frame;
  const memory = reader.memory!;
  try {
    const { header } = parseFrame(new Uint8Array(memory, offset, bytes), "sequence");
    const values = viewOf(header.element, memory, offset + header.headerBytes, header.bodyBytes);
    return { header, values, missed, publishedNs, isIntact: () => reader.isIntact(number) };
  } catch (error) {
    if (reader.isIntact(number)) throw error;
    return undefined;
  }
}

function viewOf(element: Element, memory: ArrayBuffer, offset: number, bytes: number): SharedFrame["values"] {
  const Values = VALUES[element];
  return new Values(memory, offset, bytes / Values.BYTES_PER_ELEMENT);
}
