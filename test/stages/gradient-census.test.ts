// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the gradient census: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.gradientCensus as unknown as (call: object) => string;
const THRESHOLDS = [-17, -15, -13, -10, -8, -6, -4, -2, -1, 0, 1, 2, 4, 6, 8, 10, 13, 15, 17];

function gradientCensus(variant: string, width: number, height: number, image: Uint8Array, stride = width) {
  const census = new Uint32Array(width * height);
  const ran = stage({ variant, width, height, strideBytes: stride, image, census });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return census;
}

function hamming(a: number, b: number): number {
  let bits = 0;
  for (let differing = a ^ b; differing !== 0; differing &= differing - 1) ++bits;
  return bits;
}

const forms = ["reference", ...variants];

describe.each(forms)("gradient census, %s: by hand", (variant) => {
  test("a flat image: 12 ties are ones, and 0 passes the ten thresholds up to 0", () => {
    for (const word of gradientCensus(variant, 70, 3, new Uint8Array(210).fill(9))) {
      expect(word).toBe((0xfff << 19) | (0x3ff << 9));
    }
  });

  test("every gradient there is sets the bits of the thresholds it reaches, the last threshold in bit 0", () => {
    const width = 72;
    for (let g = -255; g <= 255; ++g) {
      const image = new Uint8Array(width).fill(0);
      image[40 + 1] = Math.max(0, g);
      image[40 - 1] = Math.max(0, -g);
      const word = gradientCensus(variant, width, 1, image)[40]!;
      const expected = THRESHOLDS.reduce((bits, t) => 2 * bits + (g >= t ? 1 : 0), 0);
      expect(word & 0x7ffff, `gradient ${g}`).toBe(expected);
    }
  });

  test("the order of the twelve comparisons, one by one", () => {
    const order: [number, number][] = [];
    for (let i = 1; i <= 2; ++i) for (let j = -2; j <= 2; ++j) order.push([i, j]);
    for (let j = 1; j <= 2; ++j) order.push([0, j]);
    const width = 80;
    for (const [k, [i, j]] of order.entries()) {
      const image = new Uint8Array(width * 7).fill(50);
      image[(3 - j) * width + 40 - i] = 51; // v of pair k, seen from (40, 3)
      const word = gradientCensus(variant, width, 7, image)[3 * width + 40]!;
      expect(word >>> 19, `pair ${i},${j}`).toBe(0xfff & ~(1 << (11 - k)));
    }
  });
});

describe.each(forms)("gradient census, %s: properties", (variant) => {
  test("the distance of two gradients is the number of thresholds between them, in both orders", () => {
    const words = [-40, -9, 0, 3, 9, 200].map((g) => {
      const image = Uint8Array.of(Math.max(0, -g), 0, Math.max(0, g));
      return { g, word: gradientCensus(variant, 3, 1, image)[1]! & 0x7ffff };
    });
    for (const a of words) {
      for (const b of words) {
        const between = THRESHOLDS.filter((t) => t > Math.min(a.g, b.g) && t <= Math.max(a.g, b.g)).length;
        expect(hamming(a.word, b.word), `${a.g} and ${b.g}`).toBe(between);
      }
    }
  });

  test("adding to the brightness changes nothing", () => {
    const random = new Random();
    const image = random.fill(new Uint8Array(71 * 23), 0, 200);
    const brighter = image.map((value) => value + 55);
    const expected = gradientCensus(variant, 71, 23, image);
    expectSameImage(gradientCensus(variant, 71, 23, brighter), expected, 71, `seed ${random.seed}`);
  });
});

describe.each(variants)("gradient census, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, packed and strided", (width, height) => {
    const random = new Random();
    for (const high of [1, 20, 255]) {
      const stride = width + random.whole(0, 9);
      const image = random.fill(new Uint8Array(stride * height), 0, high);
      const expected = gradientCensus("reference", width, height, image, stride);
      const got = gradientCensus(variant, width, height, image, stride);
      expectSameImage(got, expected, width, `seed ${random.seed}, values to ${high}`);
    }
  });
});
