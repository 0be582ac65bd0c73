// SPDX-License-Identifier: Apache-2.0
// A frame as bytes: a little-endian header of 96 bytes, or of 108 with energy, then the body. Written in place into the headroom before a body, parsed
// with every field checked. Layout: docs/reference/frames.md. Runs in Node and in a browser.
import { DepthwattError } from "../errors.js";
import { crc32 } from "./crc32.js";
import { ENERGY_HEADER_BYTES, type FrameEnergy, readEnergy, writeEnergy } from "./frame-energy.js";
import {
  bytesOfPoint,
  CLOCK_CODES,
  COMPRESSED_DEPTH_HEADER_BYTES,
  ELEMENT_BYTES,
  ELEMENT_CODES,
  type Element,
  ENCODING_CODES,
  type Encoding,
  type FieldName,
  FLAG_REALTIME_OFFSET,
  FRAME_FIELDS,
  FRAME_HEADER_BYTES,
  FRAME_MAGIC,
  FRAME_VERSION,
  type FrameClock,
  type FrameTimestampPoint,
  INVALID_CODES,
  MAX_FRAME_SIDE,
  POINT_COLOUR_CODES,
  POINT_FRAME_CODES,
  type PointsForm,
  QUANTITY_CODES,
  REDUCTION_SHIFT,
  type Reduction,
  STREAM_CODES,
  type StreamName,
  TIMESTAMP_POINT_FLAGS,
  type ValueMeaning,
  valueMeaning,
} from "./frame-format.js";

/** Describes one frame, as its publisher knows it. */
export interface FrameDescription {
  stream: StreamName;
  encoding: Encoding;
  /** Element of the decoded picture: u16 for millimetres and for disparityQ4 + 1, f32 for metres, u8 for images. */
  element: Element;
  width: number;
  height: number;
  /** Capture times on `clock`, nanoseconds. */
  leftTimestampNs: bigint;
  rightTimestampNs: bigint;
  clock: FrameClock;
  /** Which moment of its exposure a capture time is; undefined where the source does not know. */
  timestampPoint?: FrameTimestampPoint | undefined;
  /** Add it to a capture time to get nanoseconds since 1970 (UTC); undefined where it is not known (`file`). */
  realtimeOffsetNs: bigint | undefined;
  /** The cameras' own counters, modulo 2^32. */
  leftSequence: number;
  rightSequence: number;
  /** Only for a registered stream: the name of the other camera, which is a part of the topic. */
  camera?: string | undefined;
  /** Only for points. */
  points?: PointsForm | undefined;
  /** Subsampling: one pixel of each square of so many pixels a side was sent; absent: 1, the whole image. */
  reduction?: Reduction | undefined;
  /** The energy that the frame carries, or why it carries none. */
  energy?: FrameEnergy | { available: false; reason: string } | undefined;
}

/** Bytes of a frame before its body; of `compressedDepth` with the header of ROS. */
export const bytesBeforeBody = ({
  encoding,
  energy,
}: Pick<FrameDescription, "encoding" | "energy">): number =>
  headerBytesOf(energy) + (encoding === "compressedDepth" ? COMPRESSED_DEPTH_HEADER_BYTES : 0);

const headerBytesOf = (energy: FrameDescription["energy"]): number =>
  energy?.available ? ENERGY_HEADER_BYTES : FRAME_HEADER_BYTES;

/** Identifies one run of one publisher. */
export interface FrameIdentity {
  /** Counts the frames of this stream that the engine finished, also those dropped before the socket; modulo 2^32. */
  frameNumber: number;
  /** Random, new at each start: a frameNumber that jumps back under a new runId is a restart, not a loss. */
  runId: number;
  /** Equal on two processes that share one monotonic clock (same boot of the same host); 0 = unknown. */
  clockDomain: number;
}

export interface FrameHeader extends FrameDescription, FrameIdentity, ValueMeaning {
  headerBytes: number;
  bodyBytes: number;
  reduction: Reduction;
  /** Absent: the frame carries no energy. */
  energy?: FrameEnergy | undefined;
}

const at = (field: FieldName): number => FRAME_FIELDS[field][0];
const CRC_OFFSET = at("crc32");

/**
 * Writes the header into the bytes before `bodyOffset` and returns the whole message as a view of `buffer`; nothing is
 * copied. `buffer` holds the body at [bodyOffset, bodyOffset + bodyBytes); for `compressedDepth` that body is the RVL words,
 * and the ROS header is written before them.
 * @throws DepthwattError INTERNAL where the headroom is too small for the encoding
 */
