// SPDX-License-Identifier: Apache-2.0
// The channels of recordings and of Foxglove, and what each makes of a frame.
import {
  allocateSamples,
  type CameraCalibration,
  copySamples,
  type PixelFormat,
  RIGHT_CAMERA,
} from "../../../camera/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type { InputLayout, Rig } from "../../contracts/rig.js";
import {
  cameraInfoMessage,
  compressedDepthPrefix,
  type ImagePrefix,
  imagePrefix,
  pointCloudPrefix,
  RIGHT_FRAME_ID,
  ROBOT_FRAME_ID,
  type RosCamera,
  rectifiedCamera,
  registeredCamera,
  rigTransforms,
  STAMP_AT,
  transformsMessage,
  writeImage,
  writePointCloud,
  writeStamp,
} from "../../mcap/messages.js";
import type { RecordedChannel } from "../../mcap/recording-file.js";
import {
  CAMERA_INFO,
  COMPRESSED_IMAGE,
  FRAME_ENERGY,
  IMAGE,
  POINT_CLOUD,
  TRANSFORMS,
} from "../../mcap/schemas.js";
import type { McapSettings } from "./settings.js";

/** Capture times as the recording has them, nanoseconds since 1970, or the recording's own where it was replayed. */
export interface FrameTimes {
  leftNs: bigint;
  rightNs: bigint;
}

/** Turns one frame into one message. */
export interface FrameChannel extends RecordedChannel {
  /** Bytes of the message; undefined: this frame has none. */
  bytes(frame: ComputedFrame): number | undefined;
  /** Writes it. @returns its capture time and number */
  write(
    target: Uint8Array,
    at: number,
    frame: ComputedFrame,
    times: FrameTimes,
  ): { publishNs: bigint; sequence: number };
}

/** The streams that have a channel. */
export type ChannelChoice = Pick<
  McapSettings,
  "inputs" | "left" | "leftColours" | "right" | "registered" | "depth" | "disparity" | "confidence" | "points"
>;

export interface ChannelContext {
  settings: ChannelChoice;
  /** Prefix of every topic, without a slash at its end. */
  prefix: string;
  width: number;
  height: number;
  hasDepth: boolean;
  rig: Rig | undefined;
  input: InputLayout;
  /** registration.camera. */
  camera?: string | undefined;
}

const viewBytes = (map: Uint8Array | Uint16Array | Int16Array) =>
  new Uint8Array(map.buffer, map.byteOffset, map.byteLength);

/** ROS 2 allows letters, digits and underscores between slashes, and no digit in front. */
export const topicPrefix = (...levels: string[]) =>
  levels
    .flatMap((level) => level.split("/"))
    .map((level) => `/${level.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)/, "_")}`)
    .join("");

type Body = (frame: ComputedFrame) => Uint8Array | undefined;

function imageChannel(
  topic: string,
  schema: RecordedChannel["schema"],
  prefix: ImagePrefix,
  lengthAt: number,
  body: Body,
  metadata: Record<string, string> = {},
): FrameChannel {
  return {
    topic,
    schema,
    metadata,
    bytes(frame) {
      const data = body(frame);
      return data && prefix.length + data.length;
    },
    write(target, at, frame, { leftNs }) {
      writeImage(target, at, prefix, lengthAt, leftNs, body(frame)!);
      return { publishNs: leftNs, sequence: frame.leftSequence };
    },
  };
}

/** How ROS names our formats; those of 10 and 12 bits travel in 16. */
export function rosEncoding(format: PixelFormat): string {
  const bayer = /^BAYER_(....)(\d+)$/.exec(format);
  if (bayer) return `bayer_${bayer[1]!.toLowerCase()}${bayer[2] === "8" ? "8" : "16"}`;
  const names = { GREY: "mono8", YUYV: "yuv422_yuy2", UYVY: "yuv422", NV12: "nv12", RGB8: "rgb8" } as const;
  return format in names ? names[format as keyof typeof names] : "mono16";
}

/** Rows of an image as they are in memory, those of NV12's colours among them. */
const bufferRows = (format: PixelFormat, height: number) => (format === "NV12" ? (3 * height) / 2 : height);

/** Returns the format in which an image is recorded: another one than its own if ROS has no name for that. */
function recordedFormat(format: PixelFormat): PixelFormat {
  if (format.startsWith("Y8I_") || format === "GREY_DISPARITY") return "GREY";
  return format.endsWith("P") || format.startsWith("Y12I_")
    ? (format.replace(/1[02](P|I_LEFT|I_RIGHT)$/, "16") as PixelFormat)
    : format;
}

