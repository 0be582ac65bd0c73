// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the temporal filter: frames worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.temporal as unknown as (call: object) => string;
const forms = ["reference", ...variants];

/** A pixel's stream through one form of the stage. */
class Filter {
  readonly #pixels: number;
  readonly mean: Int16Array;
  readonly weight: Uint8Array;
  readonly reference: Int16Array;

  constructor(
    readonly variant: string,
    readonly width: number,
    readonly height: number,
  ) {
    this.#pixels = width * height;
    this.mean = new Int16Array(this.#pixels);
    this.weight = new Uint8Array(this.#pixels);
    this.reference = new Int16Array(this.#pixels);
  }

  next(grey: Uint8Array, disparityQ4: Int16Array): Int16Array {
    const { variant, width, height, mean, weight, reference } = this;
    const result = disparityQ4.slice();
    const ran = stage({ variant, width, height, grey, disparityQ4: result, mean, weight, reference });
    expect(ran, "the form that was asked for is the form that ran").toBe(variant);
    return result;
  }

  /** A frame whose pixels are all alike. */
  alike(grey: number, disparityQ4: number): number {
    const disparities = new Int16Array(this.#pixels).fill(disparityQ4);
    const [first, ...others] = this.next(new Uint8Array(this.#pixels).fill(grey), disparities);
    expect(others.every((value) => value === first)).toBe(true);
    return first!;
  }
}

describe.each(forms)("mean over time, %s: by hand", (variant) => {
  test("the mean of two, of three, and a ninth of what comes after eight", () => {
    const filter = new Filter(variant, 9, 9);
    expect(filter.alike(100, 160)).toBe(160);
    // 2560 and 2576 in 1/256 px: 2568, which is 160.5, rounded up.
    expect(filter.alike(100, 161)).toBe(161);
    // 2568 + (2560 - 2568) / 3 = 2568 - 2.67, rounded away from 0: 2565, which is 160.3.
    expect(filter.alike(100, 160)).toBe(160);
    for (let i = 0; i < 30; ++i) filter.alike(100, 160);
    // 2560 + 160 / 9 = 2560 + 17.8: 2578, which is 161.1.
    expect(filter.alike(100, 170)).toBe(161);
  });

  test("one pixel off is averaged, more is believed at the third time", () => {
    const filter = new Filter(variant, 8, 8);
    filter.alike(50, 160);
    expect(filter.alike(50, 176)).toBe(168);
    expect(filter.alike(50, 400)).toBe(168);
    expect(filter.alike(50, 400)).toBe(168);
    expect(filter.alike(50, 400)).toBe(400);
    // A frame within the gate begins the count again.
    expect(filter.alike(50, 100)).toBe(400);
    expect(filter.alike(50, 100)).toBe(400);
    expect(filter.alike(50, 400)).toBe(400);
    expect(filter.alike(50, 100)).toBe(400);
  });

  test("a hole shows what was there; where nothing was, it stays", () => {
    const filter = new Filter(variant, 5, 3);
    expect(filter.alike(9, INVALID)).toBe(INVALID);
    expect(filter.alike(9, 64)).toBe(64);
    for (let i = 0; i < 9; ++i) expect(filter.alike(9, INVALID)).toBe(64);
    // All pixels brighter by 5: the whole frame is reset, and the hole with it.
    expect(filter.alike(14, INVALID)).toBe(INVALID);
  });

  test("light that drifts is followed, a jump of more than 4 grey values is not", () => {
    const filter = new Filter(variant, 16, 16);
    filter.alike(100, 320);
    for (let i = 1; i < 8; ++i) expect(filter.alike(100 + (i >> 1), 336)).toBeLessThan(336);
    const jump = new Filter(variant, 16, 16);
    jump.alike(100, 320);
    expect(jump.alike(104, 336)).toBe(328);
    expect(jump.alike(110, 336)).toBe(336);
  });

  test("four moved pixels reset their tile and the eight around it", () => {
    const [width, height] = [48, 40];
    const filter = new Filter(variant, width, height);
    const grey = new Uint8Array(width * height).fill(80);
    filter.next(grey, new Int16Array(width * height).fill(160));
    // The mean of 3 x 3 changes by 255 / 9 = 28 in nine pixels of the tile (2, 2).
    grey[20 * width + 20] = 255;
    const after = filter.next(grey, new Int16Array(width * height).fill(168));
    for (let y = 0; y < height; ++y) {
      for (let x = 0; x < width; ++x) {
        const isNear = Math.abs((x >> 3) - 2) <= 1 && Math.abs((y >> 3) - 2) <= 1;
        expect(after[y * width + x], `x ${x}, y ${y}`).toBe(isNear ? 168 : 164);
      }
    }
  });
});

/** A still scene with noise, a square that moves over it, holes, and now and then another picture. */
function frames(width: number, height: number, count: number, random: Random) {
  const scene = random.fill(new Uint8Array(width * height), 0, 255);
  const depths = random.fill(new Int16Array(width * height), 0, 2047);
  return Array.from({ length: count }, (_, frame) => {
    if (random.whole(0, 9) === 0) random.fill(scene, 0, 255);
    const grey = scene.map((value) => Math.max(0, Math.min(255, value + random.whole(-3, 3))));
    const disparityQ4 = depths.map((value) =>
      random.whole(0, 9) === 0 ? INVALID : value + random.pick([0, 1, -1, 15, -15, 16, -16, 17, -17, 900]),
    );
    for (let y = 0; y < Math.min(6, height); ++y) {
      for (let x = 3 * frame; x < Math.min(3 * frame + 9, width); ++x) grey[y * width + x] = 255 - y;
    }
    return { grey, disparityQ4 };
  });
}

describe("mean over time: twins", () => {
  test.each(variants)("%s equals the definition, frame after frame, state and result", (variant) => {
    const random = new Random();
    for (const width of [...AWKWARD_WIDTHS, 511, 512, 513, 700]) {
      const height = random.pick([1, 2, 7, 8, 9, 16, 23]);
      const expected = new Filter("reference", width, height);
      const got = new Filter(variant, width, height);
      for (const [i, { grey, disparityQ4 }] of frames(width, height, 14, random).entries()) {
        const what = `seed ${random.seed}, ${width} x ${height}, frame ${i}`;
        expectSameImage(got.next(grey, disparityQ4), expected.next(grey, disparityQ4), width, what);
        for (const part of ["mean", "weight", "reference"] as const)
          expectSameImage(got[part], expected[part], width, `${what}, ${part}`);
      }
    }
  });
});

describe.each(forms)("mean over time, %s: properties", (variant) => {
  test("a still scene does not change; noise gets smaller; the first frame passes", () => {
    const random = new Random();
    const [width, height] = [64, 32];
    const grey = random.fill(new Uint8Array(width * height), 0, 255);
    const truth = random.fill(new Int16Array(width * height), 100, 900);
    const filter = new Filter(variant, width, height);
    const spread = (values: Int16Array) =>
      values.reduce((sum, value, i) => sum + (value - truth[i]!) ** 2, 0) / values.length;
    let last = filter.next(grey, truth);
    expectSameImage(last, truth, width, "first frame");
    expectSameImage(filter.next(grey, truth), truth, width, "second frame");
    for (let i = 0; i < 12; ++i)
      last = filter.next(
        grey,
        truth.map((value) => value + random.whole(-8, 8)),
      );
    // Uniform over -8..8 has a variance of 24. A recursive mean with weight 1/9 reduces it to 24 / 17, plus rounding.
    expect(spread(last)).toBeLessThan(24 / 8);
  });
});