export function writeFrame(
  buffer: Uint8Array,
  bodyOffset: number,
  bodyBytes: number,
  frame: FrameDescription,
  identity: FrameIdentity,
): Uint8Array {
  const needed = bytesBeforeBody(frame);
  const start = bodyOffset - needed;
  if (start < 0 || bodyOffset + bodyBytes > buffer.length) {
    throw new DepthwattError(
      "INTERNAL",
      `expected ${needed} free bytes before a body of ${bodyBytes}, got a buffer of ${buffer.length} with ${bodyOffset}`,
    );
  }
  const message = buffer.subarray(start, bodyOffset + bodyBytes);
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const headerBytes = headerBytesOf(frame.energy);
  const prefixBytes = needed - headerBytes;
  writeFields(view, prefixBytes + bodyBytes, frame, identity);
  if (prefixBytes > 0) writeCompressedDepthHeader(view, headerBytes, frame.width, frame.height);
  view.setUint32(CRC_OFFSET, frameCrc(message), true);
  return message;
}

/**
 * Writes a header whose CRC is 0, for a message in shared memory, whose readers check its sequence number instead.
 * @returns the header's bytes, at the beginning of `buffer`
 */
export function writeHeaderWithoutCrc(
  buffer: Uint8Array,
  bodyBytes: number,
  frame: FrameDescription,
  identity: FrameIdentity,
): Uint8Array {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  writeFields(view, bodyBytes, frame, identity);
  view.setUint32(CRC_OFFSET, 0, true);
  return buffer.subarray(0, headerBytesOf(frame.energy));
}

/** Writes every field but the CRC. */
function writeFields(
  view: DataView,
  bodyBytes: number,
  frame: FrameDescription,
  identity: FrameIdentity,
): void {
  const voxelMetres = frame.points?.voxelMetres;
  const meaning: ValueMeaning =
    voxelMetres === undefined
      ? valueMeaning(frame.stream, frame.element)
      : { quantity: "pointMetres", invalidRule: "none", unitScale: voxelMetres, valueOffset: 0 };
  view.setUint32(at("magic"), FRAME_MAGIC, true);
  view.setUint16(at("version"), FRAME_VERSION, true);
  view.setUint16(at("headerBytes"), headerBytesOf(frame.energy), true);
  view.setUint8(at("stream"), STREAM_CODES[frame.stream]);
  view.setUint8(at("encoding"), ENCODING_CODES[frame.encoding]);
  view.setUint8(at("element"), ELEMENT_CODES[frame.element]);
  view.setUint8(at("clock"), CLOCK_CODES[frame.clock]);
  view.setUint16(at("flags"), encodeFlags(frame), true);
  view.setUint8(at("quantity"), QUANTITY_CODES[meaning.quantity]);
  view.setUint8(at("invalidRule"), INVALID_CODES[meaning.invalidRule]);
  view.setUint32(at("width"), frame.width, true);
  view.setUint32(at("height"), frame.height, true);
  view.setUint32(at("bodyBytes"), bodyBytes, true);
  view.setUint32(at("frameNumber"), identity.frameNumber, true);
  view.setBigUint64(at("leftTimestampNs"), frame.leftTimestampNs, true);
  view.setBigUint64(at("rightTimestampNs"), frame.rightTimestampNs, true);
  view.setBigInt64(at("realtimeOffsetNs"), frame.realtimeOffsetNs ?? 0n, true);
  view.setUint32(at("leftSequence"), frame.leftSequence, true);
  view.setUint32(at("rightSequence"), frame.rightSequence, true);
  view.setFloat64(at("unitScale"), meaning.unitScale, true);
  view.setFloat64(at("valueOffset"), meaning.valueOffset, true);
  view.setUint32(at("runId"), identity.runId, true);
  view.setUint32(at("clockDomain"), identity.clockDomain, true);
  const { points } = frame;
  view.setUint16(
    at("pointBytes"),
    points === undefined ? 0 : bytesOfPoint(frame.element, points.colour),
    true,
  );
  view.setUint8(at("pointFrame"), points === undefined ? 0 : POINT_FRAME_CODES[points.frame]);
  view.setUint8(at("pointColour"), points === undefined ? 0 : POINT_COLOUR_CODES[points.colour]);
  if (frame.energy?.available) writeEnergy(view, frame.energy);
}