function inputChannel(prefix: string, side: "left" | "right", input: InputLayout): FrameChannel {
  const { width, height } = input;
  const [format, strideBytes] =
    side === "left" ? [input.leftFormat, input.leftStrideBytes] : [input.rightFormat, input.rightStrideBytes];
  const recorded = recordedFormat(format);
  const layout = { width, height, strideBytes, format };
  const copy = recorded === format ? undefined : allocateSamples(layout);
  const copied = copy && new Uint8Array(copy.buffer);
  const head = imagePrefix({
    frameId: side,
    width,
    height,
    encoding: rosEncoding(recorded),
    strideBytes: copy ? width * copy.BYTES_PER_ELEMENT : strideBytes,
  });
  const bytes = copied?.length ?? strideBytes * bufferRows(format, height);
  return {
    topic: `${prefix}/${side}/image_raw`,
    schema: IMAGE,
    // The meaning of 16-bit values, which ROS has no name for.
    metadata: { pixelFormat: recorded },
    bytes: ({ images }) => images && head.length + bytes,
    write(target, at, frame, times) {
      const image = frame.images![side];
      const publishNs = side === "left" ? times.leftNs : times.rightNs;
      if (copy) copySamples(image.data, layout, copy);
      const data = copied ?? image.data.subarray(0, bytes);
      writeImage(target, at, head, head.length - 4, publishNs, data);
      return { publishNs, sequence: image.sequence };
    },
  };
}

/** A message in which only the times change. */
function constantChannel(
  topic: string,
  schema: RecordedChannel["schema"],
  { message, stampsAt }: { message: Uint8Array; stampsAt: readonly number[] },
): FrameChannel {
  return {
    topic,
    schema,
    bytes: () => message.length,
    write(target, at, frame, { leftNs }) {
      target.set(message, at);
      for (const stampAt of stampsAt) writeStamp(target, at + stampAt, leftNs);
      return { publishNs: leftNs, sequence: frame.leftSequence };
    },
  };
}

const cameraChannel = (topic: string, frameId: string, camera: RosCamera): FrameChannel =>
  constantChannel(topic, CAMERA_INFO, {
    message: cameraInfoMessage(camera, frameId, 0n),
    stampsAt: [STAMP_AT],
  });

function pointChannel(topic: string, size: { width: number; height: number }): FrameChannel {
  const prefixes = {
    camera: pointCloudPrefix({ frameId: "left_rectified", ...size }),
    robot: pointCloudPrefix({ frameId: ROBOT_FRAME_ID, ...size }),
  };
  const pointsPrefix = ({ encodings }: ComputedFrame) => encodings.points && prefixes[encodings.points.frame];
  return {
    topic,
    schema: POINT_CLOUD,
    metadata: { unit: "m", invalid: "NaN" },
    bytes(frame) {
      const prefix = pointsPrefix(frame);
      return prefix && prefix.length + frame.slot.points.length + 1;
    },
    write(target, at, frame, { leftNs }) {
      writePointCloud(target, at, pointsPrefix(frame)!, leftNs, frame.slot.points);
      return { publishNs: leftNs, sequence: frame.leftSequence };
    },
  };
}

function rosCamera(camera: CameraCalibration, rig: Rig, side: "left" | "right"): RosCamera {
  const { imageSize } = rig.calibration;
  const { model, coefficients } = camera.distortion;
  const [r, p] =
    side === "left"
      ? [rig.rectification.R1, rig.rectification.P1]
      : [rig.rectification.R2, rig.rectification.P2];
  const distortionModel = model === "none" ? "plumb_bob" : model;
  return {
    ...imageSize,
    distortionModel,
    d: model === "none" ? [0, 0, 0, 0, 0] : coefficients,
    k: camera.K,
    r,
    p,
  };
}

/** In colours where the engine made them: a source may have none. */
function leftChannel(topic: string, grey: ImagePrefix, colours: ImagePrefix): FrameChannel {
  const of = ({ encodings, slot }: ComputedFrame) =>
    encodings.leftRgb ? ([colours, slot.leftRgb] as const) : ([grey, slot.left] as const);
  return {
    topic,
    schema: IMAGE,
    bytes(frame) {
      const [prefix, data] = of(frame);
      return prefix.length + data.length;
    },
    write(target, at, frame, { leftNs }) {
      const [prefix, data] = of(frame);
      writeImage(target, at, prefix, prefix.length - 4, leftNs, data);
      return { publishNs: leftNs, sequence: frame.leftSequence };
    },
  };
}

/** The energy that a frame carries, or why it carries none, as JSON. */
function energyChannel(topic: string): FrameChannel {
  let made: { frame: ComputedFrame; text: Uint8Array } | undefined;
  const textOf = (frame: ComputedFrame): Uint8Array => {
    if (made?.frame !== frame) made = { frame, text: Buffer.from(JSON.stringify(frame.energy)) };
    return made.text;
  };
  return {
    topic,
    schema: FRAME_ENERGY,
    bytes: (frame) => (frame.energy === undefined ? undefined : textOf(frame).length),
    write(target, at, frame, { leftNs }) {
      target.set(textOf(frame), at);
      made = undefined;
      return { publishNs: leftNs, sequence: frame.leftSequence };
    },
  };
}

