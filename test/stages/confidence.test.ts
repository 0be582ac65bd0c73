// SPDX-License-Identifier: Apache-2.0
// The confidence of a matched disparity: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.confidence as unknown as (call: object) => string;

interface Call {
  grey: Uint8Array;
  disparityQ4: Int16Array;
  certainty: Uint8Array;
  zeroIsEstimated?: boolean;
  limit?: Uint8Array;
}

function confidence(variant: string, width: number, height: number, call: Call): Uint8Array {
  const sure = new Uint8Array(width * height);
  const ran = stage({ variant, width, height, ...call, sure });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return sure;
}

/** Grey that changes by 8 or more from column to column: texture says nothing. */
const stripes = (width: number, height: number) =>
  Uint8Array.from({ length: width * height }, (_, i) => ((i % width) % 2 === 0 ? 0 : 100));

const forms = ["reference", ...variants];

describe.each(forms)("confidence, %s: by hand", (variant) => {
  const [width, height] = [9, 7];
  const centre = 3 * width + 4;
  const flat = () => new Int16Array(width * height).fill(160);
  const certainties = (value: number) => new Uint8Array(width * height).fill(value);

  test("25 agreeing pixels of certainty 100: support 2500, texture 400", () => {
    const call = { grey: stripes(width, height), disparityQ4: flat(), certainty: certainties(100) };
    const sure = confidence(variant, width, height, call);
    // 2500 >> 7 = 19: 63; nothing unmatched: 0; 400 >> 4 = 25: -1. 255 / (1 + exp(-62 / 16)) = 249.8
    expect(sure[centre]).toBe(250);
    // Columns -2 to 2: the first three have no step. 160 >> 4 = 10: -20. 255 / (1 + exp(-43 / 16)) = 238.8
    expect(sure[3 * width]).toBe(239);
  });

  test("who is more than a pixel away, or invalid, does not agree", () => {
    const disparityQ4 = flat();
    disparityQ4[centre - 1] = 160 + 16; // agrees
    disparityQ4[centre + 1] = 160 + 17; // does not
    disparityQ4[centre + width] = INVALID;
    const call = { grey: stripes(width, height), disparityQ4, certainty: certainties(100) };
    const sure = confidence(variant, width, height, call);
    // 23 x 100 = 2300, 2300 >> 7 = 17: 62; one unmatched, 1 >> 2 = 0: 0; -1. 255 / (1 + exp(-61 / 16)) = 249.5
    expect(sure[centre]).toBe(249);
    // Its own 100 and that of the pixel two columns left: 200 >> 7 = 1: 51; -1. 255 / (1 + exp(-50 / 16)) = 244.3
    expect(sure[centre + 1]).toBe(244);
    expect(sure[centre + width]).toBe(0);
  });

  test("holes around make unsure", () => {
    const disparityQ4 = flat().fill(INVALID, 0, width);
    const call = { grey: stripes(width, height), disparityQ4, certainty: certainties(100) };
    // Rows -2, -1 and 0 are row 0: 33 of 121, 33 >> 2 = 8: -20. 255 / (1 + exp(-42 / 16)) = 237.8
    expect(confidence(variant, width, height, call)[centre]).toBe(238);
  });

  test("without texture hardly anything is believed, but what was matched is above 0", () => {
    const [columns, rows] = [20, 3];
    const call = {
      grey: new Uint8Array(columns * rows).fill(90),
      disparityQ4: new Int16Array(columns * rows).fill(160),
      certainty: new Uint8Array(columns * rows).fill(255),
    };
    expect([...confidence(variant, columns, rows, call)]).toEqual(new Array(columns * rows).fill(1));
    // One step of 1 between columns 4 and 5: eleven rows have it within five columns, 8 x 11 = 88 at most.
    const grey = call.grey.map((value, i) => (i % columns >= 5 ? value + 1 : value));
    const sure = confidence(variant, columns, rows, { ...call, grey });
    expect([...sure.subarray(0, 11)]).toEqual(new Array(11).fill(88));
    expect([...sure.subarray(11, columns)]).toEqual(new Array(9).fill(1));
  });

  test("no more than the limit of its block, 8 columns wide and 4 rows high", () => {
    const [columns, rows] = [20, 9];
    const call = {
      grey: stripes(columns, rows),
      disparityQ4: new Int16Array(columns * rows).fill(160),
      certainty: new Uint8Array(columns * rows).fill(100),
    };
    const free = confidence(variant, columns, rows, call);
    const limit = Uint8Array.of(255, 40, 7, 1, 255, 90, 255, 249, 200);
    const limited = confidence(variant, columns, rows, { ...call, limit });
    const expected = free.map((value, i) => {
      const [x, y] = [i % columns, Math.floor(i / columns)];
      return Math.min(value, limit[3 * Math.floor(y / 4) + Math.floor(x / 8)]!);
    });
    expect([...limited]).toEqual([...expected]);
  });

  test("who has no support is matched, and no more; where 0 says estimated, not even that", () => {
    const call = { grey: stripes(width, height), disparityQ4: flat(), certainty: certainties(0) };
    expect(confidence(variant, width, height, call)[centre]).toBe(1);
    expect([...confidence(variant, width, height, { ...call, zeroIsEstimated: true })]).toEqual(
      new Array(width * height).fill(0),
    );
    // An estimated pixel is a hole to those next to it: rows -2, -1 and 0, as above.
    const certainty = certainties(100).fill(0, 0, width);
    expect(confidence(variant, width, height, { ...call, certainty, zeroIsEstimated: true })[centre]).toBe(
      238,
    );
  });
});

