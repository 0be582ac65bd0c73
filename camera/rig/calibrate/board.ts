// SPDX-License-Identifier: Apache-2.0
// Defines calibration boards: their printed pattern and the position of each point.
import type { Pattern } from "./native.js";

export interface Board {
  readonly pattern: Pattern;
  /** Chessboard: inner corners. Asymmetric circles: circles a row, and rows. ChArUco: squares. */
  readonly columns: number;
  readonly rows: number;
  /** Side of a square; for circles the distance from row to row. */
  readonly squareMetres: number;
  /** ChArUco: side of a marker. */
  readonly markerMetres?: number;
  /** ChArUco: place in DICTIONARIES. */
  readonly dictionary?: number;
}

/** Columns and rows of the points that are found. */
export function boardGrid({ pattern, columns, rows }: Board): { columns: number; rows: number } {
  return pattern === "charuco" ? { columns: columns - 1, rows: rows - 1 } : { columns, rows };
}

export function boardCorners(board: Board): number {
  const { columns, rows } = boardGrid(board);
  return columns * rows;
}

/** Metres on the board of the point `id` = row * columns + column; the first one is the origin. */
export function boardPoint(board: Board, id: number): [number, number] {
  const { columns } = boardGrid(board);
  const row = Math.floor(id / columns);
  const column = id % columns;
  const s = board.squareMetres;
  // OpenCV's asymmetric grid: every other row is shifted by half of the distance between two circles.
  if (board.pattern === "circles") return [(2 * column + (row % 2)) * s, row * s];
  return [column * s, row * s];
}

/** For messages. */
export function boardWords({ pattern, columns, rows }: Board): string {
  const what = { chessboard: "inner corners", circles: "circles", charuco: "squares" }[pattern];
  return `${columns}x${rows} ${what}`;
}
