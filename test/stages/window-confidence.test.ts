// SPDX-License-Identifier: Apache-2.0
// The confidence measures of Prehn 2007: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { CONFIDENCE_MEASURES } from "../../cuda/index.js";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.windowConfidence as unknown as (call: object) => string;
const MEASURES = CONFIDENCE_MEASURES.filter((name) => name !== "probability");

interface Call {
  left: Uint8Array;
  right: Uint8Array;
  disparityQ4: Int16Array;
  certainty: Uint8Array;
  zeroIsEstimated?: boolean;
}

function measured(variant: string, measure: string, width: number, height: number, call: Call): Uint8Array {
  const sure = new Uint8Array(width * height);
  const ran = stage({ variant, measure, width, height, ...call, sure });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return sure;
}

describe.each(["reference", ...variants])("window confidence, %s: by hand", (variant) => {
  const [width, height] = [60, 9];
  const centre = 4 * width + 30;
  const size = width * height;
  /** Columns of 100 and 120 in turn. */
  const stripes = Uint8Array.from({ length: size }, (_, i) => ((i % width) % 2 === 0 ? 100 : 120));
  const call = (): Call => ({
    left: stripes.slice(),
    right: stripes.slice(),
    disparityQ4: new Int16Array(size).fill(32),
    certainty: new Uint8Array(size).fill(102),
  });
  const at = (measure: string, one: Call) => measured(variant, measure, width, height, one)[centre];

  test("stripes of 100 and 120, matched where they are alike", () => {
    // Columns 27 to 33: four of 120, three of 100. Mean floor((7 (480 + 300) + 24) / 49) = 111; 7 (4 x 9 + 3 x 11) = 483;
    // floor(8 x 483 / 49) = 78.
    expect(at("featureDensity", call())).toBe(78);
    // Two columns to the left everything is the same: a score of 255.
    expect(at("matchingScore", call())).toBe(78);
    expect(at("peakRatio", call())).toBe(102);
    expect(at("product", call())).toBe(Math.floor((102 * 78) / 255));
  });

  test("one column off, every pixel differs by 20", () => {
    const off = { ...call(), disparityQ4: new Int16Array(size).fill(24) }; // rounded to 2 px
    expect(at("matchingScore", off)).toBe(78);
    off.disparityQ4.fill(23); // 1 px: 49 x 20 = 980, floor(8 x 980 / 49) = 160, a score of 95; floor(95 x 78 / 255) = 29
    expect(at("matchingScore", off)).toBe(29);
    expect(at("product", off)).toBe(Math.floor((102 * 29) / 255));
  });

  test("without texture the best match says nothing; what was matched is above 0, what was not is 0", () => {
    const flat = { ...call(), left: stripes.slice().fill(90), right: stripes.slice().fill(90) };
    for (const measure of ["featureDensity", "matchingScore", "product"]) expect(at(measure, flat)).toBe(1);
    flat.disparityQ4[centre] = INVALID;
    const estimated = call();
    estimated.certainty[centre] = 0;
    for (const measure of MEASURES) {
      expect(at(measure, flat), measure).toBe(0);
      expect(at(measure, { ...estimated, zeroIsEstimated: true }), measure).toBe(0);
      expect(at(measure, estimated), measure).toBeGreaterThan(0);
    }
  });

  test("at the borders pixels are replicated, and so is what lies left of the right image", () => {
    const ramp = Uint8Array.from({ length: size }, (_, i) => 4 * (i % width));
    const far = { ...call(), left: ramp, right: ramp, disparityQ4: new Int16Array(size).fill(16 * 50) };
    // At column 2 the window's columns are 0 0 1 2 3 4 5, all partners column 0: 4 x 15 = 60 a row; 7 x 60 x 8 / 49 = 68.57.
    // Mean floor((7 x 60 + 24) / 49) = 9: 9 9 5 1 3 7 11 = 45; floor(8 x 315 / 49) = 51. floor((255 - 68) x 51 / 255) = 37.
    expect(measured(variant, "matchingScore", width, height, far)[2]).toBe(37);
  });
});

describe.each(variants)("window confidence, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.map((width) => [width, 5] as const),
    ...([
      [300, 1],
      [33, 2],
      [1, 20],
      [131, 9],
    ] as const),
  ];
  test.each(shapes)("%i x %i, one disparity and many, few holes and many", (width, height) => {
    const random = new Random();
    for (const [oneInvalidIn, steps, highest] of [
      [2, 20, 255],
      [9, 1, 12],
      [1000, 3, 255],
    ] as const) {
      const size = width * height;
      const disparityQ4 = random.fill(new Int16Array(size), 0, 16 * steps);
      for (let i = 1; i < size; ++i) if (random.whole(1, 40) > 1) disparityQ4[i] = disparityQ4[i - 1]!;
      for (let i = 0; i < size; ++i) if (random.whole(1, oneInvalidIn) === 1) disparityQ4[i] = INVALID;
      const call = {
        left: random.fill(new Uint8Array(size), 0, highest),
        right: random.fill(new Uint8Array(size), 0, highest),
        disparityQ4,
        certainty: random.fill(new Uint8Array(size), 0, 255),
        zeroIsEstimated: random.whole(0, 1) === 1,
      };
      for (const measure of MEASURES) {
        const expected = measured("reference", measure, width, height, call);
        const got = measured(variant, measure, width, height, call);
        expectSameImage(got, expected, width, `seed ${random.seed}, ${measure}`);
      }
    }
  });

  test("a measure that does not exist is refused by name", () => {
    const one = new Uint8Array(1);
    const call = { left: one, right: one, disparityQ4: new Int16Array(1), certainty: one };
    expect(() => measured(variant, "entropy", 1, 1, call)).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("entropy") }),
    );
  });
});
