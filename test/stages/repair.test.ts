// SPDX-License-Identifier: Apache-2.0
// The repair of outliers: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.repair as unknown as (call: object) => string;

interface Maps {
  disparityQ4: Int16Array;
  sure: Uint8Array;
}

/** Compares copies of the maps. */
function repaired(variant: string, width: number, height: number, maps: Maps): Maps {
  const own = { disparityQ4: maps.disparityQ4.slice(), sure: maps.sure.slice() };
  const ran = stage({ variant, width, height, ...own });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return own;
}

const row = (disparities: number[], sures: number[]): Maps => ({
  disparityQ4: Int16Array.from(disparities, (d) => (d === INVALID ? d : 16 * d)),
  sure: Uint8Array.from(sures),
});

describe.each(["reference", ...variants])("repair, %s: by hand", (variant) => {
  const repairedDisparities = (maps: Maps) =>
    Array.from(repaired(variant, maps.sure.length, 1, maps).disparityQ4);

  test("an outlier between two surer pixels that agree", () => {
    const maps = row([5, 9, 5], [110, 100, 200]);
    const { disparityQ4, sure } = repaired(variant, 3, 1, maps);
    expect([...disparityQ4]).toEqual([80, 80, 80]);
    // ceil(11 x 100 / 10) = 110. In the third pass 110 asks for 121, which the left pixel has not.
    expect([...sure]).toEqual([110, 110, 200]);
  });

  test("not where one side is only 9 percent surer, nor where the sides disagree by more than half a pixel", () => {
    expect(repairedDisparities(row([5, 9, 5], [109, 100, 200]))).toEqual([80, 144, 80]);
    expect(repairedDisparities(row([5, 9, 6], [110, 100, 200]))).toEqual([80, 144, 96]);
    const half = row([5, 9, 5], [110, 100, 200]);
    half.disparityQ4[2] = 88; // half a pixel
    expect(repairedDisparities(half)).toEqual([80, 84, 88]);
  });

  test("the nearest surer pixel of each side counts, up to 10 away", () => {
    const width = 25;
    const sures = new Array(width).fill(100);
    const disparities = new Array(width).fill(9);
    sures[2] = sures[22] = 200;
    disparities[2] = disparities[22] = 5;
    const wide = repaired(variant, width, 1, row(disparities, sures));
    expect(wide.disparityQ4[12]).toBe(80);
    sures[22] = 100;
    sures[23] = 200;
    disparities[23] = 5;
    const wider = repaired(variant, width, 1, row(disparities, sures));
    expect(wider.disparityQ4[12], "11 away").toBe(144);
    // A nearer one on the right that says something else.
    sures[14] = 150;
    disparities[14] = 30;
    sures[22] = 200;
    disparities[22] = 5;
    expect(repaired(variant, width, 1, row(disparities, sures)).disparityQ4[12]).toBe(144);
  });

  test("a hole stays one, and repairs no other pixel", () => {
    expect(repairedDisparities(row([5, INVALID, 5], [200, 0, 200]))).toEqual([80, INVALID, 80]);
    expect(repairedDisparities(row([INVALID, 9, 5], [0, 100, 200]))).toEqual([INVALID, 144, 80]);
  });

  test("rows, columns, rows: what the pass along the columns fixes", () => {
    const maps = row([5, 9, 5], [200, 100, 200]);
    const { disparityQ4 } = repaired(variant, 1, 3, maps);
    expect([...disparityQ4]).toEqual([80, 80, 80]);
  });
});

describe.each(variants)("repair, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 7] as const),
    [300, 1],
    [33, 25],
    [1, 40],
    [94, 24],
  ] as const;
  test.each(shapes)("%i x %i, few and many disparities and holes", (width, height) => {
    const random = new Random();
    for (const [oneHoleIn, maxDisparityQ4, leastSure] of [
      [3, 24, 1],
      [20, 60, 180],
      [1000, 32_736, 1],
    ] as const) {
      const size = width * height;
      const disparityQ4 = random.fill(new Int16Array(size), 0, maxDisparityQ4);
      const sure = random.fill(new Uint8Array(size), leastSure, 255);
      for (let i = 0; i < size; ++i) {
        if (random.whole(1, oneHoleIn) > 1) continue;
        disparityQ4[i] = INVALID;
        sure[i] = 0;
      }
      const maps = { disparityQ4, sure };
      const expected = repaired("reference", width, height, maps);
      const got = repaired(variant, width, height, maps);
      expectSameImage(got.disparityQ4, expected.disparityQ4, width, `seed ${random.seed}, disparity`);
      expectSameImage(got.sure, expected.sure, width, `seed ${random.seed}, sure`);
    }
  });
});
