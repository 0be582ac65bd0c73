// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the median: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.median as unknown as (call: object) => string;

function median(
  variant: string,
  width: number,
  height: number,
  disparityQ4: Int16Array,
  stride = width,
): Int16Array {
  const result = new Int16Array(stride * height);
  const ran = stage({ variant, width, height, strideBytes: 2 * stride, disparityQ4, result });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return result;
}

const forms = ["reference", ...variants];

describe.each(forms)("median, %s: by hand", (variant) => {
  test("the fifth smallest of nine, in any order", () => {
    for (const nine of [
      [9, 1, 8, 2, 7, 3, 6, 4, 5],
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      [5, 5, 5, 5, 9, 1, 1, 1, 9],
    ]) {
      expect(median(variant, 3, 3, Int16Array.from(nine))[4]).toBe(5);
    }
  });

  test("an invalid neighbour counts as the centre, an invalid centre stays", () => {
    // Valid: 10 20 30 and the centre 40; five invalid count as 40: 10 20 30 40 40 40 40 40 40, the fifth is 40.
    const image = Int16Array.of(10, 20, 30, INVALID, 40, INVALID, INVALID, INVALID, INVALID);
    expect(median(variant, 3, 3, image)[4]).toBe(40);
    // 10 20 30 50 60 and four times 40: 10 20 30 40 40 40 40 50 60.
    const mixed = Int16Array.of(10, 20, 30, 50, 40, 60, INVALID, INVALID, INVALID);
    expect(median(variant, 3, 3, mixed)[4]).toBe(40);
    image[4] = INVALID;
    expect(median(variant, 3, 3, image)[4]).toBe(INVALID);
    expect([...median(variant, 3, 3, new Int16Array(9).fill(INVALID))]).toEqual(new Array(9).fill(INVALID));
  });

  test("the border is replicated", () => {
    // At (0, 0) the nine are 1 1 2 / 1 1 2 / 3 3 4: sorted 1 1 1 1 2 2 3 3 4, the fifth is 2.
    expect(median(variant, 2, 2, Int16Array.of(1, 2, 3, 4))[0]).toBe(2);
    expect([...median(variant, 1, 1, Int16Array.of(77))]).toEqual([77]);
    // A row of three: at each place every value counts three times.
    expect([...median(variant, 3, 1, Int16Array.of(5, 9, 1))]).toEqual([5, 5, 1]);
  });
});

describe.each(forms)("median, %s: properties", (variant) => {
  test("negating the image negates the median", () => {
    const random = new Random();
    const image = random.fill(new Int16Array(71 * 23), -32767, 32767);
    expectSameImage(
      median(
        variant,
        71,
        23,
        Int16Array.from(image, (v) => -v),
      ),
      median(variant, 71, 23, image).map((v) => -v),
      71,
      `seed ${random.seed}`,
    );
  });

  test("transposing the image transposes the median", () => {
    const random = new Random();
    const [width, height] = [67, 35];
    const image = random.fill(new Int16Array(width * height), 0, 300);
    const transposed = new Int16Array(width * height);
    for (let i = 0; i < image.length; ++i) {
      transposed[(i % width) * height + Math.floor(i / width)] = image[i]!;
    }
    const expected = median(variant, width, height, image);
    const got = median(variant, height, width, transposed);
    for (let i = 0; i < image.length; ++i) {
      expect(got[(i % width) * height + Math.floor(i / width)], `seed ${random.seed}, ${i}`).toBe(
        expected[i],
      );
    }
  });

  test("a lone pixel goes, a plane and a straight edge stay", () => {
    const [width, height] = [90, 20];
    const edge = Int16Array.from({ length: width * height }, (_, i) => (i % width < 45 ? 160 : 480));
    const spoiled = edge.slice();
    spoiled[10 * width + 20] = 999;
    spoiled[10 * width + 70] = 3;
    expectSameImage(median(variant, width, height, spoiled), edge, width, "edge");
  });
});

describe.each(variants)("median, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, few and many invalid pixels, packed and strided", (width, height) => {
    const random = new Random();
    for (const oneInvalidIn of [2, 9, 1000]) {
      const stride = width + random.whole(0, 9);
      const image = random.fill(new Int16Array(stride * height), -32767, 32767);
      for (let i = 0; i < image.length; ++i) if (random.whole(1, oneInvalidIn) === 1) image[i] = INVALID;
      const what = `seed ${random.seed}, one invalid in ${oneInvalidIn}, stride ${stride}`;
      const expected = median("reference", width, height, image, stride);
      expectSameImage(median(variant, width, height, image, stride), expected, stride, what);
    }
  });
});
