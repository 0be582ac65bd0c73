// SPDX-License-Identifier: Apache-2.0
// From a packed body to counts, and from counts to metres or pixels.
import {
  bytesOfPoint,
  COMPRESSED_DEPTH_HEADER_BYTES,
  ELEMENT_BYTES,
} from "../../../core/frame/frame-format.js";
import type { FrameHeader } from "../../../core/frame/payload.js";
import { decodeRvl } from "../../../core/frame/rvl.js";
import { decodeVoxels } from "../../../core/frame/voxels.js";
import { DepthwattError, hasCode } from "../../../core/index.js";
import { decodePng } from "./png.js";

/** Counts as they travel, [height][width]: u8, u16 or f32 as the header's `element` says; rgb8: u8, [height][width][3]. */
export type Counts = Uint8Array | Uint16Array | Float32Array;

function refuse(expected: string, found: string, cause?: unknown): never {
  throw new DepthwattError("PAYLOAD_INVALID", `frame body: expected ${expected}, found ${found}`, {
    cause,
    context: { field: "body", expected, found },
  });
}

function makeCounts({ element, width, height, stream }: FrameHeader): Counts {
  if (stream === "points") refuse("a picture", "points: use points()");
  if (element === "u8" || element === "rgb8") return new Uint8Array(width * height * ELEMENT_BYTES[element]);
  return element === "u16" ? new Uint16Array(width * height) : new Float32Array(width * height);
}

function fromPng({ width, height, element }: FrameHeader, body: Uint8Array): Counts {
  const channels = element === "rgb8" ? 3 : 1;
  const depth = (8 * ELEMENT_BYTES[element]) / channels;
  const expected = `a ${channels === 3 ? "colour" : "grey"} PNG of ${width} x ${height}, ${depth} bit`;
  if (element === "f32") refuse("8 or 16 bit counts in a PNG", element);
  try {
    return decodePng(body, { width, height, depth, channels });
  } catch (cause) {
    const found = hasCode(cause, "ERR_BUFFER_TOO_LARGE") ? "more bytes than its rows have" : undefined;
    return refuse(expected, found ?? (cause instanceof Error ? cause.message : String(cause)), cause);
  }
}

/**
 * Largest picture that is unpacked where no consumer asks for another, pixels: 4096 x 4096. A hundred bytes of RVL or PNG can claim
 * 16384 x 16384, which is seconds of work and gigabytes of memory.
 */
export const DEFAULT_MAX_PIXELS = 1 << 24;

/** @throws DepthwattError PAYLOAD_INVALID, field "maxPixels" */
export function checkPixels({ width, height }: FrameHeader, maxPixels: number): void {
  if (width * height <= maxPixels) return;
  throw new DepthwattError(
    "PAYLOAD_INVALID",
    `frame header: expected at most ${maxPixels} pixels, found ${width} x ${height}`,
    {
      hint: "If the publisher's pictures are that large, raise maxPixels (consume: --max-pixels).",
      context: { field: "maxPixels", expected: maxPixels, found: width * height },
    },
  );
}

function checkCompressedDepth({ width, height }: FrameHeader, body: Uint8Array): void {
  if (body.length < COMPRESSED_DEPTH_HEADER_BYTES) {
    refuse(`${COMPRESSED_DEPTH_HEADER_BYTES} bytes of compressedDepth header`, `${body.length} bytes`);
  }
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const [columns, rows] = [view.getUint32(12, true), view.getUint32(16, true)];
  if (columns !== width || rows !== height)
    refuse(`${width} x ${height} as in the header`, `${columns} x ${rows}`);
}

/**
 * Unpacks a body into a new array, aligned for any address of the message. Allocates nothing before it has compared the
 * claimed size with `maxPixels`, and no body unpacks to more than its header claims.
 * @param maxPixels largest width x height, default DEFAULT_MAX_PIXELS
 * @throws DepthwattError PAYLOAD_INVALID; a `jpeg` body is refused: it is a whole JPEG file, for any image library
 */
export function decodeBody(
  header: FrameHeader,
  body: Uint8Array,
  { maxPixels = DEFAULT_MAX_PIXELS }: { maxPixels?: number } = {},
): Counts {
  checkPixels(header, maxPixels);
  if (header.encoding === "jpeg")
    refuse("raw, rvl, png or compressedDepth", "jpeg: use the body as an image file");
  if (header.encoding === "png") return fromPng(header, body);
  const counts = makeCounts(header);
  if (header.encoding === "raw") {
    // parseFrame has checked the length. Little-endian, as every host that Node or a browser runs on.
    new Uint8Array(counts.buffer).set(body);
    return counts;
  }
  if (!(counts instanceof Uint16Array)) return refuse("16-bit counts", header.element);
  if (header.encoding === "compressedDepth") {
    checkCompressedDepth(header, body);
    decodeRvl(body.subarray(COMPRESSED_DEPTH_HEADER_BYTES), counts);
  } else decodeRvl(body, counts);
  return counts;
}

/** Points of a frame, one for each pixel, row by row; of the encoding voxels the middle of each voxel. */
export interface Points {
  /** x, y, z in metres, [height][width][3]; NaN where there is none. Voxels: [count][3]. */
  positions: Float32Array;
  /** Red, green, blue, [height][width][3]; there for every pixel. Empty for voxels. */
  colours: Uint8Array;
}

/**
 * Unpacks points. Nothing is allocated before the claimed size was held against `maxPixels`.
 * @throws DepthwattError PAYLOAD_INVALID: another stream, too many pixels, a damaged body of voxels
 */
export function decodePoints(
  header: FrameHeader,
  body: Uint8Array,
  { maxPixels = DEFAULT_MAX_PIXELS }: { maxPixels?: number } = {},
): Points {
  const { points, element, width, height, unitScale } = header;
  if (points === undefined) refuse("points", header.stream);
  checkPixels(header, maxPixels);
  const count = width * height;
  if (header.encoding === "voxels")
    return { positions: decodeVoxels(body, unitScale, count), colours: new Uint8Array(0) };
  const bytes = bytesOfPoint(element, points.colour);
  const float = element === "f32";
  const positions = new Float32Array(3 * count);
  const colours = new Uint8Array(3 * count);
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let i = 0; i < count; i++) {
    const at = i * bytes;
    for (let axis = 0; axis < 3; axis++) {
      const value = float ? view.getFloat32(at + 4 * axis, true) : view.getInt16(at + 2 * axis, true);
      positions[3 * i + axis] = !float && value === NO_POINT ? Number.NaN : value * unitScale;
    }
    const from = at + (float ? 12 : 6);
    const grey = bytes === 8;
    for (let colour = 0; colour < 3; colour++)
      colours[3 * i + colour] = body[grey ? from : from + 2 - colour]!;
  }
  return { positions, colours };
}

/** Marks a missing point, in millimetres. */
const NO_POINT = -32_768;

/** Metres, pixels or plain values as the header's quantity says; NaN where there is no value. */
export function toValues(header: FrameHeader, counts: Counts): Float32Array {
  const { unitScale, valueOffset, invalidRule } = header;
  const values = new Float32Array(counts.length);
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i]!;
    values[i] = invalidRule === "zero" && count === 0 ? Number.NaN : count * unitScale + valueOffset;
  }
  return values;
}