describe.each(forms)("confidence, %s: properties", (variant) => {
  test("it rises with the certainty of any pixel around", () => {
    const random = new Random();
    const [width, height] = [70, 12];
    const size = width * height;
    const grey = random.fill(new Uint8Array(size), 0, 255);
    const disparityQ4 = random.fill(new Int16Array(size), 300, 330);
    const certainty = random.fill(new Uint8Array(size), 0, 200);
    const before = confidence(variant, width, height, { grey, disparityQ4, certainty });
    const more = certainty.map((value) => value + 55);
    const after = confidence(variant, width, height, { grey, disparityQ4, certainty: more });
    for (let i = 0; i < size; ++i)
      expect(after[i], `seed ${random.seed}, ${i}`).toBeGreaterThanOrEqual(before[i]!);
  });

  test("adding the same to all disparities changes nothing", () => {
    const random = new Random();
    const [width, height] = [90, 9];
    const grey = random.fill(new Uint8Array(width * height), 0, 255);
    const certainty = random.fill(new Uint8Array(width * height), 0, 255);
    const disparityQ4 = random.fill(new Int16Array(width * height), 0, 60);
    const expected = confidence(variant, width, height, { grey, disparityQ4, certainty });
    const moved = disparityQ4.map((d) => d + 32_000);
    expectSameImage(
      confidence(variant, width, height, { grey, disparityQ4: moved, certainty }),
      expected,
      width,
      `seed ${random.seed}`,
    );
  });
});

describe.each(variants)("confidence, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 7] as const),
    ...([
      [300, 1],
      [33, 2],
      [1, 40],
      [517, 9],
      [256, 5],
      [262, 5],
    ] as const),
  ];

  test.each(shapes)("%i x %i, few and many invalid pixels, grey of few and many values", (width, height) => {
    const random = new Random();
    for (const [oneInvalidIn, highest, maxDisparityQ4] of [
      [2, 3, 20],
      [9, 255, 60],
      [1000, 12, 32_736],
    ] as const) {
      const size = width * height;
      const grey = random.fill(new Uint8Array(size), 0, highest);
      const certainty = random.fill(new Uint8Array(size), 0, 255);
      const disparityQ4 = random.fill(new Int16Array(size), 0, maxDisparityQ4);
      for (let i = 0; i < size; ++i) if (random.whole(1, oneInvalidIn) === 1) disparityQ4[i] = INVALID;
      for (let i = 0; i < size; ++i) if (random.whole(1, 5) === 1) certainty[i] = 0;
      for (const zeroIsEstimated of [false, true]) {
        const call = { grey, disparityQ4, certainty, zeroIsEstimated };
        const expected = confidence("reference", width, height, call);
        expectSameImage(confidence(variant, width, height, call), expected, width, `seed ${random.seed}`);
      }
    }
  });
});