function encodeFlags({ realtimeOffsetNs, timestampPoint, reduction = 1 }: FrameDescription): number {
  const point = timestampPoint === undefined ? 0 : TIMESTAMP_POINT_FLAGS[timestampPoint];
  const reduced = Math.log2(reduction) << REDUCTION_SHIFT;
  return (realtimeOffsetNs === undefined ? 0 : FLAG_REALTIME_OFFSET) | point | reduced;
}

/** The reading side of encodeFlags(); a writer that sets both bits has said nothing. */
function decodeTimestampPoint(flags: number): FrameTimestampPoint | undefined {
  const { startOfExposure, endOfFrame } = TIMESTAMP_POINT_FLAGS;
  const bits = flags & (startOfExposure | endOfFrame);
  return bits === startOfExposure ? "startOfExposure" : bits === endOfFrame ? "endOfFrame" : undefined;
}

/** The CRC covers everything but its own four bytes: [0, 92), then the rest of the header and the body. */
function frameCrc(message: Uint8Array): number {
  return crc32(message.subarray(FRAME_HEADER_BYTES), crc32(message.subarray(0, CRC_OFFSET)));
}

// compressed_depth_image_transport: int32 format (0 = inverse depth), float32 depthParam[2] (unused for 16UC1, ours are 0;
// ROS leaves them uninitialised), then u32 columns and rows.
function writeCompressedDepthHeader(view: DataView, start: number, width: number, height: number): void {
  view.setInt32(start, 0, true);
  view.setFloat32(start + 4, 0, true);
  view.setFloat32(start + 8, 0, true);
  view.setUint32(start + 12, width, true);
  view.setUint32(start + 16, height, true);
}

export interface ParsedFrame {
  header: FrameHeader;
  /** View of the message, not a copy. */
  body: Uint8Array;
}

function refuse(field: FieldName, expected: string, found: string | number): never {
  const offset = at(field);
  throw new DepthwattError(
    "PAYLOAD_INVALID",
    `frame header, byte ${offset} (${field}): expected ${expected}, found ${found}`,
    { context: { field, offset, expected, found } },
  );
}

function decodeName<Name extends string>(
  codes: Readonly<Record<Name, number>>,
  field: FieldName,
  code: number,
): Name {
  for (const name in codes) if (codes[name] === code) return name;
  const known = Object.entries(codes).map(([name, value]) => `${value} (${name})`);
  return refuse(field, `one of ${known.join(", ")}`, code);
}

/** The form of points, whose bytes follow from it. */
function decodePoints(
  element: Element,
  encoding: Encoding,
  u8: (field: FieldName) => number,
  u16: (field: FieldName) => number,
): PointsForm {
  if (element !== "f32" && element !== "i16") refuse("element", "f32 or i16 for points", element);
  if (encoding !== "raw" && encoding !== "voxels") refuse("encoding", "raw or voxels for points", encoding);
  const colour = decodeName(POINT_COLOUR_CODES, "pointColour", u8("pointColour"));
  if (encoding === "voxels" && element !== "i16") refuse("element", "i16 for voxels", element);
  if ((encoding === "voxels") !== (colour === "none"))
    refuse("pointColour", "0 for voxels, 1 (grey) or 2 (rgb) for raw points", u8("pointColour"));
  const bytes = bytesOfPoint(element, colour);
  if (u16("pointBytes") !== bytes)
    refuse("pointBytes", `${bytes} for ${element} and ${colour}`, u16("pointBytes"));
  return { frame: decodeName(POINT_FRAME_CODES, "pointFrame", u8("pointFrame")), colour };
}

/**
 * Parses a message; the body stays packed (see decode.ts) and is a view of `message`.
 * @param checks sequence: the message is in shared memory, has no CRC, and the caller checks its sequence number
 * @throws DepthwattError PAYLOAD_INVALID; context says field, offset, expected and found; field "crc32" = damaged on the way
 */
