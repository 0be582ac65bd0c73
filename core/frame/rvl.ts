// SPDX-License-Identifier: Apache-2.0
// RVL, the run-length code for depth pictures (Wilson, "Fast Lossless Depth Image Compression", ISS 2017), word for word as
// ROS compressed_depth_image_transport writes it. The decoder trusts nothing: every run is checked before it is written.
import { DepthwattError } from "../errors.js";
import { NibbleReader } from "./nibbles.js";

// A picture is a sequence of (zeros, nonzeros, one delta per nonzero). nibbles.ts writes the numbers.
// A delta is the difference to the previous nonzero pixel (0 at the start), folded to 0, 1, 2, ... = 0, -1, 1, ...

/**
 * Most bytes that `pixels` pixels can take. A delta of 16-bit values needs at most 6 nibbles; a picture without zeros has
 * two counts besides, and every zero saves more than the counts around it cost.
 */
export function rvlMaxBytes(pixels: number): number {
  return Math.ceil((6 * pixels + 12) / 8) * 4;
}

/**
 * Packs `pixels` into `output` from `offset` on; returns the bytes written, a multiple of 4.
 * @throws DepthwattError INTERNAL where `output` has less than rvlMaxBytes(pixels.length) bytes left
 */
export function encodeRvl(pixels: Uint16Array, output: Uint8Array, offset = 0): number {
  const room = output.length - offset;
  if (room < rvlMaxBytes(pixels.length)) {
    throw new DepthwattError(
      "INTERNAL",
      `RVL: expected room for ${rvlMaxBytes(pixels.length)} bytes, got ${room}`,
    );
  }
  const view = new DataView(output.buffer, output.byteOffset + offset, room);
  const end = pixels.length;
  let word = 0;
  let nibbles = 0;
  let bytes = 0;
  let previous = 0;
  let index = 0;
  // 0: next is the count of zeros, 1: the count of nonzeros, 2: a delta.
  let state = 0;
  let runEnd = 0;
  while (index < end || state === 1) {
    let value: number;
    if (state === 2) {
      const current = pixels[index++]!;
      const delta = current - previous;
      value = (delta << 1) ^ (delta >> 31);
      previous = current;
      if (index === runEnd) state = 0;
    } else if (state === 0) {
      const start = index;
      while (index < end && pixels[index] === 0) index++;
      value = index - start;
      state = 1;
    } else {
      runEnd = index;
      while (runEnd < end && pixels[runEnd] !== 0) runEnd++;
      value = runEnd - index;
      state = value > 0 ? 2 : 0;
    }
    do {
      const more = value > 7 ? 8 : 0;
      word = (word << 4) | (value & 7) | more;
      value >>>= 3;
      if (++nibbles === 8) {
        view.setInt32(bytes, word, true);
        bytes += 4;
        nibbles = 0;
      }
    } while (value > 0);
  }
  if (nibbles > 0) {
    view.setInt32(bytes, word << (4 * (8 - nibbles)), true);
    bytes += 4;
  }
  return bytes;
}

/**
 * Unpacks exactly `pixels.length` pixels.
 * @throws DepthwattError PAYLOAD_INVALID where a run is longer than the picture, a value lies outside 1 to 65535, or the
 * body ends early or late; `pixels` then holds what came before
 */
export function decodeRvl(body: Uint8Array, pixels: Uint16Array): void {
  const reader = new NibbleReader(body, "RVL");
  const end = pixels.length;
  let previous = 0;
  let index = 0;
  while (index < end) {
    const zeros = reader.read();
    if (zeros > end - index) reader.refuse(`at most ${end - index} zeros`, zeros);
    pixels.fill(0, index, index + zeros);
    index += zeros;
    const nonzeros = reader.read();
    if (nonzeros > end - index) reader.refuse(`at most ${end - index} values`, nonzeros);
    // Encoders write (0, 0) never; a body that repeats it would keep a decoder busy for its whole length.
    if (zeros + nonzeros === 0) reader.refuse("a run of at least one pixel", 0);
    for (const runEnd = index + nonzeros; index < runEnd; index++) {
      const folded = reader.read();
      previous += (folded >>> 1) ^ -(folded & 1);
      if (previous < 1 || previous > 65535) reader.refuse("a value from 1 to 65535", previous);
      pixels[index] = previous;
    }
  }
  reader.end();
}
