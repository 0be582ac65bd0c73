// SPDX-License-Identifier: Apache-2.0
// Makes images to measure how fast this machine reads a camera's formats. The Motion JPEG is as webcams send it: 4:2:2, one
// bit a pixel, and the standard Huffman tables (ITU-T T.81, K.3), which the file leaves out.
import type { CaptureFormat } from "v4l2-camera";
import { formatTrait, isInterleaved } from "v4l2-camera/parts";
import type { PixelFormat } from "../frame.js";

export const SAMPLE_SIZE = { width: 320, height: 240 };

/** Codes and value bits of one block: a step of the mean, then a dozen frequencies, some of them after a zero, and the end. */
const LUMA = "00 100101 0101 0111 001 000 11001 001 000 11000 001 111001 000 1010";
const CHROMA = "00 10010 011 00";

const bytesOf = (...values: number[]) => Uint8Array.from(values);

/** A marker and its segment, whose length it writes. */
function segment(marker: number, ...content: number[]): Uint8Array {
  const length = content.length + 2;
  return bytesOf(0xff, marker, length >> 8, length & 0xff, ...content);
}

/** Packs bits into bytes; a zero follows a byte of ones, so that it is no marker. */
function packBits(bits: string): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < bits.length; at += 8) {
    const byte = Number.parseInt(bits.slice(at, at + 8).padEnd(8, "1"), 2);
    bytes.push(byte, ...(byte === 0xff ? [0] : []));
  }
  return Uint8Array.from(bytes);
}

/** Returns the file. */
export function sampleJpeg(): Uint8Array {
  const { width, height } = SAMPLE_SIZE;
  const units = (width / 16) * (height / 8);
  const unit = (LUMA + LUMA + CHROMA + CHROMA).replaceAll(" ", "");
  return Buffer.concat([
    bytesOf(0xff, 0xd8),
    segment(0xdb, 0, ...Array<number>(64).fill(8)),
    segment(
      0xc0,
      8,
      height >> 8,
      height & 0xff,
      width >> 8,
      width & 0xff,
      3,
      1,
      0x21,
      0,
      2,
      0x11,
      0,
      3,
      0x11,
      0,
    ),
    segment(0xda, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0),
    packBits(unit.repeat(units)),
    bytesOf(0xff, 0xd9),
  ]);
}

/** Returns an image of noise in a raw format; of an interleaved one as the left image is read. */
export function sampleRaw(format: Exclude<CaptureFormat, "MJPEG">): {
  format: PixelFormat;
  strideBytes: number;
  image: Uint8Array;
} {
  const { width, height } = SAMPLE_SIZE;
  const strideBytes = width * formatTrait(format).bytesPerPixel;
  // NV12 has half as many bytes of colour below.
  const bytes = strideBytes * height * (format === "NV12" ? 1.5 : 1);
  const image = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) image[i] = Math.imul(i, 0x9e37_79b1) >>> 24;
  return { format: isInterleaved(format) ? `${format}_LEFT` : format, strideBytes, image };
}
