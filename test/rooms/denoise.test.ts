// SPDX-License-Identifier: Apache-2.0
// The noise estimate and smoothing: by hand, on noise of a known deviation, and twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/rooms.js";

const room = native.rooms.denoise as unknown as (call: object) => string;

function denoise(variant: string, width: number, height: number, image: Uint8Array, strideBytes = width) {
  const smoothed = new Uint8Array(width * height);
  const sigmaQ8 = new Int32Array(1);
  const ran = room({ variant, width, height, strideBytes, image, smoothed, sigmaQ8 });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return { smoothed, sigmaQ8: sigmaQ8[0]! };
}

/** A sum of twelve even ones: normal enough, its deviation is `sigma`. */
function noise(random: Random, sigma: number): number {
  let sum = 0;
  for (let i = 0; i < 12; ++i) sum += random.whole(0, 999) / 1000 - 0.4995;
  return sigma * sum;
}

const forms = ["reference", ...variants];

describe.each(forms)("denoise, %s", (variant) => {
  test("by hand: one bright pixel", () => {
    const image = new Uint8Array(25);
    image[12] = 16;
    const { smoothed } = denoise(variant, 5, 5, image);
    // (16 + 8) / 16 = 1, (32 + 8) / 16 = 2, (64 + 8) / 16 = 4
    expect([...smoothed]).toEqual([
      0, 0, 0, 0, 0, 0, 1, 2, 1, 0, 0, 2, 4, 2, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0,
    ]);
    // Its corner takes part four times over the border: (16 x (1 + 2 + 2 + 4) + 8) / 16 = 9.
    const corner = new Uint8Array(25);
    corner[0] = 16;
    expect(denoise(variant, 5, 5, corner).smoothed[0]).toBe(9);
  });

  test("by hand: one |n| of 4 is spread over 3.5 to 4.5, and the quarter of one is that one", () => {
    const image = new Uint8Array(9);
    image[4] = 1;
    // q256 = 1024 - 128 + 256 = 1152, times 134 / 256 = 603
    expect(denoise(variant, 3, 3, image).sigmaQ8).toBe(603);
    // Rows 1 and 5 are looked at, 2 to 4 are not.
    const sparse = new Uint8Array(3 * 7);
    sparse[3 * 3 + 1] = 200;
    expect(denoise(variant, 3, 7, sparse).sigmaQ8).toBe(denoise(variant, 3, 7, new Uint8Array(21)).sigmaQ8);
  });

  test("an image of one grey value is quiet and stays; one too small for the mask is unknown, which is 0", () => {
    const flat = new Uint8Array(80 * 9).fill(77);
    const { smoothed, sigmaQ8 } = denoise(variant, 80, 9, flat);
    expect([...smoothed]).toEqual([...flat]);
    expect(sigmaQ8).toBeLessThan(64);
    expect(denoise(variant, 80, 2, flat).sigmaQ8).toBe(0);
    expect(denoise(variant, 2, 80, flat).sigmaQ8).toBe(0);
  });

  test.each([3, 6, 10])("noise of sigma %i on a slope is read within a tenth", (sigma) => {
    const random = new Random();
    const [width, height] = [200, 120];
    const image = Uint8Array.from({ length: width * height }, (_, i) =>
      Math.round(80 + (i % width) / 4 + noise(random, sigma)),
    );
    const read = denoise(variant, width, height, image).sigmaQ8 / 256;
    expect(Math.abs(read - sigma), `seed ${random.seed}: read ${read}`).toBeLessThan(sigma / 10);
  });
});

describe.each(variants)("denoise, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 7] as const), [300, 1], [33, 2], [1, 40]] as const;

  test.each(shapes)("%i x %i, packed and strided", (width, height) => {
    const random = new Random();
    for (const high of [1, 20, 255]) {
      const stride = width + random.whole(0, 9);
      const image = random.fill(new Uint8Array(stride * height), 0, high);
      const expected = denoise("reference", width, height, image, stride);
      const got = denoise(variant, width, height, image, stride);
      expectSameImage(got.smoothed, expected.smoothed, width, `seed ${random.seed}, values to ${high}`);
      expect(got.sigmaQ8, `seed ${random.seed}`).toBe(expected.sigmaQ8);
    }
  });
});
