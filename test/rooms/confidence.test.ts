// SPDX-License-Identifier: Apache-2.0
// The confidence of a matched disparity: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/rooms.js";

const INVALID = -32768;
const room = native.rooms.confidence as unknown as (call: object) => string;

interface Call {
  grey: Uint8Array;
  disparityQ4: Int16Array;
  certainty: Uint8Array;
}

function confidence(variant: string, width: number, height: number, call: Call): Uint8Array {
  const sure = new Uint8Array(width * height);
  const ran = room({ variant, width, height, ...call, sure });
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

  test("25 agreeing pixels of certainty 200: support 5000, between knots 19 and 20", () => {
    const certainty = new Uint8Array(width * height).fill(200);
    const call = { grey: stripes(width, height), disparityQ4: flat(), certainty };
    // 5000 = 19 x 256 + 136: 247 + floor(2 x 136 / 256) = 248; the border is replicated, so all pixels are alike.
    expect([...confidence(variant, width, height, call)]).toEqual(new Array(width * height).fill(248));
  });

  test("who is more than a pixel away, or invalid, does not agree", () => {
    const certainty = new Uint8Array(width * height).fill(200);
    const disparityQ4 = flat();
    disparityQ4[centre - 1] = 160 + 16; // agrees
    disparityQ4[centre + 1] = 160 + 17; // does not
    disparityQ4[centre + width] = INVALID;
    const sure = confidence(variant, width, height, { grey: stripes(width, height), disparityQ4, certainty });
    // 23 x 200 = 4600 = 17 x 256 + 248: 237 + floor(5 x 248 / 256) = 241
    expect(sure[centre]).toBe(241);
    // Its own 200 and that of the pixel one column further: 176 and 177 agree, 177 and 160 do not; 400 = 256 + 144: 150 + floor(10 x 144 / 256) = 155
    expect(sure[centre + 1]).toBe(155);
    expect(sure[centre + width]).toBe(0);
  });

  test("without texture hardly anything is believed, but what was matched is above 0", () => {
    const certainty = new Uint8Array(width * height).fill(255);
    const grey = new Uint8Array(width * height).fill(90);
    expect([...confidence(variant, width, height, { grey, disparityQ4: flat(), certainty })]).toEqual(
      new Array(width * height).fill(1),
    );
    // One step of 5 between columns 4 and 5: rows 2 to 4 have it within 7 columns, 3 x 5 = 15 of texture, 240 at most.
    const stepped = grey.map((value, i) => (i % width >= 5 ? value + 5 : value));
    const sure = confidence(variant, width, height, { grey: stepped, disparityQ4: flat(), certainty });
    expect(sure[centre]).toBe(240);
    expect(sure[3 * width]).toBe(1); // columns -3 to 3: the step of column 5 is too far
  });

  test("who has no support is matched, and no more", () => {
    const certainty = new Uint8Array(width * height);
    const call = { grey: stripes(width, height), disparityQ4: flat(), certainty };
    expect(confidence(variant, width, height, call)[centre]).toBe(1);
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
      const call = { grey, disparityQ4, certainty };
      const expected = confidence("reference", width, height, call);
      expectSameImage(confidence(variant, width, height, call), expected, width, `seed ${random.seed}`);
    }
  });
});
