// SPDX-License-Identifier: Apache-2.0
// Turns computed frames into messages for pages. Frames are copied, and only if a page shows them: a page may stop
// reading at any time, and must not hold the engine's memory meanwhile. The memory of messages is used again.
import { randomInt } from "node:crypto";
import { localClockDomain } from "../../../core/frame/clock-domain.js";
import {
  type Element,
  type Encoding,
  FRAME_HEADER_BYTES,
  type PictureStream,
} from "../../../core/frame/frame-format.js";
import { writeFrame } from "../../../core/frame/payload.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";

const INVALID_DISPARITY_Q4 = -32_768;
/** Two sets of four streams on their way to a page, and as many to a second one. */
const MAX_SPARE = 16;

interface Body {
  encoding: Encoding;
  element: Element;
  bytes: number;
}

export class FrameMessages {
  readonly #runId = randomInt(1, 2 ** 32);
  readonly #clockDomain = localClockDomain();
  readonly #offset = new RealtimeOffset();
  #spare: Uint8Array<ArrayBuffer>[] = [];
  #capacity = 0;

  /** One message a stream that the frame has. `release` gives their memory back. */
  of(
    frame: ComputedFrame,
    streams: ReadonlySet<PictureStream>,
    frameNumber: number,
    hasDepth: boolean,
  ): { messages: Map<PictureStream, Uint8Array>; release: () => void } {
    const capacity = FRAME_HEADER_BYTES + 2 * frame.width * frame.height;
    if (capacity !== this.#capacity) this.#spare = [];
    this.#capacity = capacity;
    const taken: Uint8Array<ArrayBuffer>[] = [];
    const messages = new Map<PictureStream, Uint8Array>();
    for (const stream of streams) {
      if (stream === "depth" && !hasDepth) continue;
      const buffer = this.#spare.pop() ?? new Uint8Array(capacity);
      taken.push(buffer);
      const { encoding, element, bytes } = writeBody(stream, frame, buffer);
      const { width, height, clock, timestampPoint, leftTimestampNs, rightTimestampNs } = frame;
      const { leftSequence, rightSequence } = frame;
      const description = {
        stream,
        encoding,
        element,
        width,
        height,
        clock,
        timestampPoint,
        leftTimestampNs,
        rightTimestampNs,
        leftSequence,
        rightSequence,
        realtimeOffsetNs: this.#offset.of(clock),
      };
      const identity = { frameNumber, runId: this.#runId, clockDomain: this.#clockDomain };
      messages.set(stream, writeFrame(buffer, FRAME_HEADER_BYTES, bytes, description, identity));
    }
    const release = () => {
      if (capacity !== this.#capacity) return;
      for (const buffer of taken) if (this.#spare.length < MAX_SPARE) this.#spare.push(buffer);
    };
    return { messages, release };
  }
}

/** Writes the body behind the header's place; RVL where the engine has it and it is the shorter one. */
function writeBody(stream: PictureStream, frame: ComputedFrame, buffer: Uint8Array<ArrayBuffer>): Body {
  const { slot, result, encodings } = frame;
  const maxBytes = buffer.length - FRAME_HEADER_BYTES;
  const packed = (whole: Uint8Array, bytes: number): Body => {
    // The engine's bodies stand behind a headroom of the same memory.
    buffer.set(
      new Uint8Array(whole.buffer as ArrayBuffer, ENCODED_HEADROOM_BYTES, bytes),
      FRAME_HEADER_BYTES,
    );
    return { encoding: "rvl", element: "u16", bytes };
  };
  const raw = (values: Uint8Array | Uint16Array, element: Element): Body => {
    buffer.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), FRAME_HEADER_BYTES);
    return { encoding: "raw", element, bytes: values.byteLength };
  };
  switch (stream) {
    case "depth":
      if (encodings.encodeDepth === "rvl" && result.encodedDepthBytes <= maxBytes)
        return packed(slot.encodedDepth, result.encodedDepthBytes);
      return raw(slot.depthMillimetres, "u16");
    case "disparity": {
      if (encodings.encodeDisparity === "rvl" && result.encodedDisparityBytes <= maxBytes)
        return packed(slot.encodedDisparity, result.encodedDisparityBytes);
      const { disparityQ4 } = slot;
      const counts = new Uint16Array(buffer.buffer, FRAME_HEADER_BYTES, disparityQ4.length);
      for (let i = 0; i < counts.length; i++) {
        const value = disparityQ4[i]!;
        counts[i] = value === INVALID_DISPARITY_Q4 ? 0 : value + 1;
      }
      return { encoding: "raw", element: "u16", bytes: counts.byteLength };
    }
    case "confidence":
      return raw(slot.confidence, "u8");
    case "left":
      return raw(slot.left, "u8");
  }
}
