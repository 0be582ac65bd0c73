// SPDX-License-Identifier: Apache-2.0
// Three witnesses for doubling a disparity map: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.upscale as unknown as (call: object) => string;

function upscale(
  variant: string,
  width: number,
  height: number,
  half: Int16Array,
  grey = new Uint8Array(width * height),
  thresholdQ4 = 48,
) {
  const result = new Int16Array(width * height);
  const ran = stage({ variant, width, height, thresholdQ4, grey, half, result });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

describe.each(forms)("upscale, %s: by hand", (variant) => {
  test("even pixels are doubled, between them lies the mean, the last column is copied", () => {
    expect([...upscale(variant, 4, 1, Int16Array.of(10, 20))]).toEqual([20, 30, 40, 40]);
    expect([...upscale(variant, 3, 1, Int16Array.of(10, 20))]).toEqual([20, 30, 40]);
    expect([...upscale(variant, 1, 1, Int16Array.of(7))]).toEqual([14]);
  });

  test("across a step the more similar grey decides, the left one on a tie; 48 is no step, 49 is", () => {
    const nearLeft = Uint8Array.of(10, 11, 20);
    const nearRight = Uint8Array.of(10, 16, 20);
    const tie = Uint8Array.of(10, 15, 20);
    expect([...upscale(variant, 3, 1, Int16Array.of(0, 49), nearLeft)]).toEqual([0, 0, 98]);
    expect([...upscale(variant, 3, 1, Int16Array.of(0, 49), nearRight)]).toEqual([0, 98, 98]);
    expect([...upscale(variant, 3, 1, Int16Array.of(0, 49), tie)]).toEqual([0, 0, 98]);
    expect([...upscale(variant, 3, 1, Int16Array.of(0, 48), nearRight)]).toEqual([0, 48, 96]);
  });

  test("odd rows are the mean of their neighbours, halves upwards; the last row is copied", () => {
    const half = Int16Array.of(10, 21);
    expect([...upscale(variant, 1, 4, half)]).toEqual([20, 31, 42, 42]);
    // F is 10 + 11 = 21 and 20 + 20 = 40 in the middle column; their mean is 30.5.
    const square = Int16Array.of(10, 11, 20, 20);
    expect([...upscale(variant, 3, 3, square)]).toEqual([20, 21, 22, 30, 31, 31, 40, 40, 40]);
  });

  test("of an invalid and a valid value the valid one is taken", () => {
    expect([...upscale(variant, 4, 1, Int16Array.of(INVALID, 20))]).toEqual([INVALID, 40, 40, 40]);
    expect([...upscale(variant, 1, 3, Int16Array.of(INVALID, 20))]).toEqual([INVALID, 40, 40]);
    expect([...upscale(variant, 3, 1, Int16Array.of(INVALID, INVALID))]).toEqual([INVALID, INVALID, INVALID]);
  });
});

describe.each(forms)("upscale, %s: properties", (variant) => {
  test("a constant map stays constant and a slanted plane stays a plane away from its end", () => {
    for (const value of upscale(variant, 40, 11, new Int16Array(20 * 6).fill(33))) expect(value).toBe(66);
    const plane = Int16Array.from({ length: 20 * 6 }, (_, i) => 3 * (i % 20) + 5 * Math.floor(i / 20));
    const result = upscale(variant, 39, 11, plane);
    for (let i = 0; i < result.length; ++i) expect(result[i]).toBe(3 * (i % 39) + 5 * Math.floor(i / 39));
  });
});

describe.each(variants)("upscale, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2]] as const;
  test.each(shapes)("%i x %i", (width, height) => {
    const random = new Random();
    const [halfWidth, halfHeight] = [(width + 1) >> 1, (height + 1) >> 1];
    const half = random.fill(new Int16Array(halfWidth * halfHeight), 0, random.pick([60, 2000, 16383]));
    for (let i = 0; i < half.length; ++i) if (random.whole(0, 5) === 0) half[i] = INVALID;
    const grey = random.fill(new Uint8Array(width * height), 0, 255);
    const threshold = random.pick([0, 48, 4000]);
    const expected = upscale("reference", width, height, half, grey, threshold);
    expectSameImage(
      upscale(variant, width, height, half, grey, threshold),
      expected,
      width,
      `seed ${random.seed}`,
    );
  });
});
