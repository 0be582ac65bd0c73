// SPDX-License-Identifier: Apache-2.0
// One sink per published stream: says where in a slot its body lies and what it means. Bodies that the engine wrote are
// handed on as they lie; PNG and JPEG are made here, off the JavaScript thread, and raw disparity where another output has it as RVL.
import { encodeJpeg, encodePng, type GreyImage, type RgbImage } from "../../../camera/index.js";
import { isRegistered } from "../../../core/frame/frame-format.js";
import { DepthwattError } from "../../../core/index.js";
import { ENCODED_HEADROOM_BYTES } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import { RateLimit } from "../../contracts/rate-limit.js";
import type { Element, Encoding, FrameDescription, StreamName } from "./index.js";
import type { RealtimeOffset } from "./realtime-offset.js";
import { countOfDisparity, REDUCTIONS, Reducer, reducedPixels, reducedSize } from "./reduce.js";
import type { MqttSettings } from "./settings.js";
import { messageBytes, type StreamOptions, type StreamSink } from "./stream-sink.js";
import { describeVoxels, voxelSink } from "./voxel-sink.js";

/** The sinks of every stream that the settings switch on, depth first. */
export function streamSinks(settings: MqttSettings, hasDepth: boolean, options: StreamOptions): StreamSink[] {
  const sinks: StreamSink[] = [];
  const makeSink = (stream: StreamName, encoding: string, element: Element) => {
    const sink = isFile(encoding)
      ? fileSink
      : encoding === "raw" && stream === "disparity"
        ? rawDisparitySink
        : bodySink;
    const describe = describer(stream, encoding as Encoding, element, options.offset);
    const fits = !isRegistered(stream) && settings[stream].reduceToFit;
    const whole = sink(stream, encoding as Encoding, describe, options, fits);
    const made =
      fits && !isFile(encoding) ? fittingSink(whole, stream, encoding as Encoding, describe, options) : whole;
    return stream === "right" || isRegistered(stream) ? skippingSink(stream, made) : made;
  };
  const add = (stream: StreamName, encoding: string, element: Element) => {
    sinks.push(makeSink(stream, encoding, element));
  };
  const addPoints = () => {
    const { encoding, reduceToFit, rateHz } = settings.points;
    const sink =
      encoding === "voxels"
        ? voxelSink(describer("points", encoding, "i16", options.offset), options, reduceToFit)
        : makeSink("points", encoding, "f32");
    sinks.push(pointsSink(sink, encoding === "voxels" ? "voxels" : "points", rateHz, options));
  };
  if (settings.depth.enabled && hasDepth) add("depth", settings.depth.encoding, "u16");
  if (settings.disparity.enabled) add("disparity", settings.disparity.encoding, "u16");
  if (settings.confidence.enabled) add("confidence", settings.confidence.encoding, "u8");
  if (settings.left.enabled) add("left", settings.left.encoding, settings.left.colours ? "rgb8" : "u8");
  if (settings.right.enabled) add("right", settings.right.encoding, "u8");
  // The element is that of the frame: see describer().
  if (settings.points.enabled && hasDepth) addPoints();
  if (settings.registered.enabled && hasDepth) {
    const { encoding, confidence } = settings.registered;
    add("registered", encoding, encoding === "jpeg" ? "rgb8" : "u16");
    if (confidence) add("registeredConfidence", encoding, "u8");
  }
  return sinks;
}

type Describe = (frame: ComputedFrame) => FrameDescription;

export const describer =
  (stream: StreamName, encoding: Encoding, element: Element, offset: RealtimeOffset): Describe =>
  (frame) => ({
    stream,
    encoding,
    // A source without colours, or a change of settings that the engine has not taken yet.
    element: stream === "left" && element === "rgb8" && !frame.encodings.leftRgb ? "u8" : element,
    width: frame.width,
    height: frame.height,
    leftTimestampNs: frame.leftTimestampNs,
    rightTimestampNs: frame.rightTimestampNs,
    clock: frame.clock,
    timestampPoint: frame.timestampPoint,
    realtimeOffsetNs: offset.of(frame.clock),
    leftSequence: frame.leftSequence,
    rightSequence: frame.rightSequence,
    energy: frame.energy,
    ...(stream === "points" && (encoding === "voxels" ? describeVoxels(frame) : describePoints(frame))),
    ...(isRegistered(stream) && describeRegistered(frame)),
  });

/** The other camera's name and the size of its image. */
function describeRegistered({
  encodings: { registration },
}: ComputedFrame): Pick<FrameDescription, "width" | "height" | "camera"> {
  if (registration === undefined) throw new DepthwattError("INTERNAL", "expected an engine that registers");
  const { width, height, camera } = registration;
  return { width, height, camera };
}

/** Points are what the engine was asked for. */
function describePoints({
  encodings: { points },
}: ComputedFrame): Pick<FrameDescription, "element" | "points"> {
  if (points === undefined) throw new DepthwattError("INTERNAL", "expected an engine that makes points");
  return {
    element: points.element === "float32" ? "f32" : "i16",
    points: { frame: points.frame, colour: points.colours ? "rgb" : "grey" },
  };
}

/** Skips frames that an engine computed without the stream, before it took a change of settings or without another camera. */
const skippingSink =
  (stream: StreamName, sink: StreamSink): StreamSink =>
  (frame, done) => {
    const { rightGrey, registration } = frame.encodings;
    if (stream === "right" ? rightGrey : registration !== undefined) sink(frame, done);
    else done(false);
  };

/** Skips frames that come too early, and those of an engine that computes points in the other encoding yet. */
function pointsSink(
  sink: StreamSink,
  form: "points" | "voxels",
  rateHz: number | "max",
  { onDropped }: StreamOptions,
): StreamSink {
  const rate = new RateLimit(rateHz);
  return (frame, done) => {
    if (frame.encodings[form] === undefined) done(false);
    else if (rate.isEarly()) {
      onDropped("points.rateLimit");
      done(false);
    } else sink(frame, done);
  };
}

