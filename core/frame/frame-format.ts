// SPDX-License-Identifier: Apache-2.0
// The frame header as data: names, byte offsets, types and code numbers. payload.ts writes and parses by this table, and a
// test holds docs/reference/frames.md against it.

/** Streams that carry frames, with their number on the wire. */
export const STREAM_CODES = {
  depth: 1,
  disparity: 2,
  confidence: 3,
  left: 4,
  points: 5,
  right: 6,
  registered: 7,
  registeredConfidence: 8,
} as const;
export type StreamName = keyof typeof STREAM_CODES;

/** Streams that the live page shows: images with one value a pixel. */
export type PictureStream = Extract<StreamName, "depth" | "disparity" | "confidence" | "left">;
export const PICTURE_STREAMS: readonly PictureStream[] = ["depth", "disparity", "confidence", "left"];

export const isPicture = (name: StreamName): name is PictureStream =>
  PICTURE_STREAMS.some((one) => one === name);

/** Streams of another camera's image: their topics end with its name. */
export type RegisteredStream = Extract<StreamName, "registered" | "registeredConfidence">;
export const isRegistered = (name: StreamName): name is RegisteredStream =>
  name === "registered" || name === "registeredConfidence";

/** How a body is packed, with its number on the wire. */
export const ENCODING_CODES = { raw: 1, rvl: 2, png: 3, compressedDepth: 4, jpeg: 5, voxels: 6 } as const;
export type Encoding = keyof typeof ENCODING_CODES;

/** Element of the decoded picture, little-endian, row by row without padding; rgb8: three bytes, red first. */
export const ELEMENT_CODES = { u8: 1, u16: 2, f32: 3, rgb8: 4, i16: 5 } as const;
export type Element = keyof typeof ELEMENT_CODES;
export const ELEMENT_BYTES: Readonly<Record<Element, number>> = { u8: 1, u16: 2, f32: 4, rgb8: 3, i16: 2 };

/** Clock of the two capture times. `file`: from a recording, unrelated to any clock of the board. */
export const CLOCK_CODES = { monotonic: 1, realtime: 2, file: 3 } as const;
export type FrameClock = keyof typeof CLOCK_CODES;

/** The meaning of a scaled value: `count * unitScale + valueOffset`. */
export const QUANTITY_CODES = {
  depthMetres: 1,
  disparityPixels: 2,
  confidence: 3,
  greyValue: 4,
  colourValue: 5,
  pointMetres: 6,
} as const;
export type Quantity = keyof typeof QUANTITY_CODES;

/** Which count means "no value here". */
export const INVALID_CODES = { none: 0, zero: 1, nan: 2, lowest: 3 } as const;
export type InvalidRule = keyof typeof INVALID_CODES;

/**
 * Frame of reference of points. camera: x right, y down, z ahead, from the left camera. robot: x ahead, y left, z up,
 * from the middle of the baseline.
 */
export const POINT_FRAME_CODES = { camera: 1, robot: 2 } as const;
export type PointFrameName = keyof typeof POINT_FRAME_CODES;
export const POINT_COLOUR_CODES = { none: 0, grey: 1, rgb: 2 } as const;
export type PointColour = keyof typeof POINT_COLOUR_CODES;

/** Describes the points of a frame. */
export interface PointsForm {
  frame: PointFrameName;
  /** none: voxels. */
  colour: PointColour;
  /** Edge of the smallest voxel; only of the encoding voxels. */
  voxelMetres?: number | undefined;
}

/** Bytes of one point: x, y, z, then blue, green, red and 255; of i16 with grey the grey and 0 instead; of voxels 0. */
export function bytesOfPoint(element: Element, colour: PointColour): number {
  if (colour === "none") return 0;
  return element === "f32" ? 16 : colour === "rgb" ? 10 : 8;
}

/** First four bytes, ASCII "DWFR" (read as a little-endian u32). */
export const FRAME_MAGIC = 0x52465744;
export const FRAME_VERSION = 1;
export const FRAME_HEADER_BYTES = 96;
/** Headers may be longer: readers skip what they do not know. */
/** ROS ConfigHeader (12 bytes), then columns and rows (u32 each), in front of the RVL words of `compressedDepth`. */
export const COMPRESSED_DEPTH_HEADER_BYTES = 20;
/** Free bytes that a writer needs in front of a body, for every encoding; equals the engine's headroom. */
export const FRAME_HEADROOM_BYTES = 128;
/** Flag bit 0: realtimeOffsetNs is known. Bits above 4 are written 0 and ignored on reading. */
export const FLAG_REALTIME_OFFSET = 1;
/**
 * Flag bits 1 and 2: the moment that the capture times stand for, as the driver reports it; neither if it is unknown.
 */
