// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the two-gradient census: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.twoGradientCensus as unknown as (call: object) => string;
const HORIZONTAL = [-16, -13, -9, -6, -3, -1, 1, 3, 6, 9, 13, 16];
const VERTICAL = [-16, -13, -8, -5, -2, 0, 2, 5, 8, 13, 16];

function census(variant: string, width: number, height: number, image: Uint8Array, stride = width) {
  const words = new Uint32Array(width * height);
  const ran = stage({ variant, width, height, strideBytes: stride, image, census: words });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return words;
}

const signBits = (word: number) => word >>> 23;
const horizontalBits = (word: number) => (word >>> 11) & 0xfff;
const verticalBits = (word: number) => word & 0x7ff;
const reached = (thresholds: number[], gradient: number) =>
  thresholds.reduce((bits, t) => 2 * bits + (gradient >= t ? 1 : 0), 0);

function hamming(a: number, b: number): number {
  let bits = 0;
  for (let differing = a ^ b; differing !== 0; differing &= differing - 1) ++bits;
  return bits;
}

const forms = ["reference", ...variants];

describe.each(forms)("two-gradient census, %s: by hand", (variant) => {
  test("a flat image: 8 ties are ones, 0 passes six thresholds each way", () => {
    for (const word of census(variant, 70, 3, new Uint8Array(210).fill(9))) {
      expect(word).toBe((0xff << 23) | (0b111111_000000 << 11) | 0b111111_00000);
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
      const words = census(variant, width, 3, image);
      expect(horizontalBits(words[width + 40]!), `horizontal ${g}`).toBe(reached(HORIZONTAL, g));
      expect(verticalBits(words[width + 50]!), `vertical ${g}`).toBe(reached(VERTICAL, g));
      expect(verticalBits(words[width + 40]!), `no vertical gradient next to ${g}`).toBe(
        reached(VERTICAL, 0),
      );
    }
  });

  test("the order of the eight pairs, one by one", () => {
    const order = [1, 2].flatMap(
      (k) =>
        [
          [k, -k],
          [k, 0],
          [k, k],
          [0, k],
        ] as [number, number][],
    );
    const width = 80;
    for (const [n, [i, j]] of order.entries()) {
      const image = new Uint8Array(width * 7).fill(50);
      image[(3 - j) * width + 40 - i] = 51; // the pixel opposite to pair n, seen from (40, 3)
      const word = census(variant, width, 7, image)[3 * width + 40]!;
      expect(signBits(word), `pair ${i},${j}`).toBe(0xff & ~(1 << (7 - n)));
    }
  });

  test("outside the image the border continues", () => {
    // One pixel: all pairs are ties. Two pixels 10, 30: from the left one g = 20, from the right one too.
    expect(census(variant, 1, 1, Uint8Array.of(7))[0]).toBe(
      (0xff << 23) | (0b111111_000000 << 11) | 0b111111_00000,
    );
    for (const word of census(variant, 2, 1, Uint8Array.of(10, 30))) expect(horizontalBits(word)).toBe(0xfff);
  });
});

describe.each(forms)("two-gradient census, %s: properties", (variant) => {
  test("the distance of two gradients is the number of thresholds between them, in both orders", () => {
    const words = [-40, -9, 0, 3, 9, 200].map((g) => {
      const image = Uint8Array.of(Math.max(0, -g), 0, Math.max(0, g));
      return { g, across: census(variant, 3, 1, image)[1]!, down: census(variant, 1, 3, image)[1]! };
    });
    const between = (thresholds: number[], a: number, b: number) =>
      thresholds.filter((t) => t > Math.min(a, b) && t <= Math.max(a, b)).length;
    for (const a of words) {
      for (const b of words) {
        expect(hamming(horizontalBits(a.across), horizontalBits(b.across))).toBe(
          between(HORIZONTAL, a.g, b.g),
        );
        expect(hamming(verticalBits(a.down), verticalBits(b.down))).toBe(between(VERTICAL, a.g, b.g));
      }
    }
  });

  test("adding to the brightness changes nothing", () => {
    const random = new Random();
    const image = random.fill(new Uint8Array(71 * 23), 0, 200);
    const brighter = image.map((value) => value + 55);
    expectSameImage(
      census(variant, 71, 23, brighter),
      census(variant, 71, 23, image),
      71,
      `seed ${random.seed}`,
    );
  });
});

describe.each(variants)("two-gradient census, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, packed and strided", (width, height) => {
    const random = new Random();
    for (const high of [1, 20, 255]) {
      const stride = width + random.whole(0, 9);
      const image = random.fill(new Uint8Array(stride * height), 0, high);
      const expected = census("reference", width, height, image, stride);
      const got = census(variant, width, height, image, stride);
      expectSameImage(got, expected, width, `seed ${random.seed}, values to ${high}`);
    }
  });
});
