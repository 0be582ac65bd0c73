// SPDX-License-Identifier: Apache-2.0
// Measures how far two images of a pair are from row alignment: Harris corners of the left one, found again in the right.
import { mean, median } from "../../core/index.js";

export interface Grey {
  width: number;
  height: number;
  data: ArrayLike<number>;
}

export interface CornerMatch {
  x: number;
  y: number;
  /** x in the left image minus x in the right one, pixels. */
  disparity: number;
  /** y in the right image minus y in the left one, pixels, to a fraction. */
  verticalOffset: number;
  /** Normalised cross-correlation of the two patches, up to 1. */
  correlation: number;
}

export interface SearchWindow {
  maxDisparity: number;
  /** Rows searched above and below the corner's own. */
  rows: [above: number, below: number];
}

const PATCH = 7;
const CELL = 24;

/** Harris response (det - 0.04 trace^2 of the 5 x 5 structure tensor); the strongest corner of each cell of 24 x 24. */
export function harrisCorners({ width, height, data }: Grey, margin: number): { x: number; y: number }[] {
  const response = (x: number, y: number): number => {
    let [xx, yy, xy] = [0, 0, 0];
    for (let j = -2; j <= 2; j++) {
      for (let i = -2; i <= 2; i++) {
        const at = (y + j) * width + x + i;
        const gx = data[at + 1]! - data[at - 1]!;
        const gy = data[at + width]! - data[at - width]!;
        xx += gx * gx;
        yy += gy * gy;
        xy += gx * gy;
      }
    }
    return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2;
  };
  const corners: { x: number; y: number }[] = [];
  for (let top = margin; top + CELL <= height - margin; top += CELL) {
    for (let left = margin; left + CELL <= width - margin; left += CELL) {
      let best = { x: 0, y: 0, strength: 3e8 };
      for (let y = top; y < top + CELL; y++) {
        for (let x = left; x < left + CELL; x++) {
          const strength = response(x, y);
          if (strength > best.strength) best = { x, y, strength };
        }
      }
      if (best.x > 0) corners.push({ x: best.x, y: best.y });
    }
  }
  return corners;
}

function correlation(a: Grey, ax: number, ay: number, b: Grey, bx: number, by: number): number {
  let [sumA, sumB, sumAA, sumBB, sumAB] = [0, 0, 0, 0, 0];
  for (let j = -PATCH; j <= PATCH; j++) {
    for (let i = -PATCH; i <= PATCH; i++) {
      const u = a.data[(ay + j) * a.width + ax + i]!;
      const v = b.data[(by + j) * b.width + bx + i]!;
      sumA += u;
      sumB += v;
      sumAA += u * u;
      sumBB += v * v;
      sumAB += u * v;
    }
  }
  const n = (2 * PATCH + 1) ** 2;
  const spread = (sumAA - (sumA * sumA) / n) * (sumBB - (sumB * sumB) / n);
  return spread > 0 ? (sumAB - (sumA * sumB) / n) / Math.sqrt(spread) : 0;
}

interface Found {
  x: number;
  y: number;
  correlation: number;
  /** The best correlation more than 3 px away from the best place: a repeated texture has one that is nearly as good. */
  secondBest: number;
}

function search(
  a: Grey,
  x: number,
  y: number,
  b: Grey,
  columns: [number, number],
  rows: [number, number],
): Found {
  const tried: { x: number; y: number; correlation: number }[] = [];
  for (let row = Math.max(y + rows[0], PATCH); row <= Math.min(y + rows[1], b.height - PATCH - 1); row++) {
    const last = Math.min(x + columns[1], b.width - PATCH - 1);
    for (let column = Math.max(x + columns[0], PATCH); column <= last; column++) {
      tried.push({ x: column, y: row, correlation: correlation(a, x, y, b, column, row) });
    }
  }
  const best = tried.reduce((top, other) => (other.correlation > top.correlation ? other : top), {
    x: -1,
    y: -1,
    correlation: -1,
  });
  let secondBest = -1;
  for (const other of tried) {
    if (Math.max(Math.abs(other.x - best.x), Math.abs(other.y - best.y)) > 3)
      secondBest = Math.max(secondBest, other.correlation);
  }
  return { ...best, secondBest };
}

/** Corners that are found in the right image, in one place only, and lead back to where they came from. */
export function matchCorners(
  left: Grey,
  right: Grey,
  { maxDisparity, rows: [above, below] }: SearchWindow,
): CornerMatch[] {
  const matches: CornerMatch[] = [];
  for (const { x, y } of harrisCorners(left, PATCH + 3)) {
    const there = search(left, x, y, right, [-maxDisparity, 2], [-above, below]);
    // A best row at the edge of the window may not be a maximum at all.
    if (there.correlation < 0.9 || there.y === y - above || there.y === y + below) continue;
    if (1 - there.correlation > 0.6 * (1 - there.secondBest)) continue;
    const back = search(right, there.x, there.y, left, [-2, maxDisparity], [-below, above]);
    if (Math.abs(back.x - x) > 1 || Math.abs(back.y - y) > 1) continue;
    const inside = there.y - 1 >= PATCH && there.y + 1 < right.height - PATCH;
    if (!inside) continue;
    const up = correlation(left, x, y, right, there.x, there.y - 1);
    const down = correlation(left, x, y, right, there.x, there.y + 1);
    const curvature = up + down - 2 * there.correlation;
    const fraction = curvature < 0 ? (up - down) / (2 * curvature) : 0;
    matches.push({
      x,
      y,
      disparity: x - there.x,
      verticalOffset: there.y - y + fraction,
      correlation: there.correlation,
    });
  }
  return matches;
}

export function meanVerticalOffset(matches: readonly CornerMatch[]): number {
  return mean(matches.map(({ verticalOffset }) => verticalOffset));
}

/** Half of all offsets lie within this of 0. */
export function medianAbsoluteOffset(matches: readonly CornerMatch[]): number {
  return median(matches.map(({ verticalOffset }) => Math.abs(verticalOffset)));
}