type MakeSink = (
  stream: StreamName,
  encoding: Encoding,
  describe: Describe,
  options: StreamOptions,
  /** Reduced until it fits. */
  fits: boolean,
) => StreamSink;

/** Sends the whole picture where it fits, else the largest that does; the smallest is dropped where not even that does. */
function fittingSink(
  whole: StreamSink,
  stream: StreamName,
  encoding: Encoding,
  describe: Describe,
  { publisher, onReduced }: StreamOptions,
): StreamSink {
  const reducer = new Reducer(encoding as "raw" | "rvl" | "compressedDepth");
  return (frame, done) => {
    const description = describe(frame);
    const bytes = wholeBytes(stream, encoding, description.element, frame);
    const fits = (bodyBytes: number) => messageBytes(description, bodyBytes) <= publisher.maxMessageBytes;
    if (fits(bytes)) {
      whole(frame, done);
      return;
    }
    for (const reduction of REDUCTIONS) {
      const made = reducer.make(description, frame, reduction);
      if (!fits(made.bodyBytes) && reduction !== REDUCTIONS.at(-1)) {
        reducer.giveBack(made.buffer);
        continue;
      }
      const sent = (ok: boolean) => {
        reducer.giveBack(made.buffer);
        if (ok) onReduced(stream, reduction);
        done(ok);
      };
      publisher.publish(made.buffer, ENCODED_HEADROOM_BYTES, made.bodyBytes, made.description, sent);
      return;
    }
  };
}

const bodySink: MakeSink =
  (stream, encoding, describe, { publisher }) =>
  (frame, done) => {
    const description = describe(frame);
    const { buffer, bytes } = encodeBody(stream, encoding, description.element, frame);
    publisher.publish(buffer, ENCODED_HEADROOM_BYTES, bytes, description, done);
  };

/** Encodings whose body is an image file, which is packed on other threads. */
const isFile = (encoding: string): encoding is "png" | "jpeg" => encoding === "png" || encoding === "jpeg";

const fileSink: MakeSink = (stream, encoding, describe, options, fits) => {
  const { publisher, onDropped, onReduced, colours } = options;
  let busy = false;
  const encode = (image: Parameters<typeof encodePng>[0]) =>
    encoding === "jpeg" ? encodeJpeg(image as GreyImage | RgbImage) : encodePng(image);
  const pack = async (frame: ComputedFrame, description: FrameDescription) => {
    const pixels = streamPixels(stream, description.element, frame);
    const data =
      isRegistered(stream) && description.element === "rgb8" ? colours(frame.slot.registered) : pixels;
    const whole = await encode({ data, width: description.width, height: description.height });
    let made = { file: whole, description };
    for (const reduction of fits ? REDUCTIONS : []) {
      if (messageBytes(description, made.file.length) <= publisher.maxMessageBytes) break;
      const size = reducedSize(frame, reduction);
      const file = await encode({ data: reducedPixels(description, frame, reduction), ...size });
      made = { file, description: { ...description, ...size, reduction } };
    }
    return made;
  };
  return (frame, done) => {
    const frameNumber = publisher.nextFrameNumber(stream);
    if (busy) {
      onDropped(`${stream}.encoderBusy`); // one picture at a time
      done(false);
      return;
    }
    busy = true;
    pack(frame, describe(frame))
      .then(({ file, description }) => {
        const buffer = new Uint8Array(ENCODED_HEADROOM_BYTES + file.length);
        buffer.set(file, ENCODED_HEADROOM_BYTES);
        const { reduction } = description;
        const sent = (ok: boolean) => {
          if (ok && reduction !== undefined) onReduced(stream, reduction);
          done(ok);
        };
        publisher.publish(buffer, ENCODED_HEADROOM_BYTES, file.length, description, sent, frameNumber);
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
  const asTheEngineDid = bodySink(stream, encoding, describe, options, false);
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

function encodeBody(
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
    case "right":
      return { buffer: whole(slot.right), bytes: slot.right.byteLength };
    case "registered":
      return { buffer: whole(slot.registered), bytes: slot.registered.byteLength };
    case "registeredConfidence":
      return { buffer: whole(slot.registeredConfidence), bytes: slot.registeredConfidence.byteLength };
    case "points":
      return { buffer: whole(slot.points), bytes: slot.points.byteLength };
  }
}

/** Bytes of the body of a whole picture, as bodySink and rawDisparitySink send it. */
function wholeBytes(stream: StreamName, encoding: Encoding, element: Element, frame: ComputedFrame): number {
  return stream === "disparity" && encoding === "raw"
    ? frame.slot.disparityQ4.byteLength
    : encodeBody(stream, encoding, element, frame).bytes;
}

function streamPixels(
  stream: StreamName,
  element: Element,
  { slot }: ComputedFrame,
): Uint8Array | Uint16Array {
  if (stream === "depth") return slot.depthMillimetres;
  if (stream === "confidence") return slot.confidence;
  if (stream === "left") return element === "rgb8" ? slot.leftRgb : slot.left;
  if (stream === "right") return slot.right;
  if (stream === "registered") return slot.registered;
  if (stream === "registeredConfidence") return slot.registeredConfidence;
  const counts = new Uint16Array(slot.disparityQ4.length);
  writeDisparity(slot.disparityQ4, counts);
  return counts;
}

function writeDisparity(disparityQ4: Int16Array, counts: Uint16Array): void {
  for (let i = 0; i < counts.length; i++) counts[i] = countOfDisparity(disparityQ4[i]!);
}
