// SPDX-License-Identifier: Apache-2.0
// Image messages as others wrote them: what a sensor_msgs Image or CompressedImage holds, as the engine takes it.
import { CdrReader } from "@foxglove/cdr";
import type { Channel, Schema } from "@mcap/core";
import { decodeGreyImage, type PixelFormat } from "../../camera/index.js";
import { COMPRESSED_DEPTH_HEADER_BYTES } from "../../core/frame/frame-format.js";
import { decodeRvl } from "../../core/frame/rvl.js";
import { DepthwattError } from "../../core/index.js";
import type { Message } from "./recording.js";

/** An image as it is in a message. */
export interface RosImage {
  stampNs: bigint;
  frameId: string;
  width: number;
  height: number;
  encoding: string;
  bigEndian: boolean;
  strideBytes: number;
  /** A view of the message. */
  data: Uint8Array;
}

export interface RosCompressedImage {
  stampNs: bigint;
  frameId: string;
  format: string;
  data: Uint8Array;
}

export type ImageKind = "Image" | "CompressedImage";

/** Which kind of image message a channel carries; undefined: another one. */
export function imageKind({ messageEncoding }: Channel, schema: Schema | undefined): ImageKind | undefined {
  if (messageEncoding !== "cdr" || schema?.encoding !== "ros2msg") return undefined;
  return (["Image", "CompressedImage"] as const).find((kind) => schema.name === `sensor_msgs/msg/${kind}`);
}

const damaged = (what: string, cause?: unknown) =>
  new DepthwattError("SOURCE_UNREADABLE", `a message with ${what}`, { cause });

function header(reader: CdrReader): { stampNs: bigint; frameId: string } {
  const seconds = reader.int32();
  const stampNs = BigInt(seconds) * 1_000_000_000n + BigInt(reader.uint32());
  return { stampNs, frameId: reader.string() };
}

function guarded<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof DepthwattError) throw cause;
    throw damaged(`damage: ${(cause as Error).message}`, cause);
  }
}

/** Returns the time in a message's header, nanoseconds. @throws DepthwattError SOURCE_UNREADABLE */
const parseHeaderStamp = (message: Uint8Array): bigint =>
  guarded(() => header(new CdrReader(message)).stampNs);

/**
 * Returns when a message was captured, nanoseconds. Drivers without a clock leave the header's time at 0: then the time of recording
 * is returned. @throws DepthwattError SOURCE_UNREADABLE
 */
export function parseCaptureTime({ data, logTime }: Message): { timeNs: bigint; isLogTime: boolean } {
  const stampNs = parseHeaderStamp(data);
  return stampNs === 0n ? { timeNs: logTime, isLogTime: true } : { timeNs: stampNs, isLogTime: false };
}

/** The matrix K of a sensor_msgs CameraInfo, row-major. @throws DepthwattError SOURCE_UNREADABLE */
export function parseCameraMatrix(message: Uint8Array): number[] {
  return guarded(() => {
    const reader = new CdrReader(message);
    header(reader);
    reader.uint32();
    reader.uint32();
    reader.string();
    reader.float64Array();
    return Array.from({ length: 9 }, () => reader.float64());
  });
}

/** @throws DepthwattError SOURCE_UNREADABLE */
export function parseImage(message: Uint8Array): RosImage {
  return guarded(() => {
    const reader = new CdrReader(message);
    const head = header(reader);
    const [height, width, encoding] = [reader.uint32(), reader.uint32(), reader.string()];
    const bigEndian = reader.uint8() !== 0;
    const strideBytes = reader.uint32();
    const data = reader.uint8Array();
    if (width < 1 || height < 1 || width > 16_384 || height > 16_384)
      throw damaged(`a size of ${width}x${height}`);
    if (data.length < strideBytes * height)
      throw damaged(`${data.length} bytes for ${height} rows of ${strideBytes}`);
    return { ...head, width, height, encoding, bigEndian, strideBytes, data };
  });
}

