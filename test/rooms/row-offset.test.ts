// SPDX-License-Identifier: Apache-2.0
// The row offset between words: pairs of a known offset, what is no estimate, and twins of the definition.
import { describe, expect, test } from "vitest";
import { native, Random, variants } from "../doubles/rooms.js";

const room = native.rooms.rowOffset as unknown as (call: object) => string;

interface Pair {
  width: number;
  height: number;
  left: Uint32Array;
  right: Uint32Array;
  numDisparities?: number;
  minDisparity?: number;
}

function rowOffset(variant: string, pair: Pair) {
  const result = new Int32Array(3);
  expect(room({ variant, minDisparity: 0, numDisparities: 16, ...pair, result })).toBe(variant);
  return { known: result[0] === 1, atLimit: result[1] === 1, quarterRows: result[2]! };
}

/** The left image sees the right one's row y + rows, 5 pixels further right; rows may differ by the parity of the column. */
function pairOf(random: Random, width: number, height: number, rows: (x: number) => number): Pair {
  const right = Uint32Array.from({ length: width * height }, () => random.whole(0, 0x7fffffff));
  const left = new Uint32Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const from = Math.min(Math.max(y + rows(x), 0), height - 1);
      left[y * width + x] = right[from * width + Math.max(x - 5, 0)]!;
    }
  }
  return { width, height, left, right };
}

const forms = ["reference", ...variants];

describe.each(forms)("row offset, %s", (variant) => {
  test.each([-3, -2, -1, 0, 1, 2, 3])("%i rows are found, and no quarter beside them", (rows) => {
    const random = new Random();
    const found = rowOffset(
      variant,
      pairOf(random, 200, 90, () => rows),
    );
    expect(found, `seed ${random.seed}`).toEqual({ known: true, atLimit: false, quarterRows: 4 * rows });
  });

  test("half of the samples at one row, half at none: two quarters", () => {
    const random = new Random();
    // Samples stand at every fifth column from 15 on: 15, 25, ... see row y, 20, 30, ... the row below.
    const pair = pairOf(random, 415, 90, (x) => (x % 10 === 0 ? 1 : 0));
    const { known, quarterRows } = rowOffset(variant, pair);
    expect(known).toBe(true);
    expect(Math.abs(quarterRows - 2), `seed ${random.seed}: ${quarterRows}`).toBeLessThanOrEqual(1);
  });

  test.each([-4, 4])("%i rows are at the limit", (rows) => {
    const random = new Random();
    const pair = pairOf(random, 200, 90, () => rows);
    expect(rowOffset(variant, pair), `seed ${random.seed}`).toMatchObject({ known: true, atLimit: true });
  });

  test("nine rows suit no better than any others: unknown, or at the limit by chance", () => {
    const random = new Random();
    const { known, atLimit } = rowOffset(
      variant,
      pairOf(random, 200, 90, () => 9),
    );
    expect(known && !atLimit, `seed ${random.seed}`).toBe(false);
  });

  test("no estimate: one value everywhere, one row, fewer columns than the search", () => {
    const flat = (width: number, height: number): Pair => {
      const words = new Uint32Array(width * height).fill(0x12345);
      return { width, height, left: words, right: words };
    };
    for (const [width, height] of [
      [200, 90],
      [200, 1],
      [10, 90],
    ] as const) {
      expect(rowOffset(variant, flat(width, height)).known).toBe(false);
    }
  });
});

describe.each(variants)("row offset, %s: twin of the reference", (variant) => {
  test("random pairs, searches of every length beside a vector's", () => {
    const random = new Random();
    for (const numDisparities of [8, 9, 15, 16, 17, 31, 33, 64]) {
      const pair = {
        ...pairOf(random, 260, random.whole(40, 70), () => random.whole(-4, 4)),
        numDisparities,
        minDisparity: random.pick([0, 3]),
      };
      expect(rowOffset(variant, pair), `seed ${random.seed}, ${numDisparities}`).toEqual(
        rowOffset("reference", pair),
      );
    }
  });
});
