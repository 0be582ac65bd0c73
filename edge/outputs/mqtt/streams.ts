// SPDX-License-Identifier: Apache-2.0
// One sink per published stream: says where in a slot its body lies and what it means. Bodies that the engine wrote are
// handed on as they lie; only PNG is made here, off the JavaScript thread.
import { encodePng } from "../../../camera/index.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import { loadNative } from "../../native.js";
import type { Config } from "../../config/index.js";
import type { Element, Encoding, FrameDescription, Publisher, StreamName } from "./index.js";
import type { ComputedFrame, FrameSink } from "../../pipeline/pipeline.js";

/** Add to CLOCK_MONOTONIC to get nanoseconds since 1970; renewed once a second, since the realtime clock is steered. */
export class RealtimeOffset {
  #offsetNs = 0n;
  #readAtMs = Number.NEGATIVE_INFINITY;

  get monotonicToRealtimeNs(): bigint {
    const now = performance.now();
    if (now - this.#readAtMs > 1000) {
      const { monotonicNs, realtimeNs } = loadNative().clocks();
      this.#offsetNs = realtimeNs - monotonicNs;
      this.#readAtMs = now;
    }
    return this.#offsetNs;
  }

  /** undefined for recordings, whose times belong to no clock here. */
  of(clock: ComputedFrame["clock"]): bigint | undefined {
    if (clock === "file") return undefined;
    return clock === "realtime" ? 0n : this.monotonicToRealtimeNs;
  }
}

export interface StreamOptions {
  publisher: Publisher;
  offset: RealtimeOffset;
  /** A frame of the first stream has left this process. */
  onSent: (frame: ComputedFrame) => void;
  onDropped: (cause: string) => void;
}

/** The sinks of every stream that the configuration switches on, depth first. */
export function streamSinks(
  config: Config["publish"],
  hasDepth: boolean,
  options: StreamOptions,
): FrameSink[] {
  const sinks: FrameSink[] = [];
  const add = (stream: StreamName, encoding: Encoding, element: Element) => {
    const first = sinks.length === 0;
    sinks.push(sinkOf(stream, encoding, element, { ...options, onSent: first ? options.onSent : () => {} }));
  };
  if (config.depth.enabled && hasDepth) add("depth", config.depth.encoding as Encoding, "u16");
  if (config.disparity.enabled) add("disparity", config.disparity.encoding as Encoding, "u16");
  if (config.confidence.enabled) add("confidence", config.confidence.encoding as Encoding, "u8");
  if (config.left.enabled) add("left", config.left.encoding as Encoding, "u8");
  return sinks;
}

function sinkOf(stream: StreamName, encoding: Encoding, element: Element, options: StreamOptions): FrameSink {
  const { publisher, offset, onSent, onDropped } = options;
  const describe = (frame: ComputedFrame): FrameDescription => ({
    stream,
    encoding,
    element,
    width: frame.width,
    height: frame.height,
    leftTimestampNs: frame.leftTimestampNs,
    rightTimestampNs: frame.rightTimestampNs,
    clock: frame.clock,
    timestampPoint: frame.timestampPoint,
    realtimeOffsetNs: offset.of(frame.clock),
    leftSequence: frame.leftSequence,
    rightSequence: frame.rightSequence,
  });
  const settle = (frame: ComputedFrame, release: () => void) => (sent: boolean) => {
    if (sent) onSent(frame);
    release();
  };

  if (encoding === "png") {
    let busy = false;
    return (frame, release) => {
      if (busy) {
        onDropped(`encoderBusy.${stream}`); // one picture at a time
        release();
        return;
      }
      busy = true;
      const description = describe(frame);
      encodePng({ data: pixelsOf(stream, frame), width: frame.width, height: frame.height })
        .then((png) => {
          const buffer = new Uint8Array(ENCODED_HEADROOM_BYTES + png.length);
          buffer.set(png, ENCODED_HEADROOM_BYTES);
          publisher.publish(buffer, ENCODED_HEADROOM_BYTES, png.length, description, settle(frame, release));
        })
        .catch(() => {
          onDropped(`encoderFailed.${stream}`);
          release();
        })
        .finally(() => {
          busy = false;
        });
    };
  }
  return (frame, release) => {
    const { buffer, bytes } = bodyOf(stream, encoding, frame);
    publisher.publish(buffer, ENCODED_HEADROOM_BYTES, bytes, describe(frame), settle(frame, release));
  };
}

/** A view of the whole ArrayBuffer, headroom included. */
const whole = (view: Uint8Array | Uint16Array): Uint8Array => new Uint8Array(view.buffer as ArrayBuffer);

function bodyOf(
  stream: StreamName,
  encoding: Encoding,
  { slot, result }: ComputedFrame,
): { buffer: Uint8Array; bytes: number } {
  switch (stream) {
    case "depth":
      if (encoding === "raw")
        return { buffer: whole(slot.depthMillimetres), bytes: slot.depthMillimetres.byteLength };
      return { buffer: whole(slot.encodedDepth), bytes: result.encodedDepthBytes };
    case "disparity":
      return { buffer: whole(slot.encodedDisparity), bytes: result.encodedDisparityBytes };
    case "confidence":
      return { buffer: whole(slot.confidence), bytes: slot.confidence.byteLength };
    case "left":
      return { buffer: whole(slot.left), bytes: slot.left.byteLength };
  }
}

function pixelsOf(stream: StreamName, { slot }: ComputedFrame): Uint8Array | Uint16Array {
  if (stream === "depth") return slot.depthMillimetres;
  if (stream === "confidence") return slot.confidence;
  if (stream === "left") return slot.left;
  return Uint16Array.from(slot.disparityQ4, (value) => (value === -32768 ? 0 : value + 1));
}