/** @throws DepthwattError SOURCE_UNREADABLE */
export function parseCompressedImage(message: Uint8Array): RosCompressedImage {
  return guarded(() => {
    const reader = new CdrReader(message);
    const head = header(reader);
    return { ...head, format: reader.string(), data: reader.uint8Array() };
  });
}

/** An image as a source delivers it. */
export interface DecodedImage {
  stampNs: bigint;
  data: Uint8Array;
  width: number;
  height: number;
  strideBytes: number;
  format: PixelFormat;
}

/** The pixel format of each ROS encoding, and its bytes per pixel. */
const ENCODINGS: Readonly<Record<string, readonly [PixelFormat, number]>> = {
  mono8: ["GREY", 1],
  "8UC1": ["GREY", 1],
  mono16: ["Y16", 2],
  "16UC1": ["Y16", 2],
  rgb8: ["RGB8", 3],
  "8UC3": ["RGB8", 3],
  bgr8: ["RGB8", 3],
  rgba8: ["RGB8", 4],
  bgra8: ["RGB8", 4],
  yuv422: ["UYVY", 2],
  uyvy: ["UYVY", 2],
  yuv422_yuy2: ["YUYV", 2],
  yuyv: ["YUYV", 2],
  nv12: ["NV12", 1],
  bayer_rggb8: ["BAYER_RGGB8", 1],
  bayer_grbg8: ["BAYER_GRBG8", 1],
  bayer_gbrg8: ["BAYER_GBRG8", 1],
  bayer_bggr8: ["BAYER_BGGR8", 1],
  bayer_rggb16: ["BAYER_RGGB16", 2],
  bayer_grbg16: ["BAYER_GRBG16", 2],
  bayer_gbrg16: ["BAYER_GBRG16", 2],
  bayer_bggr16: ["BAYER_BGGR16", 2],
};

/** Where red, green and blue are in encodings whose channels are reordered or left out. */
const REORDERED: Readonly<Record<string, readonly [number, number, number]>> = {
  bgr8: [2, 1, 0],
  rgba8: [0, 1, 2],
  bgra8: [2, 1, 0],
};

/** @throws DepthwattError SOURCE_UNREADABLE: rows overlap, or the last ones are missing */
function checkRows({ width, height, encoding, strideBytes, data }: RosImage, pixelBytes: number): void {
  if (strideBytes < width * pixelBytes)
    throw damaged(`a step of ${strideBytes} bytes for rows of ${width * pixelBytes} bytes`);
  // The chroma of NV12 follows its luma, in half as many rows.
  const rows = height + Math.ceil(height / 2);
  if (encoding === "nv12" && data.length < strideBytes * rows)
    throw damaged(`${data.length} bytes for ${rows} rows of ${strideBytes}`);
}

/**
 * Decodes the pixels into new memory.
 * @param channel its metadata describes 16-bit values, if depthwatt recorded it
 * @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED
 */