export const TIMESTAMP_POINT_FLAGS = { startOfExposure: 2, endOfFrame: 4 } as const;
export type FrameTimestampPoint = keyof typeof TIMESTAMP_POINT_FLAGS;
/** Flag bits 3 and 4: the exponent of `reduction`, a power of two. */
export const REDUCTION_SHIFT = 3;
/**
 * Subsampling: of each square of reduction x reduction pixels, the upper left one was sent. Pixel (x, y) is pixel
 * (reduction x, reduction y) of the computed image. Voxels are so many times as large.
 */
export type Reduction = 1 | 2 | 4 | 8;
/** Largest width or height of a picture, pixels. */
export const MAX_FRAME_SIDE = 16384;

export type FieldType = "u8" | "u16" | "u32" | "u64" | "i64" | "f32" | "f64" | "bytes";

/** name: [byte offset, bytes, type]. */
export const FRAME_FIELDS = {
  magic: [0, 4, "u32"],
  version: [4, 2, "u16"],
  headerBytes: [6, 2, "u16"],
  stream: [8, 1, "u8"],
  encoding: [9, 1, "u8"],
  element: [10, 1, "u8"],
  clock: [11, 1, "u8"],
  flags: [12, 2, "u16"],
  quantity: [14, 1, "u8"],
  invalidRule: [15, 1, "u8"],
  width: [16, 4, "u32"],
  height: [20, 4, "u32"],
  bodyBytes: [24, 4, "u32"],
  frameNumber: [28, 4, "u32"],
  leftTimestampNs: [32, 8, "u64"],
  rightTimestampNs: [40, 8, "u64"],
  realtimeOffsetNs: [48, 8, "i64"],
  leftSequence: [56, 4, "u32"],
  rightSequence: [60, 4, "u32"],
  unitScale: [64, 8, "f64"],
  valueOffset: [72, 8, "f64"],
  runId: [80, 4, "u32"],
  clockDomain: [84, 4, "u32"],
  pointBytes: [88, 2, "u16"],
  pointFrame: [90, 1, "u8"],
  pointColour: [91, 1, "u8"],
  crc32: [92, 4, "u32"],
} as const satisfies Record<string, readonly [number, number, FieldType]>;
export type FieldName = keyof typeof FRAME_FIELDS;

export interface ValueMeaning {
  quantity: Quantity;
  invalidRule: InvalidRule;
  unitScale: number;
  valueOffset: number;
}

/**
 * Scale, offset and invalid rule of a stream's values. Disparity travels unsigned as disparityQ4 + 1, so that 0 is free to
 * mean "invalid": pixels = count / 16 - 1 / 16, exact in float64.
 */
export function valueMeaning(stream: StreamName, element: Element): ValueMeaning {
  const invalidRule: InvalidRule = element === "f32" ? "nan" : "zero";
  if (stream === "depth" || (stream === "registered" && element !== "rgb8")) {
    return { quantity: "depthMetres", invalidRule, unitScale: element === "f32" ? 1 : 0.001, valueOffset: 0 };
  }
  if (stream === "disparity") {
    const [unitScale, valueOffset] = element === "f32" ? [1, 0] : [1 / 16, -1 / 16];
    return { quantity: "disparityPixels", invalidRule, unitScale, valueOffset };
  }
  if (stream === "points") {
    const [unitScale, rule] = element === "f32" ? ([1, "nan"] as const) : ([0.001, "lowest"] as const);
    return { quantity: "pointMetres", invalidRule: rule, unitScale, valueOffset: 0 };
  }
  const brightness = element === "rgb8" ? "colourValue" : "greyValue";
  const quantity = stream === "confidence" || stream === "registeredConfidence" ? "confidence" : brightness;
  return { quantity, invalidRule: "none", unitScale: 1, valueOffset: 0 };
}
