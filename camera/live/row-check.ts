// SPDX-License-Identifier: Apache-2.0
// Notices images whose rows are shifted against each other: the driver reports another row length than it writes. Pure.
import type { RawImage } from "../frame.js";
import { sampleAt, sampleLayout } from "./sample-layout.js";

/** Rows that are compared, each with the second row below it, which has the same colours in a mosaic. */
const ROWS = 24;
const APART = 2;
/** Largest shift between two compared rows, samples, and the samples compared. */
const LARGEST_SHIFT = 128;
const COLUMNS = 256;
/** Shift per row from which drivers' errors begin: rows are padded to 8 samples or more. */
const SMALLEST_SHIFT = 4;
/** Mean difference of rows in place, grey levels, below which an image has too little texture to judge. */
const LEAST_TEXTURE = 4;
/** Rows count as shifted if the difference in the shifted place is below this part of that in place. */
const SHIFTED_PART = 0.5;
/** Images that are looked at, counted from the start of the stream. */
const LOOKED_AT = [0, 15, 60];

/**
 * Returns by how many samples each row is shifted to the right against the row above, or undefined if rows are in
 * place or the image has too little texture. Expects at least 128 columns and 32 rows.
 */
export function rowShift(image: RawImage): number | undefined {
  const { width, height, data, strideBytes } = image;
  if (width < 128 || height < 32) return undefined;
  const layout = sampleLayout(image.format);
  const largest = APART * Math.floor(Math.min(LARGEST_SHIFT, width / 4) / APART);
  const columns = Math.min(COLUMNS, width - 2 * largest);
  const firstColumn = Math.floor((width - columns) / 2);
  // All rows are shifted alike, so rows that are APART are shifted by a multiple of it.
  const moves = Math.floor((2 * largest) / APART) + 1;
  const sums = new Float64Array(moves);
  const upper = new Uint8Array(columns);
  const lower = new Uint8Array(columns + 2 * largest);
  const read = (y: number, from: number, samples: Uint8Array) => {
    for (let i = 0; i < samples.length; i++) samples[i] = sampleAt(data, y * strideBytes, from + i, layout);
  };
  for (let row = 0; row < ROWS; row++) {
    const y = Math.floor(((row + 0.5) * (height - APART)) / ROWS);
    read(y, firstColumn, upper);
    read(y + APART, firstColumn - largest, lower);
    for (let move = 0; move < moves; move++) {
      let sum = 0;
      for (let i = 0; i < columns; i++) sum += Math.abs(upper[i]! - lower[i + APART * move]!);
      sums[move]! += sum;
    }
  }
  const inPlace = sums[largest / APART]!;
  const best = sums.indexOf(Math.min(...sums));
  const perRow = best - largest / APART;
  const isShifted =
    Math.abs(perRow) >= SMALLEST_SHIFT &&
    inPlace >= LEAST_TEXTURE * columns * ROWS &&
    sums[best]! < SHIFTED_PART * inPlace;
  return isShifted ? perRow : undefined;
}

/** Judges a few images of a stream. */
export class RowCheck {
  readonly #path: string;
  #images = 0;
  #previous: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns a warning when two images in turn are shifted by the same number of samples. */
  add(image: RawImage): string | undefined {
    const number = this.#images++;
    if (!LOOKED_AT.includes(number)) return undefined;
    const shift = rowShift(image);
    const isSame = shift !== undefined && shift === this.#previous;
    this.#previous = shift;
    if (!isSame) return undefined;
    this.#images = LOOKED_AT.at(-1)! + 1;
    const { bytes, groupLog2 } = sampleLayout(image.format);
    // A row that is longer in memory than reported begins later than the next row is read.
    const realBytes = image.strideBytes + shift * bytes + Math.trunc(shift / 2 ** groupLog2);
    return `${this.#path}: the image is sheared: the driver reports rows of ${image.strideBytes} bytes and seems to write ${realBytes}. Choose another width, such as a multiple of 64 pixels, and report the driver's error.`;
  }
}
