// SPDX-License-Identifier: Apache-2.0
// Tests the ambiguity stage: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.ambiguity as unknown as (call: object) => string;
const blockColumns = (width: number) => Math.ceil(width / 8);
const blockRows = (height: number) => Math.ceil(height / 4);

interface Call {
  left: Uint8Array;
  right: Uint8Array;
  disparityQ4: Int16Array;
  parts?: number;
}

function ambiguity(variant: string, width: number, height: number, call: Call): Uint8Array {
  const limit = new Uint8Array(blockColumns(width) * blockRows(height));
  const ran = stage({ variant, width, height, ...call, limit });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return limit;
}

/** Values by column, the same in every row. */
const columns = (width: number, height: number, value: (x: number) => number) =>
  Uint8Array.from({ length: width * height }, (_, i) => value(i % width));

const ownPair = (picture: Uint8Array): Call => ({
  left: picture,
  right: picture,
  disparityQ4: new Int16Array(picture.length),
});

const forms = ["reference", ...variants];

describe.each(forms)("ambiguity, %s: repeats, by hand", (variant) => {
  const [width, height] = [96, 12];

  test("slats of 8 columns come back whole: nothing is believed", () => {
    const slats = columns(width, height, (x) => (x % 8 < 4 ? 60 : 160));
    const limit = ambiguity(variant, width, height, ownPair(slats));
    // Blocks 1 and further have 8 columns next to them. Of block 2 blocks 1, 2 and 3 count: U(4) = 9 x 128, U(8) = 0.
    for (let k = 0; k < 3; ++k)
      expect([...limit.subarray(12 * k + 2, 12 * k + 12)]).toEqual(new Array(10).fill(1));
    // Block 0 is 128 unlike for every shift. The block left of it is itself: U(8) = 6 x 128, M(7) = 9 x 128.
    expect(limit[0]).toBe(255);
    // Block 1 has it next to itself: U(8) = 3 x 128 is a third of M(7), not below 3/10.
    expect(limit[1]).toBe(255);
  });

  test("a quarter as unlike as before: halfway between 1/5 and 3/10", () => {
    // Slats whose every second one is lighter: shifted by 8 columns the four columns of a slat differ by 4 and those of a gap by 0.
    const slats = columns(width, height, (x) => (x % 8 < 4 ? 60 : x % 16 < 8 ? 160 : 168));
    // In each block 4 x 8 = 32 of 128: U(8) = 9 x 32, M(7) = U(4) = 9 x 128.
    const limit = ambiguity(variant, 40, height, ownPair(slats.filter((_, i) => i % width < 40)));
    // For block 2, block 1 has no 16 columns next to it: U(16) = 3 x 128. 255 (10 x 288 - 2 x 1152) / 1152 = 255 / 2.
    expect(limit[2]).toBe(127);
    // Blocks 3 and 4: U(16) = 0.
    expect([...limit.subarray(3, 5)]).toEqual([1, 1]);
  });

  test("what does not repeat is not limited: noise, an edge, one grey value", () => {
    const random = new Random(4);
    const noise = random.fill(new Uint8Array(width * height), 0, 255);
    const all = new Array(12 * 3).fill(255);
    expect([...ambiguity(variant, width, height, ownPair(noise))]).toEqual(all);
    expect([
      ...ambiguity(variant, width, height, ownPair(columns(width, height, (x) => (x < 50 ? 20 : 200)))),
    ]).toEqual(all);
    expect([...ambiguity(variant, width, height, ownPair(columns(width, height, () => 128)))]).toEqual(all);
  });

  test("slats of 96 columns come back further away than is looked", () => {
    const slats = columns(200, height, (x) => (x % 96 < 48 ? 60 : 160));
    expect([...ambiguity(variant, 200, height, ownPair(slats))]).toEqual(new Array(25 * 3).fill(255));
  });
});

