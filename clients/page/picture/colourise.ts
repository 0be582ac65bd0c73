// SPDX-License-Identifier: Apache-2.0
// From counts to colours through a table with one entry per count, so that a frame costs one read and one write a pixel.
import type { Counts, FrameHeader } from "depthwatt-consumer/frames";

export interface Range {
  min: number;
  max: number;
}

export interface Paint {
  /** 256 colours (colourTable). */
  colours: Uint32Array;
  /** Values at the two ends of the colours, in metres, pixels or plain numbers. */
  range: Range;
  /** Depth: near is the end of the colours, as a large disparity is. */
  reversed: boolean;
}

export type Meaning = Pick<FrameHeader, "unitScale" | "valueOffset" | "invalidRule">;

/** Transparent: what lies under the picture says "no value". */
const NO_VALUE = 0;

function pickColour(value: number, { colours, range, reversed }: Paint): number {
  const share = (value - range.min) / (range.max - range.min || 1);
  const clamped = Math.min(1, Math.max(0, reversed ? 1 - share : share));
  return colours[Math.round(clamped * 255)]!;
}

/** Returns the value of a count, NaN if it is invalid. */
export function meant({ unitScale, valueOffset, invalidRule }: Meaning, count: number): number {
  return invalidRule === "zero" && count === 0 ? Number.NaN : count * unitScale + valueOffset;
}

/** The colour of each count; @param size 256 for u8, 65536 for u16 */
export function buildTable(meaning: Meaning, paint: Paint, size: number): Uint32Array {
  const table = new Uint32Array(size);
  for (let count = 0; count < size; count++) {
    const value = meant(meaning, count);
    table[count] = Number.isNaN(value) ? NO_VALUE : pickColour(value, paint);
  }
  return table;
}

/** Writes one RGBA word a pixel; f32 counts have no table and are painted one by one. */
export function colourise(
  counts: Counts,
  meaning: Meaning,
  paint: Paint,
  table: Uint32Array,
  out: Uint32Array,
): void {
  const pixels = Math.min(counts.length, out.length);
  if (counts instanceof Float32Array) {
    for (let i = 0; i < pixels; i++) {
      const value = counts[i]! * meaning.unitScale + meaning.valueOffset;
      out[i] = Number.isNaN(value) ? NO_VALUE : pickColour(value, paint);
    }
    return;
  }
  for (let i = 0; i < pixels; i++) out[i] = table[counts[i]!]!;
}

/** Grey as it is, opaque. */
export function paintGrey(grey: Counts, out: Uint32Array): void {
  const pixels = Math.min(grey.length, out.length);
  for (let i = 0; i < pixels; i++) out[i] = 0xff000000 | (grey[i]! * 0x010101);
}

/** Hides pixels whose confidence is below a limit. */
export function hideUnsure(confidence: Counts, least: number, out: Uint32Array): void {
  const pixels = Math.min(confidence.length, out.length);
  for (let i = 0; i < pixels; i++) if (confidence[i]! < least) out[i] = NO_VALUE;
}

/**
 * Marks pixels that have a filled value (confidence 0) by dark diagonals, 2 of 6 pixels wide: a shape, so that it is
 * readable without colour too.
 */
export function markFilled(confidence: Counts, width: number, out: Uint32Array): void {
  const pixels = Math.min(confidence.length, out.length);
  for (let i = 0, x = 0, y = 0; i < pixels; i++) {
    if (confidence[i] === 0 && out[i] !== NO_VALUE && (x + y) % 6 < 2) {
      const colour = out[i]!;
      out[i] = 0xff000000 | ((colour >>> 1) & 0x7f7f7f);
    }
    if (++x === width) {
      x = 0;
      y++;
    }
  }
}
