// SPDX-License-Identifier: Apache-2.0
// The noise estimate, smoothing and the filter: by hand, on noise of a known deviation, and twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.denoise as unknown as (call: object) => string;

function denoise(
  variant: string,
  width: number,
  height: number,
  image: Uint8Array,
  strideBytes = width,
  range = 14,
) {
  const smoothed = new Uint8Array(width * height);
  const filtered = new Uint8Array(width * height);
  const sigmaQ8 = new Int32Array(1);
  const ran = stage({ variant, width, height, strideBytes, image, range, smoothed, filtered, sigmaQ8 });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return { smoothed, filtered, sigmaQ8: sigmaQ8[0]! };
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

  test("by hand: the filter weighs by how like the smoothed image is", () => {
    // One row of 0 0 0 16 0 0 0 at range 6, seen seven times over the border: smoothed 0 0 4 8 4 0 0.
    const line = Uint8Array.from([0, 0, 0, 16, 0, 0, 0]);
    const { smoothed, filtered } = denoise(variant, 7, 1, line, 7, 6);
    expect([...smoothed]).toEqual([0, 0, 4, 8, 4, 0, 0]);
    // In the middle 4, 8 and 4 count 2, 6 and 2: (2 x 6 x 16 + 10) / 20 = 10. Where 4 stands the row around it has 0 0 0 4 8 4 0, whose
    // weights are 2 2 2 6 2 6 2: (2 x 2 x 16 + 22) / 44 = 1. Where 0 stands, 8 is too far away to count.
    expect([...filtered]).toEqual([0, 0, 1, 10, 1, 0, 0]);
  });

  test("the filter leaves an edge, a step beyond its range, as it is, and takes noise off next to it", () => {
    const random = new Random();
    const [width, height] = [120, 60];
    const clean = Uint8Array.from({ length: width * height }, (_, i) => (i % width < 60 ? 60 : 180));
    const image = clean.map((value) => Math.round(value + noise(random, 6)));
    const { filtered } = denoise(variant, width, height, image, width, 14);
    const deviation = (values: Uint8Array) => {
      let squares = 0;
      for (let y = 0; y < height; ++y)
        for (let x = 10; x < 50; ++x) squares += (values[y * width + x]! - 60) ** 2;
      return Math.sqrt(squares / (40 * height));
    };
    expect(deviation(filtered), `seed ${random.seed}`).toBeLessThan(0.5 * deviation(image));
    expect(Math.abs(filtered[30 * width + 57]! - 60), `seed ${random.seed}`).toBeLessThan(20);
    expect(Math.abs(filtered[30 * width + 62]! - 180), `seed ${random.seed}`).toBeLessThan(20);
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
    const { smoothed, filtered, sigmaQ8 } = denoise(variant, 80, 9, flat);
    expect([...smoothed]).toEqual([...flat]);
    expect([...filtered]).toEqual([...flat]);
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
      for (const range of [1, random.whole(2, 35), 36]) {
        const expected = denoise("reference", width, height, image, stride, range);
        const got = denoise(variant, width, height, image, stride, range);
        const shown = `seed ${random.seed}, values to ${high}, range ${range}`;
        expectSameImage(got.smoothed, expected.smoothed, width, shown);
        expectSameImage(got.filtered, expected.filtered, width, shown);
      }
      const expected = denoise("reference", width, height, image, stride);
      const got = denoise(variant, width, height, image, stride);
      expect(got.sigmaQ8, `seed ${random.seed}`).toBe(expected.sigmaQ8);
    }
  });
});

describe("denoise: the engine's range, by hand", () => {
  const smoothRange = native.stages.smoothRange as unknown as (call: object) => number;

  test.each([
    // (14 sigma - 31) / 4, from 3 to 36.
    [0, 0, 3],
    [895, 0, 4],
    [896, 0, 5],
    [1024, 0, 6],
    [3150, 0, 35],
    [3200, 0, 36],
    [4608, 0, 36],
    // The applied range stays while it is less than 3/2 off.
    [895, 3, 3],
    [896, 3, 5],
    [897, 6, 6],
    [896, 6, 5],
    [1024, 7, 7],
    [0, 36, 3],
  ])("sigma %i / 256, applied %i: %i", (sigmaQ8, applied, range) => {
    expect(smoothRange({ sigmaQ8, applied })).toBe(range);
  });

  test("every noise up to 20 grey values: rounded to the nearest range, unless the applied one is less than 3/2 off", () => {
    for (let sigmaQ8 = 0; sigmaQ8 <= 20 * 256; ++sigmaQ8) {
      // In 1/256, a quarter is rounded down.
      const wanted = Math.max(0, Math.floor((14 * sigmaQ8 - 31 * 256) / 4) / 256);
      const nearest = Math.min(36, Math.max(3, Math.floor(wanted + 0.5)));
      const found = [0, 3, 5, 20, 36].map((applied) => smoothRange({ sigmaQ8, applied }));
      const expected = [0, 3, 5, 20, 36].map((applied) =>
        applied > 0 && Math.abs(wanted - applied) < 1.5 ? applied : nearest,
      );
      if (found.join() !== expected.join()) expect(found, `sigma ${sigmaQ8} / 256`).toEqual(expected);
    }
  });
});
