// SPDX-License-Identifier: Apache-2.0
// PNG bodies: grey of 8 or 16 bit, colours of 8 bit. Unpacks into exactly the bytes that the frame's header claims; a file that would inflate to
// more, or to less, is refused while it is being inflated. Runs in Node and in a browser.
//
// Only the chunks IHDR, IDAT and IEND are read: colour profiles and texts (iCCP, zTXt, iTXt) are compressed too, and
// inflating them could cost gigabytes. Chunk checksums are not checked, because the frame's CRC covers them.
import { Unzlib } from "fflate";
import { nodeBuiltin } from "../../../core/frame/node-builtin.js";

export interface PngKind {
  width: number;
  height: number;
  /** 8 or 16. */
  depth: number;
  /** 1, the default: grey; 3: red, green, blue. */
  channels?: 1 | 3;
}

/** How PNG numbers them. */
const COLOUR_TYPES = { 1: 0, 3: 2 } as const;

interface Zlib {
  inflateSync(data: Uint8Array, options: { maxOutputLength: number; info: true }): InflateInfo;
}
interface InflateInfo {
  buffer: Uint8Array;
  engine: { bytesWritten: number };
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Bytes handed to the browser's inflater at once: deflate grows at most 1032 times, so 4 MiB come out before the next look. */
const SLICE_BYTES = 4096;

const zlib = nodeBuiltin<Zlib>("node:zlib");

function fail(text: string): never {
  throw new Error(text);
}

const chunkName = (body: Uint8Array, at: number) => String.fromCharCode(...body.subarray(at, at + 4));

/** Checks the file's IHDR against `expected`; returns the views of its IDAT chunks. */
function imageData(body: Uint8Array, { width, height, depth, channels = 1 }: PngKind): Uint8Array[] {
  if (SIGNATURE.some((byte, i) => body[i] !== byte)) fail("no PNG signature");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const parts: Uint8Array[] = [];
  let at = SIGNATURE.length;
  for (let first = true; ; first = false) {
    if (at + 12 > body.length) fail("the end of the file inside a chunk");
    const bytes = view.getUint32(at);
    const name = chunkName(body, at + 4);
    const content = at + 8;
    if (bytes > body.length - content - 4) fail(`a chunk ${name} of ${bytes} bytes that is cut off`);
    if (first !== (name === "IHDR")) fail(`${name} ${first ? "in place of" : "after"} IHDR`);
    if (first) {
      if (bytes !== 13) fail(`an IHDR of ${bytes} bytes`);
      const [columns, rows] = [view.getUint32(content), view.getUint32(content + 4)];
      const [bits, colour, method, filter, interlace] = body.subarray(content + 8, content + 13);
      const kind = colour === 0 ? "grey" : `colour type ${colour}`;
      if (columns !== width || rows !== height || bits !== depth || colour !== COLOUR_TYPES[channels])
        fail(`${columns} x ${rows}, ${bits} bit, ${kind}`);
      if (method !== 0 || filter !== 0) fail(`compression ${method} and filter ${filter}`);
      if (interlace !== 0) fail("an interlaced picture");
    } else if (name === "IDAT") parts.push(body.subarray(content, content + bytes));
    at = content + bytes + 4;
    if (name === "IEND") break;
  }
  if (at !== body.length) fail(`${body.length - at} bytes after IEND`);
  return parts;
}

function joined(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Inflates to exactly `bytes`. The portable form, exported so that a test can hold it against zlib's. */
export function inflateByFflate(packed: Uint8Array, bytes: number): Uint8Array {
  const output = new Uint8Array(bytes);
  let written = 0;
  let ended = false;
  const stream = new Unzlib((chunk, final) => {
    if (written + chunk.length > bytes) fail(`more than the ${bytes} bytes of its rows`);
    output.set(chunk, written);
    written += chunk.length;
    ended ||= final;
  });
  for (let at = 0; at < packed.length; at += SLICE_BYTES) {
    stream.push(packed.subarray(at, at + SLICE_BYTES), at + SLICE_BYTES >= packed.length);
  }
  if (!ended || written !== bytes) fail(`${written} of the ${bytes} bytes of its rows`);
  return output;
}

function inflate(packed: Uint8Array, bytes: number): Uint8Array {
  if (zlib === undefined) return inflateByFflate(packed, bytes);
  // One more than wanted: zlib is satisfied with a buffer that is just full, and a surplus would pass.
  const { buffer, engine } = zlib.inflateSync(packed, { maxOutputLength: bytes + 1, info: true });
  if (buffer.length !== bytes) fail(`${buffer.length} of the ${bytes} bytes of its rows`);
  if (engine.bytesWritten !== packed.length)
    fail(`${packed.length - engine.bytesWritten} bytes after the picture`);
  return buffer;
}

function paeth(a: number, b: number, c: number): number {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/** Undoes the rows' filters (PNG section 9), in place; each row is its filter's number and then its bytes. */
function unfilter(rows: Uint8Array, height: number, rowBytes: number, step: number): void {
  for (let y = 0; y < height; y++) {
    const row = y * (rowBytes + 1) + 1;
    const filter = rows[row - 1]!;
    if (filter > 4) fail(`row filter ${filter}`);
    if (filter === 0) continue;
    const above = row - (rowBytes + 1);
    for (let i = 0; i < rowBytes; i++) {
      const a = i < step ? 0 : rows[row + i - step]!;
      const b = y === 0 ? 0 : rows[above + i]!;
      const c = y === 0 || i < step ? 0 : rows[above + i - step]!;
      const guess = filter === 1 ? a : filter === 2 ? b : filter === 3 ? (a + b) >> 1 : paeth(a, b, c);
      rows[row + i] = rows[row + i]! + guess;
    }
  }
}

/**
 * Counts of a PNG, [height][width][channels], u8 or u16 as `expected.depth` says.
 * @throws Error in the words of "found ...": another size or kind, more or fewer bytes than its rows, damage
 */
export function decodePng(body: Uint8Array, expected: PngKind): Uint8Array | Uint16Array {
  const { width, height, depth, channels = 1 } = expected;
  const pixelBytes = (channels * depth) / 8;
  const samples = width * channels;
  const rowBytes = width * pixelBytes;
  const rows = inflate(joined(imageData(body, expected)), height * (rowBytes + 1));
  unfilter(rows, height, rowBytes, pixelBytes);
  const counts = depth === 8 ? new Uint8Array(samples * height) : new Uint16Array(samples * height);
  for (let y = 0, i = 0; y < height; y++) {
    let at = y * (rowBytes + 1) + 1;
    if (depth === 8) counts.set(rows.subarray(at, at + rowBytes), y * samples);
    else for (let x = 0; x < samples; x++, at += 2) counts[i++] = (rows[at]! << 8) | rows[at + 1]!;
  }
  return counts;
}