describe.each(forms)("ambiguity, %s: signal, by hand", (variant) => {
  // One block: its samples are in row 2, columns 0, 2, 4 and 6.
  const [width, height] = [8, 4];
  const image = (row: number[]) => Uint8Array.from({ length: width * height }, (_, i) => row[i % width]!);
  const ambiguityLimit = (left: number[], right: number[], disparity = 0) =>
    ambiguity(variant, width, height, {
      left: image(left),
      right: image(right),
      disparityQ4: new Int16Array(width * height).fill(disparity),
    })[0];

  test("changes that both images have are believed, those of noise are not", () => {
    // l = 0, 2, 2, 2 in columns 0, 2, 4, 6.
    const left = [10, 10, 12, 12, 14, 14, 16, 16];
    expect(ambiguityLimit(left, left)).toBe(255);
    // r = 0, 2, -2, 0: S = 4 - 4 = 0, A = 12, n = 4: the larger of -255 and 255 (12 - 20) / 4, below 1.
    const noise = [10, 10, 12, 12, 10, 10, 10, 10];
    expect(ambiguityLimit(left, noise)).toBe(1);
    // l = 0, 4, 4, 4: S = 0, A = 48. Of l = 0, 4, -2, 1 with r = 0, 1, 2, 0: S = 0, A = 21: 255 (21 - 20) / 4 = 63.
    expect(ambiguityLimit([10, 10, 14, 14, 18, 18, 22, 22], noise)).toBe(255);
    expect(ambiguityLimit([10, 10, 14, 14, 12, 12, 13, 13], [10, 10, 11, 11, 13, 13, 13, 13])).toBe(63);
    // One row of blocks more, of three rows, so n = 8: l = 0, 2, 3, 1 and r = 0, 1, -1, 2 in the first, S = 2 - 3 + 2 = 1 and E = 14 + 6;
    // in the second l = 0, 0, 0, 2, and r = 0 but for -1 in the last: S = -2, E = 5. Together S = -1, A = 18: 1. With r = 1 there S = 3 and
    // E = 25.
    const rows = (first: number[], second: number[]) =>
      Uint8Array.from({ length: 7 * width }, (_, i) => (i < 4 * width ? first : second)[i % width]!);
    const disparityQ4 = new Int16Array(7 * width);
    const [upperLeft, upperRight] = [
      [10, 10, 12, 12, 15, 15, 16, 16],
      [10, 10, 11, 11, 10, 10, 12, 12],
    ];
    const lowerLeft = [10, 10, 10, 10, 10, 10, 12, 12];
    const both = (change: number) => {
      const lowerRight = [10, 10, 10, 10, 10, 10, 10 + change, 10 + change];
      return [
        ...ambiguity(variant, width, 7, {
          left: rows(upperLeft, lowerLeft),
          right: rows(upperRight, lowerRight),
          disparityQ4,
        }),
      ];
    };
    expect(both(-1)).toEqual([1, 1]);
    expect(both(1)).toEqual([255, 255]);
    // No change in either in the second: S = 1, E = 20: 255 (24 - 20) / 20 = 51.
    const flat = new Array<number>(width).fill(10);
    const oneRow = { left: rows(upperLeft, flat), right: rows(upperRight, flat), disparityQ4 };
    expect([...ambiguity(variant, width, 7, oneRow)]).toEqual([51, 51]);
  });

  test("a disparity of half a pixel and more is that of the next pixel", () => {
    const left = [10, 10, 10, 10, 14, 14, 14, 14];
    // Column 4 changes by 4; at a disparity of 2 the right image's column 2 counts: with 24 / 16 rounded, 8 / 16 is 1 and 7 / 16 is 0.
    const atTwo = [10, 10, 14, 14, 14, 14, 14, 14];
    expect(ambiguityLimit(left, atTwo, 24)).toBe(255);
    expect(ambiguityLimit(left, atTwo, 39)).toBe(255);
    // S = 0, A = 16: 255 (16 - 20) / 4 is below 1.
    expect(ambiguityLimit(left, atTwo, 23)).toBe(1);
    expect(ambiguityLimit(left, atTwo, 40)).toBe(1);
    // Below zero: -24 / 16 is -1 and -25 / 16 is -2.
    const atMinusTwo = [10, 10, 10, 10, 10, 10, 14, 14];
    expect(ambiguityLimit(left, atMinusTwo, -25)).toBe(255);
    expect(ambiguityLimit(left, atMinusTwo, -24)).toBe(1);
  });

  test("what was not matched has no change in the right image", () => {
    // Half of the samples: l = 0, 2, 2, 2 and r = 0, 2, 0, 0: S = 4, E = 16: 12 S is more. None: S = 0, A = 12: 1.
    const left = [10, 10, 12, 12, 14, 14, 16, 16];
    const disparityQ4 = new Int16Array(width * height).fill(INVALID);
    const call = { left: image(left), right: image(left), disparityQ4 };
    expect(ambiguity(variant, width, height, call)[0]).toBe(1);
    disparityQ4[2 * width + 2] = 0;
    expect(ambiguity(variant, width, height, call)[0]).toBe(255);
  });

  test("where nothing changes in either image nothing is limited", () => {
    expect(ambiguityLimit([9, 9, 9, 9, 9, 9, 9, 9], [9, 9, 9, 9, 9, 9, 9, 9])).toBe(255);
  });

  test("a window is 7 x 13 blocks, and who lies within 5 x 11 of a window of noise is limited", () => {
    const [blocks, rowsOfBlocks] = [15, 27];
    const [columnsOfPixels, rows] = [8 * blocks, 4 * rowsOfBlocks];
    const flat = new Uint8Array(columnsOfPixels * rows).fill(100);
    const left = flat.slice();
    // One change in block 7 of row 13 of blocks, in the row that is looked at: no window but those that hold it sees anything.
    const row = (4 * 13 + 2) * columnsOfPixels;
    left.fill(103, row + 8 * 7 + 2, row + columnsOfPixels);
    const limit = ambiguity(variant, columnsOfPixels, rows, {
      left,
      right: flat,
      disparityQ4: new Int16Array(columnsOfPixels * rows),
    });
    const expected = Array.from({ length: blocks * rowsOfBlocks }, (_, i) => {
      const [b, k] = [i % blocks, Math.floor(i / blocks)];
      return Math.abs(b - 7) <= 3 + 2 && Math.abs(k - 13) <= 6 + 5 ? 1 : 255;
    });
    expect([...limit]).toEqual(expected);
  });
});

