// SPDX-License-Identifier: Apache-2.0
// Weighted hue, saturation and value: by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.hsv as unknown as (call: object) => string;
const forms = ["reference", ...variants];

interface Weights {
  hue: number;
  saturation: number;
  value: number;
}

function hsv(variant: string, width: number, height: number, rgb: Uint8Array, weights: Weights) {
  const result = new Uint8Array(8 * width * height).fill(77);
  expect(stage({ variant, width, height, rgb, result, ...weights })).toBe(variant);
  return result;
}

const pixels = (variant: string, weights: Weights, ...rgb: number[]) => {
  const all = hsv(variant, rgb.length / 3, 1, Uint8Array.from(rgb), weights);
  return Array.from({ length: rgb.length / 3 }, (_, i) => [...all.subarray(8 * i, 8 * i + 8)]);
};

const EQUAL = { hue: 30, saturation: 30, value: 30 };

describe.each(forms)("hsv, %s", (variant) => {
  test("by hand: README.md", () => {
    // Four units a grey value: k = 120, side 77.
    expect(pixels(variant, EQUAL, 255, 0, 0, 0, 255, 255, 0, 0, 0, 128, 128, 128, 200, 100, 50)).toEqual([
      [0, 0, 153, 153, 153, 153, 0, 0],
      [77, 77, 153, 153, 153, 153, 0, 0],
      [0, 0, 0, 0, 0, 0, 0, 0],
      [0, 0, 0, 0, 77, 77, 0, 0],
      // V 200, c 150: v = 240, S = 191.25, s = 229.5 -> 230; hue 1/3, t = 2/9, f = 76.8 * 2/9 = 17.07 -> 17
      [17, 0, 115, 115, 120, 120, 0, 0],
    ]);
  });

  test("a weight above 50 halves the unit; a channel without weight is 0", () => {
    expect(pixels(variant, { hue: 0, saturation: 0, value: 100 }, 10, 255, 10)).toEqual([
      [0, 0, 0, 0, 255, 255, 0, 0],
    ]);
    expect(pixels(variant, { hue: 100, saturation: 0, value: 0 }, 255, 0, 255, 0, 255, 0)).toEqual([
      // hue 5: t = 10/3, f = round(128 / 3) = 43; hue 2: t = 4/3
      [0, 85, 0, 0, 0, 0, 0, 0],
      [128, 43, 0, 0, 0, 0, 0, 0],
    ]);
  });

  test("hue wraps: reds on either side of 0 are neighbours", () => {
    const [orange, pink] = pixels(variant, EQUAL, 255, 10, 0, 255, 0, 10) as [number[], number[]];
    const apart = Math.abs(orange[0]! - pink[0]!) + Math.abs(orange[1]! - pink[1]!);
    expect(apart).toBeGreaterThan(0);
    expect(apart).toBeLessThan(5);
  });
});

test.each(variants)("hsv, %s: twin of the reference, every lightness and chroma", (variant) => {
  const random = new Random();
  for (const weights of [
    EQUAL,
    { hue: 20, saturation: 30, value: 50 },
    { hue: 51, saturation: 40, value: 9 },
  ]) {
    const [width, height] = [211, 200];
    const rgb = random.fill(new Uint8Array(3 * width * height), 0, random.pick([20, 255]));
    const expected = hsv("reference", width, height, rgb, weights);
    expectSameImage(hsv(variant, width, height, rgb, weights), expected, 8 * width, `seed ${random.seed}`);
  }
});
