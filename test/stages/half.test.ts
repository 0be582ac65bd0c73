// SPDX-License-Identifier: Apache-2.0
// Three witnesses for halving: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.half as unknown as (call: object) => string;

function half(variant: string, width: number, height: number, image: Uint8Array, stride = width) {
  const result = new Uint8Array(((width + 1) >> 1) * ((height + 1) >> 1));
  const ran = stage({ variant, width, height, strideBytes: stride, image, result });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

describe.each(forms)("half, %s: by hand", (variant) => {
  test("the mean of nine around the even pixels, replicated at the border, rounded to the nearest", () => {
    // 3 x 3: around (0, 0) the nine are 1 1 2 / 1 1 2 / 4 4 5, 21 in all: 2.33. Around (2, 0): 2 3 3 / 2 3 3 / 5 6 6: 33, 3.67.
    // Around (0, 2): 4 4 5 / 7 7 8 / 7 7 8: 57, 6.33. Around (2, 2): 5 6 6 / 8 9 9 / 8 9 9: 69, 7.67.
    expect([...half(variant, 3, 3, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9))]).toEqual([2, 4, 6, 8]);
    expect([...half(variant, 1, 1, Uint8Array.of(200))]).toEqual([200]);
    expect([...half(variant, 2, 1, Uint8Array.of(0, 9))]).toEqual([3]);
  });

  test("every sum of nine is divided exactly", () => {
    for (let sum = 0; sum <= 2295; sum += 7) {
      const image = new Uint8Array(9);
      for (let i = 0, rest = sum; i < 9; ++i) {
        image[i] = Math.min(255, rest);
        rest -= image[i]!;
      }
      // 5 x 5 with the nine in the middle: the window around (2, 2) is the image.
      const framed = new Uint8Array(25);
      for (let i = 0; i < 9; ++i) framed[(1 + Math.floor(i / 3)) * 5 + 1 + (i % 3)] = image[i]!;
      expect(half(variant, 5, 5, framed)[4], `sum ${sum}`).toBe(Math.floor((sum + 4) / 9));
    }
  });
});

describe.each(forms)("half, %s: properties", (variant) => {
  test("a flat image stays flat, and turning it around turns the result (odd sides)", () => {
    const random = new Random();
    for (const value of half(variant, 33, 9, new Uint8Array(33 * 9).fill(77))) expect(value).toBe(77);
    const image = random.fill(new Uint8Array(41 * 23), 0, 255);
    const turned = half(variant, 41, 23, image.slice().reverse());
    expectSameImage(turned.reverse(), half(variant, 41, 23, image), 21, `seed ${random.seed}`);
  });
});

describe.each(variants)("half, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2]] as const;
  test.each(shapes)("%i x %i", (width, height) => {
    const random = new Random();
    const stride = width + random.whole(0, 9);
    const image = random.fill(new Uint8Array(stride * height), 0, 255);
    const expected = half("reference", width, height, image, stride);
    const got = half(variant, width, height, image, stride);
    expectSameImage(got, expected, (width + 1) >> 1, `seed ${random.seed}`);
  });
});
