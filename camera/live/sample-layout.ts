// SPDX-License-Identifier: Apache-2.0
// Where the eight highest bits of each sample are in a camera's image.
import type { PixelFormat } from "../frame.js";

export interface SampleLayout {
  /** First sample of a row, bytes. */
  offset: number;
  /** From one sample to the next, bytes. */
  bytes: number;
  /** Sample = little-endian word >> shift, low byte; 0: the byte itself. */
  shift: number;
}

export function sampleLayout(format: PixelFormat): SampleLayout {
  if (format === "UYVY" || format === "Y8I_RIGHT") return { offset: 1, bytes: 2, shift: 0 };
  // Green makes up most of the brightness.
  if (format === "RGB8") return { offset: 1, bytes: 3, shift: 0 };
  if (format === "YUYV" || format === "Y8I_LEFT") return { offset: 0, bytes: 2, shift: 0 };
  const bits = Number(/(10|12|16)$/.exec(format)?.[1] ?? 8);
  return format === "NV12" || bits === 8
    ? { offset: 0, bytes: 1, shift: 0 }
    : { offset: 0, bytes: 2, shift: bits - 8 };
}

export const sampleAt = (data: Uint8Array, at: number, shift: number): number =>
  shift === 0 ? data[at]! : ((data[at]! | (data[at + 1]! << 8)) >> shift) & 0xff;
