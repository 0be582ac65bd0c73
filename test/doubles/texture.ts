// SPDX-License-Identifier: Apache-2.0
// A texture for tests that compare parts of an image.
import { Random } from "./random.js";

/** Returns the grey value, 0 to 255, of each pixel of smooth patches without a direction. */
export function createTexture(width: number, height: number): (x: number, y: number) => number {
  const random = new Random(5);
  const columns = Math.ceil(width / 8) + 2;
  const grid = Array.from({ length: columns * (Math.ceil(height / 8) + 2) }, () => random.whole(0, 255));
  return (x, y) => {
    const [i, j, fx, fy] = [x >> 3, y >> 3, (x & 7) / 8, (y & 7) / 8];
    const at = (column: number, row: number) => grid[row * columns + column]!;
    const top = at(i, j) * (1 - fx) + at(i + 1, j) * fx;
    return Math.round(top * (1 - fy) + (at(i, j + 1) * (1 - fx) + at(i + 1, j + 1) * fx) * fy);
  };
}
