// SPDX-License-Identifier: Apache-2.0
// Three witnesses for local planes: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.slant as unknown as (call: object) => string;

function slant(
  variant: string,
  width: number,
  height: number,
  grey: Uint8Array,
  disparityQ4: Int16Array,
): Int16Array {
  const result = new Int16Array(width * height);
  expect(stage({ variant, width, height, grey, disparityQ4, result })).toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

/** Returns row 0 of one row of taps, 3 pixels apart; the pixels between them are invalid. */
function ofTaps(variant: string, taps: number[], grey: number[] = taps.map(() => 50)): number[] {
  const width = 3 * taps.length;
  const disparityQ4 = new Int16Array(width).fill(INVALID);
  const greys = new Uint8Array(width);
  for (const [k, value] of taps.entries()) {
    disparityQ4[3 * k] = value;
    greys[3 * k] = grey[k]!;
  }
  return [...slant(variant, width, 1, greys, disparityQ4).filter((_, x) => x % 3 === 0)];
}

describe.each(forms)("local planes, %s: by hand", (variant) => {
  test("the value of the plane at the pixel, rounded", () => {
    // README.md works out the first. The second has i = -1, 0, 1: Sx = Sdx = 0, v = (-8 - 8) / 3 = -5.33, so 8 becomes 3.
    expect(ofTaps(variant, [0, 8, 0])).toEqual([3, 3, 3]);
    // i = 0, 1: n = 2, Sx = Sxx = 1, Sd = Sdx = 9: A = 8 + 4, C = 4, P = 8 (18 - 9) = 72, det = 48,
    // v = (9 * 48 - 72 * 4) / (2 * 48) = 1.5: half goes up. The other pixel has -1.5, which becomes -1.
    expect(ofTaps(variant, [0, 9])).toEqual([2, 8]);
  });

  test("a plane does not go beyond the disparities around the pixel", () => {
    // i = 0, 1, 2: n = Sx = 3, Sxx = 5, Sd = 8, Sdx = 16: A = 57, C = 9, P = 8 (48 - 24) = 192, det = 513,
    // v = (8 * 513 - 3 * 192 * 9) / (3 * 513) = -0.70, and 0 is the smallest.
    expect(ofTaps(variant, [0, 0, 8])[0]).toBe(0);
    expect(ofTaps(variant, [8, 8, 0])[0]).toBe(8);
  });

  test("steps beyond 20/16 px and grey differences beyond 12 levels do not count", () => {
    expect(ofTaps(variant, [0, 20])).toEqual([3, 17]);
    expect(ofTaps(variant, [0, 21])).toEqual([0, 21]);
    expect(ofTaps(variant, [0, 20], [50, 62])).toEqual([3, 17]);
    expect(ofTaps(variant, [0, 20], [50, 63])).toEqual([0, 20]);
    expect(ofTaps(variant, [0, 20], [63, 50])).toEqual([0, 20]);
  });

  test("invalid pixels stay, and do not count", () => {
    expect(ofTaps(variant, [INVALID, 7, INVALID])).toEqual([INVALID, 7, INVALID]);
    // Differences that overflow 16 bits are no similar values.
    expect(ofTaps(variant, [32767, -32767, 32767])).toEqual([32767, -32767, 32767]);
  });

  test("a tap counts at a distance of 3 and 6 pixels, in both directions", () => {
    const [width, height] = [15, 15];
    const counted: string[] = [];
    for (let y = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x) {
        if (x === 7 && y === 7) continue;
        const disparityQ4 = new Int16Array(width * height).fill(INVALID);
        disparityQ4[7 * width + 7] = 100;
        disparityQ4[y * width + x] = 119;
        const result = slant(variant, width, height, new Uint8Array(width * height), disparityQ4);
        if (result[7 * width + 7] !== 100) counted.push(`${x - 7},${y - 7}`);
      }
    }
    const steps = [-6, -3, 0, 3, 6];
    const expected = steps.flatMap((j) => steps.map((i) => `${i},${j}`)).filter((place) => place !== "0,0");
    expect(counted).toEqual(expected);
  });
});

describe.each(forms)("local planes, %s: properties", (variant) => {
  const [width, height] = [83, 31];
  const grey = new Uint8Array(width * height).fill(90);
  const image = (value: (x: number, y: number) => number) =>
    Int16Array.from({ length: width * height }, (_, i) => value(i % width, Math.floor(i / width)));
  const inner = (result: Int16Array) =>
    [...result].filter((_, i) => {
      const [x, y] = [i % width, Math.floor(i / width)];
      return x >= 6 && x < width - 6 && y >= 6 && y < height - 6;
    });

  test("a constant and, away from the border, a plane stay", () => {
    const constant = image(() => 320);
    expectSameImage(slant(variant, width, height, grey, constant), constant, width, "constant");
    const plane = image((x, y) => 200 + x + y);
    expect(inner(slant(variant, width, height, grey, plane))).toEqual(inner(plane));
  });

  test("a staircase comes closer to its plane", () => {
    const plane = (x: number) => 200 + 2 * x;
    const stairs = image((x) => 16 * Math.round(plane(x) / 16));
    const error = (of: Int16Array) =>
      Math.max(...inner(image((x, y) => Math.abs(of[y * width + x]! - plane(x)))));
    expect([error(stairs), error(slant(variant, width, height, grey, stairs))]).toEqual([8, 2]);
  });

  test("the result stays between the smallest and the largest disparity", () => {
    const random = new Random();
    const rough = random.fill(
      image(() => 0),
      0,
      15,
    );
    const result = slant(variant, width, height, grey, rough);
    expect([Math.min(...result), Math.max(...result)], `seed ${random.seed}`).toEqual([
      expect.toSatisfy((value: number) => value >= 0),
      expect.toSatisfy((value: number) => value <= 15),
    ]);
  });

  test("a straight edge stays, and adding to all disparities adds to the result", () => {
    const random = new Random();
    const edge = image((x) => (x < 40 ? 160 : 181));
    expectSameImage(slant(variant, width, height, grey, edge), edge, width, "edge");
    const rough = random.fill(
      image(() => 0),
      0,
      60,
    );
    const greys = random.fill(grey.slice(), 80, 110);
    const moved = slant(
      variant,
      width,
      height,
      greys,
      rough.map((d) => d + 512),
    );
    const expected = slant(variant, width, height, greys, rough).map((d) => d + 512);
    expectSameImage(moved, expected, width, `seed ${random.seed}`);
  });
});

describe.each(variants)("local planes, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 17] as const),
    [300, 1],
    [33, 5],
    [1, 40],
  ] as const;

  test.each(shapes)("%i x %i: slopes, noise, holes", (width, height) => {
    const random = new Random();
    for (const oneHoleIn of [2, 12, 100_000]) {
      const grey = random.fill(new Uint8Array(width * height), 100, random.pick([105, 120, 255]));
      const image = new Int16Array(width * height);
      for (let i = 0; i < image.length; ++i) {
        const isNew = i === 0 || random.whole(0, 9) === 0 || image[i - 1] === INVALID;
        image[i] = isNew ? random.whole(0, random.pick([40, 700])) : image[i - 1]! + random.whole(-2, 3);
        if (random.whole(1, oneHoleIn) === 1) image[i] = INVALID;
      }
      const expected = slant("reference", width, height, grey, image);
      const got = slant(variant, width, height, grey, image);
      expectSameImage(got, expected, width, `seed ${random.seed}, one hole in ${oneHoleIn}`);
    }
  });
});
