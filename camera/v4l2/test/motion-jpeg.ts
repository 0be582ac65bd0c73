// SPDX-License-Identifier: Apache-2.0
// Motion JPEG frames as webcams send them, constructed: no library writes them so. A baseline encoder that can leave out the
// Huffman tables, write an AVI1 segment, halve the chroma sideways only and put restart markers between its units.
// The layout is that of "USB Device Class Definition for Video Devices: Motion-JPEG Payload" 1.1; the AVI1 segment is the
// one that a Logitech C270 was recorded to send (loyd/rscam issue 20).
import sharp from "sharp";

export interface MotionJpeg {
  width: number;
  height: number;
  /** Y and both chroma values of a pixel, 0 to 255. */
  pixel(x: number, y: number): [number, number, number];
  /** How many luma blocks a chroma block stands for, across and down; default 2 x 1, which is 4:2:2. */
  chroma?: { across: 1 | 2; down: 1 | 2 };
  /** Units between two restart markers; default none. */
  restartInterval?: number;
  /** Default true: leave the Huffman tables out, as most cameras do. */
  withoutTables?: boolean;
  /** Default AVI1. */
  firstSegment?: "AVI1" | "JFIF" | "none";
}

interface Huffman {
  /** Code of each symbol and the number of its bits. */
  codes: Map<number, [code: number, bits: number]>;
  /** The segment, marker and length included. */
  segment: Uint8Array;
}

/** Both DC and both AC tables of the standard, by class << 4 | number: those that libjpeg writes when it may not choose. */
async function standardTables(): Promise<Map<number, Huffman>> {
  const image = sharp({ create: { width: 16, height: 16, channels: 3, background: "#258" } });
  const bytes = await image.jpeg({ optimiseCoding: false }).toBuffer();
  const tables = new Map<number, Huffman>();
  for (let at = 2; bytes[at + 1] !== 0xda; at += 2 + bytes.readUInt16BE(at + 2)) {
    if (bytes[at + 1] !== 0xc4) continue;
    const counts = bytes.subarray(at + 5, at + 21);
    const codes: Huffman["codes"] = new Map();
    for (let bits = 1, code = 0, symbol = at + 21; bits <= 16; bits++, code <<= 1) {
      for (let i = 0; i < counts[bits - 1]!; i++) codes.set(bytes[symbol++]!, [code++, bits]);
    }
    tables.set(bytes[at + 4]!, { codes, segment: bytes.subarray(at, at + 2 + bytes.readUInt16BE(at + 2)) });
  }
  return tables;
}

/** Zigzag place -> row-major place. */
const ZIGZAG = Array.from({ length: 64 }, (_, i) => [i % 8, i >> 3] as const)
  .sort(([x, y], [u, v]) => x + y - u - v || ((x + y) % 2 === 0 ? v - y : y - v))
  .map(([x, y]) => 8 * y + x);

const STEP = 3;

function transform(block: readonly number[]): number[] {
  const norm = (k: number) => (k === 0 ? Math.SQRT1_2 : 1);
  return Array.from({ length: 64 }, (_, at) => {
    const [u, v] = [at % 8, at >> 3];
    let sum = 0;
    for (let i = 0; i < 64; i++) {
      const across = Math.cos(((2 * (i % 8) + 1) * u * Math.PI) / 16);
      sum += (block[i]! - 128) * across * Math.cos(((2 * (i >> 3) + 1) * v * Math.PI) / 16);
    }
    return Math.round((norm(u) * norm(v) * sum) / 4 / STEP);
  });
}

class BitWriter {
  readonly bytes: number[] = [];
  #bits = 0;
  #count = 0;

