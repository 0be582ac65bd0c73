// SPDX-License-Identifier: Apache-2.0
// Reads the frame number off the board in the scene's upper left corner; board.h next to this file describes the board.
// Works on raw and on rectified pictures of either camera: the board is looked for around the place where it should hang.
import { boardCellPixels, SCENE_BASELINE_METRES, sceneView } from "./scene-cameras.js";

const COLUMNS = 10;
const ROWS = 4;
const SCRAMBLE = 0x5a96c3a5;
const BOARD_DEPTH_METRES = 5;
/** Black and white must differ by this much, grey levels of 8 bit. */
const LEAST_CONTRAST = 30;
/** A block must be this far from the middle between black and white, as a share of half their difference. */
const LEAST_MARGIN = 0.2;

/** Grey picture of any row length. */
export interface BoardPicture {
  data: Uint8Array;
  width: number;
  height: number;
  strideBytes?: number;
}

export function boardCrc(number: number): number {
  let crc = 0;
  for (let bit = 23; bit >= 0; bit--) {
    const top = (crc >> 7) ^ ((number >> bit) & 1);
    crc = ((crc << 1) & 0xff) ^ (top ? 0x07 : 0);
  }
  return crc;
}

/** A place where the board may hang: upper left corner of block (0, 0) and block side, pixels. */
interface Place {
  x: number;
  y: number;
  cell: number;
}

/** Mean grey of a small square around (x, y), or -1 outside the picture. */
function greyAround(picture: BoardPicture, x: number, y: number, reach: number): number {
  const cx = Math.round(x);
  const cy = Math.round(y);
  if (cx < reach || cy < reach || cx + reach >= picture.width || cy + reach >= picture.height) return -1;
  const stride = picture.strideBytes ?? picture.width;
  let sum = 0;
  for (let row = cy - reach; row <= cy + reach; row++) {
    for (let column = cx - reach; column <= cx + reach; column++) sum += picture.data[row * stride + column]!;
  }
  return sum / (2 * reach + 1) ** 2;
}

/** The number at a place and how surely it is there, or undefined. */
function readAt(
  picture: BoardPicture,
  place: Place,
  reach: number,
): { number: number; margin: number } | undefined {
  const grey = (column: number, row: number) =>
    greyAround(
      picture,
      place.x + (column + 0.5) * place.cell - 0.5,
      place.y + (row + 0.5) * place.cell - 0.5,
      reach,
    );
  // The two outer columns: white black white black against black white black white.
  let lightest = 255;
  let darkest = 0;
  for (let row = 0; row < ROWS; row++) {
    const white = grey(row % 2 === 0 ? 0 : COLUMNS - 1, row);
    const black = grey(row % 2 === 0 ? COLUMNS - 1 : 0, row);
    if (white < 0 || black < 0) return undefined;
    lightest = Math.min(lightest, white);
    darkest = Math.max(darkest, black);
    if (lightest - darkest < LEAST_CONTRAST) return undefined;
  }
  const middle = (lightest + darkest) / 2;
  const half = (lightest - darkest) / 2;
  // The frame around the blocks is black.
  for (let column = 0; column < COLUMNS; column++) {
    if (grey(column, -0.75) > middle || grey(column, ROWS - 0.25) > middle) return undefined;
  }
  let word = 0;
  let margin = 1;
  for (let row = 0; row < ROWS; row++) {
    for (let column = 1; column <= 8; column++) {
      const value = grey(column, row);
      if (value < 0) return undefined;
      margin = Math.min(margin, Math.abs(value - middle) / half);
      if (margin < LEAST_MARGIN) return undefined;
      word = (word << 1) | (value > middle ? 1 : 0);
    }
  }
  word ^= SCRAMBLE;
  const number = word >>> 8;
  return boardCrc(number) === (word & 0xff) ? { number, margin } : undefined;
}

/**
 * The number of a frame of the synthetic scene, modulo 2^24, or undefined where no board can be read.
 * @param picture of the left or right camera, raw or rectified, grey u8; a board of blocks down to 4 pixels is read
 */
export function readFrameIndex(picture: BoardPicture): number | undefined {
  const cell = boardCellPixels(picture.width);
  const disparity = (sceneView(picture.width, 1).focalPixels * SCENE_BASELINE_METRES) / BOARD_DEPTH_METRES;
  const reach = cell >= 6 ? 1 : 0;
  let best: { number: number; margin: number } | undefined;
  const step = cell / 4;
  for (const zoom of [1, 0.96, 1.04, 0.92, 1.08, 0.88]) {
    const half = (length: number, at: number) => (at - length / 2) * zoom + length / 2;
    for (const shift of [disparity, 0]) {
      const x = half(picture.width, 1.5 * cell + shift);
      const y = half(picture.height, 1.5 * cell);
      for (let dy = -14; dy <= 14; dy++) {
        for (let dx = -14; dx <= 14; dx++) {
          const place = { x: x + dx * step, y: y + dy * step, cell: cell * zoom };
          const found = readAt(picture, place, reach);
          if (found && (best === undefined || found.margin > best.margin)) best = found;
        }
      }
    }
    if (best && best.margin > 0.6) return best.number;
  }
  return best?.number;
}