describe.each(forms)("ambiguity, %s: properties", (variant) => {
  test("adding the same to all grey values changes nothing", () => {
    const random = new Random();
    const [width, height] = [130, 37];
    const left = random.fill(new Uint8Array(width * height), 100, 103);
    const right = random.fill(new Uint8Array(width * height), 100, 103);
    const disparityQ4 = random.fill(new Int16Array(width * height), 0, 400);
    const before = ambiguity(variant, width, height, { left, right, disparityQ4 });
    const brighter = { left: left.map((v) => v + 50), right: right.map((v) => v + 50), disparityQ4 };
    expectSameImage(
      ambiguity(variant, width, height, brighter),
      before,
      blockColumns(width),
      `seed ${random.seed}`,
    );
    expect(Math.min(...before), "noise of this kind is limited somewhere").toBeLessThan(255);
  });
});

describe.each(variants)("ambiguity, %s: the definition's bits", (variant) => {
  test("on pictures that repeat, noise and neither, at awkward sizes, in parts", () => {
    const random = new Random();
    for (const width of [...AWKWARD_WIDTHS, 320, 321, 647]) {
      const height = random.whole(1, 45);
      const size = width * height;
      const period = random.whole(2, 36);
      for (const kind of ["slats", "noise", "texture", "wall"]) {
        const value = (x: number) =>
          kind === "slats"
            ? (x % period < period / 2 ? 60 : 160) + random.whole(0, 3)
            : kind === "noise"
              ? 128 + random.whole(0, 2)
              : kind === "texture"
                ? random.whole(0, 255)
                : 90;
        const left = Uint8Array.from({ length: size }, (_, i) => value(i % width));
        const right = left.map((v) => (random.whole(0, 3) === 0 ? random.whole(0, 255) : v));
        const disparityQ4 = random.fill(new Int16Array(size), -200, 1200);
        for (let i = 0; i < size; i += random.whole(1, 9)) disparityQ4[i] = INVALID;
        const call = { left, right, disparityQ4 };
        expectSameImage(
          ambiguity(variant, width, height, { ...call, parts: random.whole(1, blockRows(height)) }),
          ambiguity("reference", width, height, call),
          blockColumns(width),
          `${kind}, ${width}x${height}, seed ${random.seed}`,
        );
      }
    }
  });
});