export async function decodeImage(
  kind: ImageKind,
  message: Uint8Array,
  channel: Channel,
): Promise<DecodedImage> {
  if (kind === "CompressedImage") return decodeCompressed(message, channel);
  const image = parseImage(message);
  const { stampNs, width, height, encoding, bigEndian, strideBytes, data } = image;
  const known = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined;
  if (known === undefined)
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${channel.topic}: expected one of ${Object.keys(ENCODINGS).join(", ")}, found "${encoding}"`,
    );
  const [format, pixelBytes] = known;
  checkRows(image, pixelBytes);
  const hasGaps = format === "RGB8" && strideBytes > width * pixelBytes;
  const order = REORDERED[encoding] ?? (hasGaps ? ([0, 1, 2] as const) : undefined);
  if (order) {
    return {
      stampNs,
      data: reordered(image, pixelBytes, order),
      width,
      height,
      strideBytes: 3 * width,
      format,
    };
  }
  const copy = data.slice();
  if (bigEndian && /16/.test(encoding)) Buffer.from(copy.buffer).swap16();
  const recorded = channel.metadata.get("pixelFormat") as PixelFormat | undefined;
  // Ours, where they are wider than what ROS has names for.
  const own =
    recorded !== undefined && /(10|12)$/.test(recorded) && format.endsWith("16") ? recorded : format;
  return { stampNs, data: copy, width, height, strideBytes, format: own };
}

function reordered(
  { data, width, height, strideBytes }: RosImage,
  step: number,
  [red, green, blue]: readonly [number, number, number],
): Uint8Array {
  const pixels = new Uint8Array(3 * width * height);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0, from = y * strideBytes; x < width; x++, from += step) {
      pixels[to++] = data[from + red]!;
      pixels[to++] = data[from + green]!;
      pixels[to++] = data[from + blue]!;
    }
  }
  return pixels;
}

async function decodeCompressed(message: Uint8Array, { topic }: Channel): Promise<DecodedImage> {
  const { stampNs, data: packed } = parseCompressedImage(message);
  const { data, width, height } = await decodeGreyImage(packed, topic);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const format = data instanceof Uint16Array ? "Y16" : "GREY";
  return { stampNs, data: bytes, width, height, strideBytes: width * data.BYTES_PER_ELEMENT, format };
}

/** A depth map in millimetres. */
export interface RecordedDepth {
  stampNs: bigint;
  frameId: string;
  width: number;
  height: number;
  millimetres: Uint16Array;
}

/** From an Image of 16UC1 or a CompressedImage of compressedDepth RVL. @throws as decodeImage, PAYLOAD_INVALID */
export function decodeDepth(kind: ImageKind, message: Uint8Array, topic: string): RecordedDepth {
  if (kind === "Image") {
    const image = parseImage(message);
    const { stampNs, frameId, width, height, encoding, bigEndian, strideBytes, data } = image;
    if (encoding !== "16UC1" && encoding !== "mono16")
      throw new DepthwattError("IMAGE_UNSUPPORTED", `${topic}: expected 16UC1, found "${encoding}"`);
    checkRows(image, 2);
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const millimetres = new Uint16Array(width * height);
    for (let i = 0; i < millimetres.length; i++)
      millimetres[i] = view.getUint16(Math.floor(i / width) * strideBytes + 2 * (i % width), !bigEndian);
    return { stampNs, frameId, width, height, millimetres };
  }
  const { stampNs, frameId, format, data } = parseCompressedImage(message);
  if (!/compressedDepth rvl/.test(format) || data.length < COMPRESSED_DEPTH_HEADER_BYTES)
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${topic}: expected compressedDepth rvl, found "${format}"`,
    );
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const [width, height] = [view.getUint32(12, true), view.getUint32(16, true)];
  if (width < 1 || height < 1 || width > 16_384 || height > 16_384)
    throw damaged(`a size of ${width}x${height}`);
  const millimetres = new Uint16Array(width * height);
  decodeRvl(data.subarray(COMPRESSED_DEPTH_HEADER_BYTES), millimetres);
  return { stampNs, frameId, width, height, millimetres };
}

/** A disparity map as depthwatt records it. */
export interface RecordedDisparity {
  width: number;
  height: number;
  /** 1/16 px; -32768: no value. */
  q4: Int16Array;
}

/** From an Image of 16SC1 without gaps between its rows. @throws DepthwattError SOURCE_UNREADABLE, IMAGE_UNSUPPORTED */
export function decodeDisparity(message: Uint8Array, topic: string): RecordedDisparity {
  const image = parseImage(message);
  const { width, height, encoding, strideBytes, data } = image;
  if (encoding !== "16SC1" || strideBytes !== 2 * width)
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `${topic}: expected 16SC1 in rows of ${2 * width} bytes, found "${encoding}" in rows of ${strideBytes}`,
    );
  checkRows(image, 2);
  return { width, height, q4: new Int16Array(data.slice(0, 2 * width * height).buffer) };
}