  put(value: number, bits: number): void {
    for (let i = bits - 1; i >= 0; i--) {
      this.#bits = (this.#bits << 1) | ((value >> i) & 1);
      if (++this.#count < 8) continue;
      this.bytes.push(this.#bits);
      if (this.#bits === 0xff) this.bytes.push(0);
      this.#bits = this.#count = 0;
    }
  }

  /** Fills the byte up with ones. */
  align(): void {
    if (this.#count > 0) this.put(0xff, 8 - this.#count);
  }
}

const bitLength = (value: number) => (value === 0 ? 0 : Math.floor(Math.log2(Math.abs(value))) + 1);

function putNumber(out: BitWriter, table: Huffman, run: number, value: number): void {
  const size = bitLength(value);
  out.put(...table.codes.get((run << 4) | size)!);
  out.put(value < 0 ? value + (1 << size) - 1 : value, size);
}

/** @returns the block's DC value, for the next one's difference */
function putBlock(out: BitWriter, dc: Huffman, ac: Huffman, pixels: number[], previous: number): number {
  const values = transform(pixels);
  putNumber(out, dc, 0, values[0]! - previous);
  let run = 0;
  for (const at of ZIGZAG.slice(1)) {
    const value = values[at]!;
    if (value === 0) {
      run++;
      continue;
    }
    for (; run > 15; run -= 16) out.put(...ac.codes.get(0xf0)!);
    putNumber(out, ac, run, value);
    run = 0;
  }
  if (run > 0) out.put(...ac.codes.get(0)!);
  return values[0]!;
}

const segment = (marker: number, ...body: number[]) => [
  0xff,
  marker,
  (body.length + 2) >> 8,
  (body.length + 2) & 255,
  ...body,
];
const FIRST = {
  AVI1: segment(0xe0, ...Buffer.from("AVI1"), 0, 1, 1, 1, 0, 0x78, 0, 0x78, ...new Array<number>(19).fill(0)),
  JFIF: segment(0xe0, ...Buffer.from("JFIF\0"), 1, 1, 0, 0, 1, 0, 1, 0, 0),
  none: [],
};

export async function motionJpeg(options: MotionJpeg): Promise<Buffer> {
  const { width, height, pixel, restartInterval = 0, withoutTables = true, firstSegment = "AVI1" } = options;
  const { across, down } = options.chroma ?? { across: 2, down: 1 };
  const tables = await standardTables();
  const [dc0, ac0, dc1, ac1] = [0x00, 0x10, 0x01, 0x11].map((key) => tables.get(key)!);
  const at = (x: number, y: number) => pixel(Math.min(x, width - 1), Math.min(y, height - 1));
  const blockPixels = (left: number, top: number, component: number, stepX: number, stepY: number) =>
    Array.from({ length: 64 }, (_, i) => at(left + stepX * (i % 8), top + stepY * (i >> 3))[component]!);
  const out = new BitWriter();
  const last = [0, 0, 0];
  const [columns, rows] = [Math.ceil(width / (8 * across)), Math.ceil(height / (8 * down))];
  for (let unit = 0; unit < columns * rows; unit++) {
    if (restartInterval > 0 && unit > 0 && unit % restartInterval === 0) {
      out.align();
      out.bytes.push(0xff, 0xd0 + ((unit / restartInterval - 1) % 8));
      last.fill(0);
    }
    const [left, top] = [8 * across * (unit % columns), 8 * down * Math.floor(unit / columns)];
    for (let i = 0; i < across * down; i++) {
      const luma = blockPixels(left + 8 * (i % across), top + 8 * Math.floor(i / across), 0, 1, 1);
      last[0] = putBlock(out, dc0!, ac0!, luma, last[0]!);
    }
    for (const c of [1, 2])
      last[c] = putBlock(out, dc1!, ac1!, blockPixels(left, top, c, across, down), last[c]!);
  }
  out.align();
  const size = [height >> 8, height & 255, width >> 8, width & 255];
  return Buffer.from([
    0xff,
    0xd8,
    ...FIRST[firstSegment],
    ...(restartInterval > 0 ? segment(0xdd, restartInterval >> 8, restartInterval & 255) : []),
    ...[0, 1].flatMap((number) => segment(0xdb, number, ...new Array<number>(64).fill(STEP))),
    ...(withoutTables ? [] : [...tables.values()].flatMap((table) => [...table.segment])),
    ...segment(0xc0, 8, ...size, 3, 1, (across << 4) | down, 0, 2, 0x11, 1, 3, 0x11, 1),
    ...segment(0xda, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0),
    ...out.bytes,
    0xff,
    0xd9,
  ]);
}
