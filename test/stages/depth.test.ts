// SPDX-License-Identifier: Apache-2.0
// Three witnesses for depth: vectors worked out by hand, properties, and twins that must agree in every bit.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.depth as unknown as (call: object) => string;

interface Geometry {
  focalPixels: number;
  baselineMetres: number;
  disparityOffsetPixels: number;
}

function depth<T extends Uint16Array | Float32Array>(
  variant: string,
  geometry: Geometry,
  disparityQ4: Int16Array,
  result: T,
  width = Math.min(256, disparityQ4.length),
): T {
  const call = {
    variant,
    width,
    height: Math.ceil(disparityQ4.length / width),
    disparityQ4,
    depth: result,
    ...geometry,
  };
  expect(stage(call), "the form that was asked for is the form that ran").toBe(variant);
  return result;
}
const millimetres = (variant: string, geometry: Geometry, disparityQ4: Int16Array) =>
  depth(variant, geometry, disparityQ4, new Uint16Array(disparityQ4.length));
const metres = (variant: string, geometry: Geometry, disparityQ4: Int16Array) =>
  depth(variant, geometry, disparityQ4, new Float32Array(disparityQ4.length));
const floatBits = (image: Float32Array) => new Uint32Array(image.buffer);

const plain = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 };
const forms = ["reference", ...variants];

describe.each(forms)("depth, %s: by hand", (variant) => {
  test("Z = f b / d, rounded half up, 0 where there is none or it is too far", () => {
    // f b = 50 m px. 50 px: 1 m. 10 px: 5 m. 3 px: 16666.67 mm. 1/16 px: 800 m, too far. 12.5 px: 4 m. 0 and below: none.
    const image = Int16Array.of(800, 160, 48, 1, 200, 0, -16, INVALID);
    expect([...millimetres(variant, plain, image)]).toEqual([1000, 5000, 16667, 0, 4000, 0, 0, 0]);
    const inMetres = metres(variant, plain, image);
    const expected = [1, 5, Math.fround(Math.fround(800000 / 48) / 1000), 800, 4, NaN, NaN, NaN];
    expect([...inMetres]).toEqual(expected);
  });

  test("halves go up, and the last millimetre of 16 bits is 65535", () => {
    const unit = { focalPixels: 1, baselineMetres: 2.5 / 1000, disparityOffsetPixels: 0 };
    expect(millimetres(variant, unit, Int16Array.of(16))[0]).toBe(3);
    const far = (value: number) => ({
      focalPixels: 1,
      baselineMetres: value / 1000,
      disparityOffsetPixels: 0,
    });
    expect(millimetres(variant, far(65535.25), Int16Array.of(16))[0]).toBe(65535);
    expect(millimetres(variant, far(65535.75), Int16Array.of(16))[0]).toBe(0);
    expect(millimetres(variant, far(1e30), Int16Array.of(16))[0]).toBe(0);
  });

  test("the offset of the principal points is added to every disparity but the invalid one", () => {
    // 20 px - 4 px = 16 px: 3125 mm; 4 px - 4 px: infinitely far; 3 px - 4 px: behind.
    const shifted = { ...plain, disparityOffsetPixels: -4 };
    expect([...millimetres(variant, shifted, Int16Array.of(320, 64, 48, INVALID))]).toEqual([3125, 0, 0, 0]);
    const forward = { ...plain, disparityOffsetPixels: 3000 };
    expect(millimetres(variant, forward, Int16Array.of(INVALID))[0], "not -2048 px + 3000 px").toBe(0);
    expect(metres(variant, forward, Int16Array.of(INVALID))[0]).toBeNaN();
  });
});

describe.each(forms)("depth, %s: properties", (variant) => {
  const every = Int16Array.from({ length: 32512 }, (_, i) => i + 1);

  test("more disparity is never farther, and twice the baseline is exactly twice as far", () => {
    const once = metres(variant, plain, every);
    const twice = metres(variant, { ...plain, baselineMetres: 0.2 }, every);
    expect(every.filter((_, i) => i > 0 && !(once[i]! <= once[i - 1]!))).toHaveLength(0);
    expect(every.filter((_, i) => twice[i] !== 2 * once[i]!)).toHaveLength(0);
  });

  test("every disparity agrees with one rounding after another in JavaScript", () => {
    const { fround } = Math;
    const geometry = { focalPixels: 707.0912, baselineMetres: 0.53715, disparityOffsetPixels: 1.3 };
    const { focalPixels, baselineMetres, disparityOffsetPixels } = geometry;
    const numerator = fround(focalPixels * baselineMetres * 16 * 1000);
    const got = millimetres(variant, geometry, every);
    const gotMetres = metres(variant, geometry, every);
    const expected = Float32Array.from(every, (value) =>
      fround(numerator / fround(value + fround(16 * disparityOffsetPixels))),
    );
    const whole = Uint16Array.from(expected, (z) => {
      const rounded = Math.floor(fround(z + 0.5));
      return rounded > 65535 ? 0 : rounded;
    });
    expectSameImage(got, whole, every.length, "millimetres by disparityQ4 - 1");
    expectSameImage(
      gotMetres,
      expected.map((z) => fround(z / 1000)),
      every.length,
      "metres by disparityQ4 - 1",
    );
  });
});

describe.each(variants)("depth, %s: the same bits as the reference", (variant) => {
  test("every int16 there is, over a hundred geometries", () => {
    const random = new Random();
    const every = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);
    for (let round = 0; round < 100; ++round) {
      const geometry = {
        focalPixels: random.whole(1, 3_000_000) / 1000,
        baselineMetres: random.whole(1, 1_000_000) / 1e6,
        disparityOffsetPixels: round % 2 === 0 ? 0 : random.whole(-2_000_000, 2_000_000) / 1000,
      };
      const what = `seed ${random.seed}, ${JSON.stringify(geometry)}`;
      expectSameImage(
        millimetres(variant, geometry, every),
        millimetres("reference", geometry, every),
        256,
        what,
      );
      expectSameImage(
        floatBits(metres(variant, geometry, every)),
        floatBits(metres("reference", geometry, every)),
        256,
        what,
      );
    }
  });

  test.each(AWKWARD_WIDTHS)("%i wide", (width) => {
    const random = new Random();
    const image = random.fill(new Int16Array(width * 5), -20, 2000);
    for (let i = 0; i < image.length; i += 3) image[i] = INVALID;
    const whole = (form: string) => depth(form, plain, image, new Uint16Array(image.length), width);
    const float = (form: string) =>
      floatBits(depth(form, plain, image, new Float32Array(image.length), width));
    expectSameImage(whole(variant), whole("reference"), width, `seed ${random.seed}`);
    expectSameImage(float(variant), float("reference"), width, `seed ${random.seed}`);
  });
});

describe("depth: bad calls", () => {
  test("a geometry that is not finite is refused by name", () => {
    expect(() => millimetres("scalar", { ...plain, focalPixels: Number.NaN }, Int16Array.of(1))).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("focalPixels") }),
    );
  });
});
