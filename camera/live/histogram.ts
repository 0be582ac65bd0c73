// SPDX-License-Identifier: Apache-2.0
// The grey histogram of an image from a sparse grid of its samples, for exposure control. Memory is the caller's.
import type { PixelFormat, RawImage } from "../frame.js";

/** Every so many rows and columns one sample; odd in pixel pairs, so that all four colours of a Bayer cell occur. */
const STEP = 15;

/** Offset of the first sample, bytes per pixel, and bits above eight. */
function sampleLayout(format: PixelFormat): { offset: number; bytes: number; shift: number } {
  if (format === "UYVY" || format === "Y8I_RIGHT") return { offset: 1, bytes: 2, shift: 0 };
  // Green makes up most of the brightness.
  if (format === "RGB8") return { offset: 1, bytes: 3, shift: 0 };
  if (format === "YUYV" || format === "Y8I_LEFT") return { offset: 0, bytes: 2, shift: 0 };
  const bits = Number(/(10|12|16)$/.exec(format)?.[1] ?? 8);
  return format === "NV12" || bits === 8
    ? { offset: 0, bytes: 1, shift: 0 }
    : { offset: 0, bytes: 2, shift: bits - 8 };
}

/** @param counts 256 counts, overwritten */
export function sampleHistogram(image: RawImage, counts: Uint32Array): void {
  const { offset, bytes, shift } = sampleLayout(image.format);
  counts.fill(0);
  for (let y = 0; y < image.height; y += STEP) {
    const row = y * image.strideBytes + offset;
    for (let x = 0; x < image.width; x += STEP) {
      const at = row + x * bytes;
      const sample =
        shift === 0 ? image.data[at]! : ((image.data[at]! | (image.data[at + 1]! << 8)) >> shift) & 0xff;
      counts[sample]!++;
    }
  }
}
