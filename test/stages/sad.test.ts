// SPDX-License-Identifier: Apache-2.0
// Three witnesses for window SAD: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectIs, expectSameImage, native, Random, variants } from "../doubles/stages.js";
import { INVALID, MAPS, noisyPair, valuesOnly, windowStage } from "../doubles/window-stages.js";

const forms = ["reference", ...variants];
const DEFAULTS = { windowWidth: 3, windowHeight: 3, hue: 20, saturation: 30, value: 50, subpixel: true };
const sad = windowStage(native.stages.sad as unknown as (call: object) => string, DEFAULTS);

describe.each(forms)("sad, %s: by hand", (variant) => {
  test("a row of five values", () => {
    // README.md, "By hand".
    const row = valuesOnly(5, 1, [10, 10, 25, 10, 10], [10, 25, 10, 10, 10]);
    const got = sad(variant, { ...row, numDisparities: 3, subpixel: false });
    expect([...got.disparity]).toEqual([1, 1, 1, 1, 0]);
    expect([...got.rightDisparity]).toEqual([1, 1, 1, 1, 0]);
  });

  test("one pixel: its own cost decides, the lowest disparity of equals; a range wider than the image", () => {
    const pixel = valuesOnly(1, 1, [9], [200]);
    const got = sad(variant, { ...pixel, minDisparity: 4, numDisparities: 8 });
    expect([...got.disparityQ4, ...got.rightDisparity, ...got.confidence]).toEqual([64, INVALID, 0]);
    const flat = valuesOnly(5, 2, Array(10).fill(7), Array(10).fill(7));
    const wide = sad(variant, {
      ...flat,
      minDisparity: 2,
      numDisparities: 64,
      windowWidth: 15,
      windowHeight: 15,
    });
    expect([...wide.disparity]).toEqual(Array(10).fill(2));
    expect([...wide.rightDisparity]).toEqual([2, 2, 2, INVALID, INVALID, 2, 2, 2, INVALID, INVALID]);
  });

  test("confidence by second bests of 0, 1 and 2", () => {
    // One row of hues amid zeros, so that every sum is of three hues: those around x - d, within the row.
    const pair = valuesOnly(8, 3, Array(24).fill(0), Array(24).fill(0));
    for (const [x, hue] of [0, 0, 2, 0, 0, 1, 0, 0].entries()) pair.right[8 * (8 + x)] = hue;
    const got = sad(variant, { ...pair, numDisparities: 3 });
    // Sums of x = 0 to 7: 0 0 0, 2 0 0, 2 2 0, 2 2 2, 1 2 2, 1 1 2, 1 1 1, 0 1 2.
    for (const row of [0, 8, 16]) {
      expect([...got.disparity.subarray(row, row + 8)]).toEqual([0, 1, 2, 0, 0, 0, 0, 0]);
      expect([...got.confidence.subarray(row, row + 8)]).toEqual([0, 0, 255, 0, 127, 127, 0, 255]);
    }
  });

  test("sums at their bound stay sums: 15 x 15 windows of the largest difference", () => {
    const pair = valuesOnly(20, 20, Array(400).fill(255), Array(400).fill(0));
    const got = sad(variant, { ...pair, windowWidth: 15, windowHeight: 15, numDisparities: 16 });
    expect([...got.disparity]).toEqual(Array(400).fill(0));
    expect([...got.confidence]).toEqual(Array(400).fill(0));
  });
});

describe.each(forms)("sad, %s: properties", (variant) => {
  test.each([0, 3, 11])("shifting the right image by %i moves the disparity by as much", (shift) => {
    const random = new Random();
    const pair = noisyPair(random, 60, 17, shift);
    for (const [windowWidth, windowHeight] of [
      [3, 7],
      [9, 5],
    ]) {
      const { disparity, rightDisparity } = sad(variant, { ...pair, windowWidth, windowHeight });
      for (let y = 0; y < 17; ++y) {
        for (let x = 20; x < 40; ++x) {
          expectIs(disparity[y * 60 + x], shift, `seed ${random.seed}, left ${x}, ${y}`);
          expectIs(rightDisparity[y * 60 + x - 12], shift, `seed ${random.seed}, right ${x - 12}, ${y}`);
        }
      }
    }
  });
});

describe.each(variants)("sad, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.filter((width) => width < 70).map((width) => [width, 3] as const),
    [210, 2],
    [1, 20],
  ] as const;

  test.each(shapes)("%i x %i: all parameters, 1 to 5 threads", (width, height) => {
    const random = new Random();
    for (const [hue, saturation, value] of [
      [30, 30, 30],
      [20, 30, 50],
      [0, 0, 100],
    ]) {
      const pair = noisyPair(random, width, height, random.whole(0, Math.min(20, width - 1)));
      // A channel without weight is 0, as hsv gives it.
      if (hue === 0) {
        for (const image of [pair.left, pair.right])
          for (let p = 0; p < image.length; p += 8) image.fill(0, p, p + 4);
      }
      const call = {
        ...pair,
        minDisparity: random.pick([0, 0, 5, width + 3]),
        numDisparities: random.pick([random.whole(1, 40), random.whole(1, 40), 128]),
        windowWidth: 3 + 2 * random.whole(0, 6),
        windowHeight: 3 + 2 * random.whole(0, 3),
        hue,
        saturation,
        value,
        subpixel: random.pick([true, false]),
      };
      const { left: _, right: __, ...inputs } = call;
      const expected = sad("reference", call);
      const got = sad(variant, { ...call, threads: random.whole(1, 5) });
      for (const key of MAPS) {
        const what = `seed ${random.seed}, ${JSON.stringify(inputs)}, ${key}`;
        expectSameImage(got[key], expected[key], width, what);
      }
    }
  });
});

describe("sad: bad calls", () => {
  const image = valuesOnly(8, 8, Array(64).fill(1), Array(64).fill(1));
  test.each([
    ["minDisparity", 0, 2046],
    ["numDisparities", 1, 512],
    ["windowWidth", 3, 15],
    ["windowHeight", 3, 15],
  ])("%s is %i to %i", (name, low, high) => {
    for (const value of [low - 1, high + 1])
      expect(() => sad("scalar", { ...image, [name]: value })).toThrow(
        `Expected ${name} of ${low} to ${high}, got ${value}.`,
      );
  });

  test.each([
    ["windowWidth", { windowWidth: 17 }],
    ["odd", { windowHeight: 4 }],
    ["the sum of hue, saturation and value", { hue: 50, saturation: 50, value: 1 }],
    ["numDisparities", { numDisparities: 0 }],
  ])("%s out of its range is refused by name", (name, inputs) => {
    expect(() => sad("scalar", { ...image, ...inputs })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(name) }),
    );
  });
});