export function parseFrame(message: Uint8Array, checks: "crc" | "sequence" = "crc"): ParsedFrame {
  if (message.length < FRAME_HEADER_BYTES) {
    refuse("magic", `at least ${FRAME_HEADER_BYTES} bytes of message`, `${message.length} bytes`);
  }
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const u8 = (field: FieldName) => view.getUint8(at(field));
  const u16 = (field: FieldName) => view.getUint16(at(field), true);
  const u32 = (field: FieldName) => view.getUint32(at(field), true);
  const hex = (value: number) => `0x${value.toString(16).padStart(8, "0")}`;
  if (u32("magic") !== FRAME_MAGIC) refuse("magic", `"DWFR" (${hex(FRAME_MAGIC)})`, hex(u32("magic")));
  if (u16("version") !== FRAME_VERSION) refuse("version", `version ${FRAME_VERSION}`, u16("version"));
  const headerBytes = u16("headerBytes");
  if (headerBytes < FRAME_HEADER_BYTES || headerBytes > message.length)
    refuse("headerBytes", `${FRAME_HEADER_BYTES} or more, within the message`, headerBytes);
  const bodyBytes = u32("bodyBytes");
  const bodyThere = message.length - headerBytes;
  if (bodyBytes !== bodyThere) refuse("bodyBytes", `${bodyThere} as the message is long`, bodyBytes);
  const crc = checks === "crc" ? frameCrc(message) : u32("crc32");
  if (u32("crc32") !== crc) refuse("crc32", `${hex(crc)} as computed`, hex(u32("crc32")));
  const width = u32("width");
  const height = u32("height");
  if (width < 1 || width > MAX_FRAME_SIDE) refuse("width", `1 to ${MAX_FRAME_SIDE} pixels`, width);
  if (height < 1 || height > MAX_FRAME_SIDE) refuse("height", `1 to ${MAX_FRAME_SIDE} pixels`, height);
  const encoding = decodeName(ENCODING_CODES, "encoding", u8("encoding"));
  const element = decodeName(ELEMENT_CODES, "element", u8("element"));
  const stream = decodeName(STREAM_CODES, "stream", u8("stream"));
  const points = stream === "points" ? decodePoints(element, encoding, u8, u16) : undefined;
  if (points === undefined && encoding === "voxels")
    refuse("encoding", "voxels in the stream points alone", encoding);
  if (points === undefined && element === "i16") refuse("element", "i16 in the stream points alone", "i16");
  const pixelBytes = points === undefined ? ELEMENT_BYTES[element] : u16("pointBytes");
  const rawBytes = width * height * pixelBytes;
  if (encoding === "raw" && bodyBytes !== rawBytes) {
    refuse("bodyBytes", `${rawBytes} for raw ${width} x ${height} ${element}`, bodyBytes);
  }
  if ((encoding === "rvl" || encoding === "compressedDepth") && element !== "u16") {
    refuse(
      "element",
      `u16 (${ELEMENT_CODES.u16}), the only element of ${encoding}`,
      `${element} (${u8("element")})`,
    );
  }
  const isColoured = stream === "registered" && encoding === "jpeg" && element === "rgb8";
  if (encoding === "jpeg" && element !== "u8" && !isColoured) {
    refuse("element", `u8 (${ELEMENT_CODES.u8}) for jpeg of ${stream}`, `${element} (${u8("element")})`);
  }
  if (element === "rgb8" && stream !== "left" && !isColoured) {
    refuse("element", `an element of one number: ${stream} has no colours`, `${element} (${u8("element")})`);
  }
  const unitScale = view.getFloat64(at("unitScale"), true);
  const valueOffset = view.getFloat64(at("valueOffset"), true);
  if (!(unitScale > 0 && unitScale < Infinity)) refuse("unitScale", "a finite number above 0", unitScale);
  if (!Number.isFinite(valueOffset)) refuse("valueOffset", "a finite number", valueOffset);
  const offsetKnown = (u16("flags") & FLAG_REALTIME_OFFSET) !== 0;
  const header: FrameHeader = {
    stream,
    encoding,
    element,
    width,
    height,
    headerBytes,
    bodyBytes,
    leftTimestampNs: view.getBigUint64(at("leftTimestampNs"), true),
    rightTimestampNs: view.getBigUint64(at("rightTimestampNs"), true),
    clock: decodeName(CLOCK_CODES, "clock", u8("clock")),
    timestampPoint: decodeTimestampPoint(u16("flags")),
    realtimeOffsetNs: offsetKnown ? view.getBigInt64(at("realtimeOffsetNs"), true) : undefined,
    leftSequence: u32("leftSequence"),
    rightSequence: u32("rightSequence"),
    points: encoding === "voxels" && points ? { ...points, voxelMetres: unitScale } : points,
    reduction: (1 << ((u16("flags") >> REDUCTION_SHIFT) & 3)) as Reduction,
    frameNumber: u32("frameNumber"),
    runId: u32("runId"),
    clockDomain: u32("clockDomain"),
    quantity: decodeName(QUANTITY_CODES, "quantity", u8("quantity")),
    invalidRule: decodeName(INVALID_CODES, "invalidRule", u8("invalidRule")),
    unitScale,
    valueOffset,
    ...(headerBytes >= ENERGY_HEADER_BYTES && { energy: readEnergy(view) }),
  };
  return { header, body: message.subarray(headerBytes) };
}
