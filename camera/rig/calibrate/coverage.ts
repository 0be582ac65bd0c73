// SPDX-License-Identifier: Apache-2.0
// Which parts of the image the board has been in, and how it was tilted: what a calibration can know of.
import type { Board } from "./board.js";
import { boardCorners, boardGrid } from "./board.js";
import type { Detection } from "./native.js";
import { pointsById } from "./pairs.js";

export const COVERAGE_COLUMNS = 5;
export const COVERAGE_ROWS = 4;

export interface Coverage {
  /** Corners seen in each cell, COVERAGE_ROWS rows of COVERAGE_COLUMNS. */
  readonly counts: readonly number[];
  /** Share of cells that corners were seen in, 0 to 1. */
  readonly share: number;
}

export function measureCoverage(detections: readonly Detection[], width: number, height: number): Coverage {
  const counts = new Array<number>(COVERAGE_COLUMNS * COVERAGE_ROWS).fill(0);
  for (const { points } of detections) {
    for (let at = 0; at < points.length; at += 2) {
      const column = Math.min(Math.floor((points[at]! / width) * COVERAGE_COLUMNS), COVERAGE_COLUMNS - 1);
      const row = Math.min(Math.floor((points[at + 1]! / height) * COVERAGE_ROWS), COVERAGE_ROWS - 1);
      if (column >= 0 && row >= 0) counts[row * COVERAGE_COLUMNS + column]!++;
    }
  }
  return { counts, share: counts.filter((count) => count > 0).length / counts.length };
}

/** How a board is turned away from the camera, from the ratio of opposite sides: -1 to 1 each, 0 straight ahead. */
export interface Tilt {
  /** Above 0: its right side is nearer. */
  readonly sideways: number;
  /** Above 0: its lower side is nearer. */
  readonly upDown: number;
}

/** The four outer corners in the order of the picture: upper left, upper right, lower right, lower left. */
function outline(detection: Detection, board: Board): [number, number][] | undefined {
  const { columns, rows } = boardGrid(board);
  const p = pointsById(detection, boardCorners(board));
  const at = (column: number, row: number): [number, number] => [
    p[2 * (row * columns + column)]!,
    p[2 * (row * columns + column) + 1]!,
  ];
  const corners = [at(0, 0), at(columns - 1, 0), at(columns - 1, rows - 1), at(0, rows - 1)];
  if (corners.some(([x]) => Number.isNaN(x))) return undefined;
  // Whichever way the board is held: begin with the corner that is the upper left one.
  let first = 0;
  corners.forEach(([x, y], i) => {
    if (x + y < corners[first]![0] + corners[first]![1]) first = i;
  });
  return [0, 1, 2, 3].map((i) => corners[(first + i) % 4]!);
}

export function boardTilt(detection: Detection, board: Board): Tilt | undefined {
  const corners = outline(detection, board);
  if (corners === undefined) return undefined;
  const side = (a: number, b: number) =>
    Math.hypot(corners[a]![0] - corners[b]![0], corners[a]![1] - corners[b]![1]);
  const [top, right, bottom, left] = [side(0, 1), side(1, 2), side(2, 3), side(3, 0)];
  return { sideways: (right - left) / (right + left), upDown: (bottom - top) / (bottom + top) };
}