/** Depth and confidence in another camera's image, and that camera. */
function registeredChannels(
  prefix: string,
  name: string,
  { calibration, rectification }: Rig,
): FrameChannel[] {
  const camera = registeredCamera(calibration, rectification, name);
  if (camera === undefined) return [];
  const frameId = name === RIGHT_CAMERA ? RIGHT_FRAME_ID : name;
  const topic = `${prefix}${topicPrefix(`registered/${name}`)}`;
  const image = (leaf: string, encoding: string, pixelBytes: number, body: Body) => {
    const { width, height } = camera;
    const head = imagePrefix({ frameId, width, height, encoding, strideBytes: pixelBytes * width });
    const sized: Body = (frame) => (frame.encodings.registration?.camera === name ? body(frame) : undefined);
    return imageChannel(`${topic}/${leaf}`, IMAGE, head, head.length - 4, sized);
  };
  return [
    image("image", "16UC1", 2, ({ slot }) => viewBytes(slot.registered)),
    image("confidence", "mono8", 1, ({ slot }) => slot.registeredConfidence),
    cameraChannel(`${topic}/camera_info`, frameId, camera),
  ];
}

/** Returns the channels in the order of a frame's messages in the recording. */
export function frameChannels(context: ChannelContext): FrameChannel[] {
  const { settings, prefix, width, height, hasDepth, rig, input, camera } = context;
  const rectified = (encoding: string, pixelBytes: number, frameId = "left_rectified") => ({
    frameId,
    width,
    height,
    encoding,
    strideBytes: pixelBytes * width,
  });
  const image = (
    name: string,
    encoding: string,
    pixelBytes: number,
    body: Body,
    metadata?: Record<string, string>,
  ) => {
    const head = imagePrefix(rectified(encoding, pixelBytes));
    return imageChannel(`${prefix}/${name}`, IMAGE, head, head.length - 4, body, metadata);
  };
  const channels: FrameChannel[] = [];
  if (settings.inputs)
    channels.push(inputChannel(prefix, "left", input), inputChannel(prefix, "right", input));
  if (settings.left && settings.leftColours)
    channels.push(
      leftChannel(
        `${prefix}/left/image_rect`,
        imagePrefix(rectified("mono8", 1)),
        imagePrefix(rectified("rgb8", 3)),
      ),
    );
  else if (settings.left) channels.push(image("left/image_rect", "mono8", 1, ({ slot }) => slot.left));
  if (settings.right) {
    const head = imagePrefix(rectified("mono8", 1, RIGHT_FRAME_ID));
    const body: Body = ({ slot, encodings }) => (encodings.rightGrey ? slot.right : undefined);
    channels.push(imageChannel(`${prefix}/right/image_rect`, IMAGE, head, head.length - 4, body));
  }
  if (hasDepth && settings.depth === "image")
    channels.push(image("depth/image_rect", "16UC1", 2, ({ slot }) => viewBytes(slot.depthMillimetres)));
  if (hasDepth && settings.depth === "compressedDepth") {
    const head = compressedDepthPrefix(rectified("16UC1", 2));
    const body: Body = ({ slot, result }) => slot.encodedDepth.subarray(0, result.encodedDepthBytes);
    const topic = `${prefix}/depth/image_rect/compressedDepth`;
    channels.push(imageChannel(topic, COMPRESSED_IMAGE, head, head.length - 24, body));
  }
  if (settings.disparity || !hasDepth)
    channels.push(
      image("disparity/image_rect", "16SC1", 2, ({ slot }) => viewBytes(slot.disparityQ4), {
        unit: "1/16 px",
        invalid: "-32768",
      }),
    );
  if (settings.confidence)
    channels.push(image("confidence/image_rect", "mono8", 1, ({ slot }) => slot.confidence));
  if (settings.registered && hasDepth && camera !== undefined && rig !== undefined)
    channels.push(...registeredChannels(prefix, camera, rig));
  if (settings.points && hasDepth) channels.push(pointChannel(`${prefix}/points`, { width, height }));
  if (rig) {
    const { left, right } = rig.calibration;
    channels.push(cameraChannel(`${prefix}/left/camera_info`, "left", rosCamera(left, rig, "left")));
    channels.push(cameraChannel(`${prefix}/right/camera_info`, "right", rosCamera(right, rig, "right")));
    if (hasDepth)
      channels.push(
        cameraChannel(`${prefix}/depth/camera_info`, "left_rectified", rectifiedCamera(rig.rectification)),
      );
    channels.push(
      constantChannel(
        "/tf",
        TRANSFORMS,
        transformsMessage(rigTransforms(rig.rectification, rig.calibration, settings.right)),
      ),
    );
  }
  // The last one: its length is odd or even, and 16-bit pixels need an even place.
  channels.push(energyChannel(`${prefix}/energy`));
  return channels;
}
