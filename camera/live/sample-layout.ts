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
  /** log2 of the samples that a byte with their low bits follows; 31: such bytes are absent. */
  groupLog2: number;
}

const UNPACKED = 31;

export function sampleLayout(format: PixelFormat): SampleLayout {
  const layout = (offset: number, bytes: number, shift: number, groupLog2 = UNPACKED) => ({
    offset,
    bytes,
    shift,
    groupLog2,
  });
  if (format === "UYVY" || format === "Y8I_RIGHT") return layout(1, 2, 0);
  // Green makes up most of the brightness.
  if (format === "RGB8") return layout(1, 3, 0);
  if (format === "YUYV" || format === "Y8I_LEFT") return layout(0, 2, 0);
  if (format === "Y12I_LEFT") return layout(0, 3, 4);
  if (format === "Y12I_RIGHT") return layout(2, 3, 0);
  if (format.endsWith("10P")) return layout(0, 1, 0, 2);
  if (format.endsWith("12P")) return layout(0, 1, 0, 1);
  const bits = Number(/(10|12|16)$/.exec(format)?.[1] ?? 8);
  return format === "NV12" || bits === 8 ? layout(0, 1, 0) : layout(0, 2, bits - 8);
}

/** Returns the eight highest bits of column x. @param row first byte of the row */
export function sampleAt(data: Uint8Array, row: number, x: number, layout: SampleLayout): number {
  const at = row + layout.offset + x * layout.bytes + (x >> layout.groupLog2);
  return layout.shift === 0 ? data[at]! : ((data[at]! | (data[at + 1]! << 8)) >> layout.shift) & 0xff;
}
