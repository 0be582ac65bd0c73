// SPDX-License-Identifier: Apache-2.0
// One sink per published stream: says where in a slot its body lies and what it means. Bodies that the engine wrote are
// handed on as they lie; PNG is made here, off the JavaScript thread, and raw disparity where another output has it as RVL.
import { encodePng } from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import { loadNative } from "../../native.js";
import type { ComputedFrame } from "../../pipeline/computed-frame.js";
import type { Element, Encoding, FrameDescription, Publisher, StreamName } from "./index.js";
import type { MqttSettings } from "./settings.js";

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

/** Takes one frame of one stream; `done` is called once, with whether it was sent. */
export type StreamSink = (frame: ComputedFrame, done: (sent: boolean) => void) => void;

export interface StreamOptions {
  publisher: Publisher;
  offset: RealtimeOffset;
  onDropped: (cause: string) => void;
}

/** The sinks of every stream that the settings switch on, depth first. */
export function streamSinks(settings: MqttSettings, hasDepth: boolean, options: StreamOptions): StreamSink[] {
  const sinks: StreamSink[] = [];
  const add = (stream: StreamName, encoding: string, element: Element) => {
    const sink =
      encoding === "png"
        ? pngSink
        : encoding === "raw" && stream === "disparity"
          ? rawDisparitySink
          : bodySink;
    const describe = describer(stream, encoding as Encoding, element, options.offset);
    sinks.push(sink(stream, encoding as Encoding, describe, options));
  };
  if (settings.depth.enabled && hasDepth) add("depth", settings.depth.encoding, "u16");
  if (settings.disparity.enabled) add("disparity", settings.disparity.encoding, "u16");
  if (settings.confidence.enabled) add("confidence", settings.confidence.encoding, "u8");
  if (settings.left.enabled) add("left", settings.left.encoding, settings.left.colours ? "rgb8" : "u8");
  // The element is that of the frame: see describer().
  if (settings.points.enabled && hasDepth) add("points", settings.points.encoding, "f32");
  return sinks;
}

type Describe = (frame: ComputedFrame) => FrameDescription;

const describer =
  (stream: StreamName, encoding: Encoding, element: Element, offset: RealtimeOffset): Describe =>
  (frame) => ({
    stream,
    encoding,
    // A source without colours, or a change of settings that the engine has not taken yet.
    element: element === "rgb8" && !frame.encodings.leftRgb ? "u8" : element,
    width: frame.width,
    height: frame.height,
    leftTimestampNs: frame.leftTimestampNs,
    rightTimestampNs: frame.rightTimestampNs,
    clock: frame.clock,
    timestampPoint: frame.timestampPoint,
    realtimeOffsetNs: offset.of(frame.clock),
    leftSequence: frame.leftSequence,
    rightSequence: frame.rightSequence,
    ...(stream === "points" && pointsOf(frame)),
  });

/** Points are what the engine was asked for. */
function pointsOf({ encodings: { points } }: ComputedFrame): Pick<FrameDescription, "element" | "points"> {
  if (points === undefined) throw new DepthwattError("INTERNAL", "expected an engine that makes points");
  return {
    element: points.element === "float32" ? "f32" : "i16",
    points: { frame: points.frame, colour: points.colours ? "rgb" : "grey" },
  };
}

type MakeSink = (
  stream: StreamName,
  encoding: Encoding,
  describe: Describe,
  options: StreamOptions,
) => StreamSink;

const bodySink: MakeSink =
  (stream, encoding, describe, { publisher }) =>
  (frame, done) => {
    const description = describe(frame);
    const { buffer, bytes } = bodyOf(stream, encoding, description.element, frame);
    publisher.publish(buffer, ENCODED_HEADROOM_BYTES, bytes, description, done);
  };

const pngSink: MakeSink = (stream, _, describe, { publisher, onDropped }) => {
  let busy = false;
  return (frame, done) => {
    const frameNumber = publisher.nextFrameNumber(stream);
    if (busy) {
      onDropped(`${stream}.encoderBusy`); // one picture at a time
      done(false);
      return;
    }
    busy = true;
    const description = describe(frame);
    encodePng({
      data: pixelsOf(stream, description.element, frame),
      width: frame.width,
      height: frame.height,
    })
      .then((png) => {
        const buffer = new Uint8Array(ENCODED_HEADROOM_BYTES + png.length);
        buffer.set(png, ENCODED_HEADROOM_BYTES);
        publisher.publish(buffer, ENCODED_HEADROOM_BYTES, png.length, description, done, frameNumber);
      })
      .catch(() => {
        onDropped(`${stream}.encoderFailed`);
        done(false);
      })
      .finally(() => {
        busy = false;
      });
  };
};

/** As the engine wrote it, or, where it wrote RVL for another output, made of the map, in buffers that are used again. */
const rawDisparitySink: MakeSink = (stream, encoding, describe, options) => {
  const asTheEngineDid = bodySink(stream, encoding, describe, options);
  const spare: Uint8Array[] = [];
  return (frame, done) => {
    if (frame.encodings.encodeDisparity === "raw") {
      asTheEngineDid(frame, done);
      return;
    }
    const bytes = 2 * frame.slot.disparityQ4.length;
    const buffer = spare.pop() ?? new Uint8Array(ENCODED_HEADROOM_BYTES + bytes);
    writeDisparity(frame.slot.disparityQ4, new Uint16Array(buffer.buffer, ENCODED_HEADROOM_BYTES));
    options.publisher.publish(buffer, ENCODED_HEADROOM_BYTES, bytes, describe(frame), (sent) => {
      spare.push(buffer);
      done(sent);
    });
  };
};

/** A view of the whole ArrayBuffer, headroom included. */
const whole = (view: Uint8Array | Uint16Array): Uint8Array => new Uint8Array(view.buffer as ArrayBuffer);

function bodyOf(
  stream: StreamName,
  encoding: Encoding,
  element: Element,
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
    case "left": {
      const left = element === "rgb8" ? slot.leftRgb : slot.left;
      return { buffer: whole(left), bytes: left.byteLength };
    }
    case "points":
      return { buffer: whole(slot.points), bytes: slot.points.byteLength };
  }
}

function pixelsOf(stream: StreamName, element: Element, { slot }: ComputedFrame): Uint8Array | Uint16Array {
  if (stream === "depth") return slot.depthMillimetres;
  if (stream === "confidence") return slot.confidence;
  if (stream === "left") return element === "rgb8" ? slot.leftRgb : slot.left;
  const counts = new Uint16Array(slot.disparityQ4.length);
  writeDisparity(slot.disparityQ4, counts);
  return counts;
}

/** As it travels: disparityQ4 + 1, and 0 where it is invalid. */
function writeDisparity(disparityQ4: Int16Array, counts: Uint16Array): void {
  for (let i = 0; i < counts.length; i++) {
    const value = disparityQ4[i]!;
    counts[i] = value === -32768 ? 0 : value + 1;
  }
}
