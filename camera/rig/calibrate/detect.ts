// SPDX-License-Identifier: Apache-2.0
// Looks for a board in pictures, and guesses the size of a chessboard from what many of them show.
import { DepthwattError } from "../../../core/index.js";
import type { GreyImage } from "../../recordings/images/index.js";
import type { Board } from "./board.js";
import { type CalibrateExports, type Detection, PATTERNS } from "./native.js";

/** Grey of 8 bits: pictures of 16 bits are scaled so that their brightest pixel is 255. */
function eightBits({ data }: GreyImage): Uint8Array {
  if (data instanceof Uint8Array) return data;
  let brightest = 1;
  for (const value of data) if (value > brightest) brightest = value;
  const out = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) out[i] = Math.round((data[i]! * 255) / brightest);
  return out;
}

/** @throws DepthwattError ENGINE_PARAMETER for a picture below 16 or above 16384 pixels a side */
export function detectIn(native: CalibrateExports, image: GreyImage, board: Board): Promise<Detection> {
  return native.detectBoard({
    image: eightBits(image),
    width: image.width,
    height: image.height,
    pattern: PATTERNS.indexOf(board.pattern),
    columns: board.columns,
    rows: board.rows,
    dictionary: board.dictionary ?? 0,
    markerShare: board.markerMetres === undefined ? 0 : board.markerMetres / board.squareMetres,
  });
}

/** Detects the largest chessboard that the image shows in full, of any size. */
export function guessDetection(native: CalibrateExports, image: GreyImage): Promise<Detection> {
  return detectIn(native, image, { pattern: "chessboard", columns: 0, rows: 0, squareMetres: 1 });
}

export interface BoardGuess {
  readonly columns: number;
  readonly rows: number;
  /** Pictures that show this size, and pictures that show any. */
  readonly pictures: number;
  readonly ofPictures: number;
}

/** Smaller boards are a coincidence of other things. */
const LEAST_SIDE = 3;

/**
 * The size that the pictures agree on: the commonest, of equally common ones the larger, because a hidden row makes a board
 * look smaller and nothing makes it look larger in many pictures.
 * @throws DepthwattError BOARD_NOT_FOUND where no picture shows a board
 */
export function guessBoard(detections: readonly Detection[]): BoardGuess {
  const counts = new Map<string, { columns: number; rows: number; pictures: number }>();
  for (const { columns, rows, absence } of detections) {
    if (absence !== "none" || Math.min(columns, rows) < LEAST_SIDE) continue;
    const key = `${columns}x${rows}`;
    const entry = counts.get(key) ?? { columns, rows, pictures: 0 };
    entry.pictures++;
    counts.set(key, entry);
  }
  const all = [...counts.values()].sort(
    (a, b) => b.pictures - a.pictures || b.columns * b.rows - a.columns * a.rows,
  );
  const best = all[0];
  if (best === undefined) {
    throw new DepthwattError(
      "BOARD_NOT_FOUND",
      `expected a chessboard in the images, found none in any of ${detections.length}`,
      {
        hint: "Show the whole board with its white border, flat, evenly lit and filling a third of the image; other boards need --pattern and --board.",
      },
    );
  }
  return { ...best, ofPictures: all.reduce((sum, { pictures }) => sum + pictures, 0) };
}
