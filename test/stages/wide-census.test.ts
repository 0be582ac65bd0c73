// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the wide census: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.wideCensus as unknown as (call: object) => string;
const THRESHOLDS = [-17, -15, -13, -10, -8, -6, -4, -2, -1, 0, 1, 2, 4, 6, 8, 10, 13, 15, 17];
const FLAT = (0xfff << 19) | (0b1111111111 << 9);

function census(variant: string, width: number, height: number, image: Uint8Array, stride = width) {
  const [first, second] = [new Uint32Array(width * height), new Uint32Array(width * height)];
  const ran = stage({ variant, width, height, strideBytes: stride, image, first, second });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return { first, second };
}

const reached = (gradient: number) => THRESHOLDS.reduce((bits, t) => 2 * bits + (gradient >= t ? 1 : 0), 0);
const gradientBits = (word: number) => word & 0x7ffff;

describe.each(["reference", ...variants])("wide census, %s: by hand", (variant) => {
  test("a flat image: ties are ones, 0 reaches ten thresholds each way", () => {
    const { first, second } = census(variant, 70, 3, new Uint8Array(210).fill(9));
    expect([...first]).toEqual(new Array(210).fill(FLAT));
    expect([...second]).toEqual(new Array(210).fill(FLAT));
  });

  test("each darker neighbour clears its own bit, a brighter one none", () => {
    const width = 80;
    const places = Array.from({ length: 25 }, (_, i) => [(i % 5) - 2, Math.floor(i / 5) - 2] as const);
    for (const [place, [i, j]] of places.filter(([x, y]) => x !== 0 || y !== 0).entries()) {
      for (const value of [49, 51]) {
        const image = new Uint8Array(width * 7).fill(50);
        image[(3 + j) * width + 40 + i] = value;
        const at = 3 * width + 40;
        const { first, second } = census(variant, width, 7, image);
        const bits = [first[at]! >>> 19, second[at]! >>> 19];
        const expected = [0xfff, 0xfff];
        if (value === 49) expected[place < 12 ? 0 : 1]! &= ~(1 << (11 - (place % 12)));
        expect(bits, `place ${i},${j}, ${value}`).toEqual(expected);
      }
    }
  });

  test("every gradient there is sets the bits of the thresholds it reaches, along the row and down the column", () => {
    const width = 72;
    for (let g = -255; g <= 255; ++g) {
      const image = new Uint8Array(width * 3).fill(0);
      image[width + 41] = Math.max(0, g);
      image[width + 39] = Math.max(0, -g);
      image[2 * width + 50] = Math.max(0, g);
      image[50] = Math.max(0, -g);
      const { first, second } = census(variant, width, 3, image);
      expect(gradientBits(first[width + 40]!), `horizontal ${g}`).toBe(reached(g));
      expect(gradientBits(second[width + 50]!), `vertical ${g}`).toBe(reached(g));
    }
  });

  test("adding to the brightness changes nothing", () => {
    const random = new Random();
    const image = random.fill(new Uint8Array(71 * 23), 0, 200);
    const expected = census(variant, 71, 23, image);
    const brighter = census(
      variant,
      71,
      23,
      image.map((value) => value + 55),
    );
    expectSameImage(brighter.first, expected.first, 71, `seed ${random.seed}`);
    expectSameImage(brighter.second, expected.second, 71, `seed ${random.seed}`);
  });
});

describe.each(variants)("wide census, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, packed and strided", (width, height) => {
    const random = new Random();
    for (const high of [1, 20, 255]) {
      const stride = width + random.whole(0, 9);
      const image = random.fill(new Uint8Array(stride * height), 0, high);
      const expected = census("reference", width, height, image, stride);
      const got = census(variant, width, height, image, stride);
      expectSameImage(got.first, expected.first, width, `seed ${random.seed}, values to ${high}`);
      expectSameImage(got.second, expected.second, width, `seed ${random.seed}, second word`);
    }
  });
});
