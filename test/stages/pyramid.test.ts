// SPDX-License-Identifier: Apache-2.0
// Three witnesses for pyramid SAD: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";
import { MAPS, noisyPair, valuesOnly, windowStage } from "../doubles/window-stages.js";

const forms = ["reference", ...variants];
const DEFAULTS = { windowWidth: 5, windowHeight: 5, levels: 2, peakRatio: 5, subpixel: true };
const pyramid = windowStage(native.stages.pyramid as unknown as (call: object) => string, DEFAULTS);

describe.each(forms)("pyramid, %s: by hand", (variant) => {
  test("a flat image: the highest disparity of equals, from level to level, until nothing stands out", () => {
    // README.md, "By hand": level 1 has 0 to 4, all alike: 4. Level 0: guess 8, candidates 7 and 8 of the range, the higher wins.
    const flat = valuesOnly(6, 2, Array(12).fill(7), Array(12).fill(7));
    const got = pyramid(variant, { ...flat, numDisparities: 9, levels: 1 });
    expect([...got.disparity]).toEqual(Array(12).fill(8));
    expect([...got.rightDisparity]).toEqual(Array(12).fill(8));
    expect([...got.confidence]).toEqual(Array(12).fill(0));
  });

  test("one pixel; a range that is wider than the image", () => {
    const got = pyramid(variant, {
      ...valuesOnly(1, 1, [9], [200]),
      minDisparity: 4,
      numDisparities: 8,
      levels: 4,
    });
    // 0 at the coarsest; then guesses of 0, 0, 4 and 8, from which ties do not stand out. 0 is not in 1 to 3: 2.
    expect([...got.disparityQ4]).toEqual([8 * 16]);
    expect([...got.rightDisparity]).toEqual([8]);
  });
});

describe.each(forms)("pyramid, %s: properties", (variant) => {
  test.each([0, 4, 12])("shifting the right image by %i moves the disparity by as much", (shift) => {
    const random = new Random(3);
    const pair = noisyPair(random, 96, 48, shift);
    const { disparity, rightDisparity } = pyramid(variant, {
      ...pair,
      windowWidth: 7,
      windowHeight: 7,
      peakRatio: 0,
    });
    let [left, right] = [0, 0];
    for (let y = 12; y < 36; ++y) {
      for (let x = 32; x < 64; ++x) {
        left += Number(disparity[y * 96 + x] === shift);
        right += Number(rightDisparity[y * 96 + x] === shift);
      }
    }
    expect([left, right]).toEqual([24 * 32, 24 * 32]);
  });

  test("a peak ratio that nothing reaches keeps every guess in the range: even disparities", () => {
    const random = new Random();
    // No shift of 40: the noise of both images is independent.
    const pair = noisyPair(random, 40, 20, 40);
    const strict = pyramid(variant, { ...pair, levels: 1, peakRatio: 50, numDisparities: 16 });
    const free = pyramid(variant, { ...pair, levels: 1, peakRatio: 0, numDisparities: 16 });
    const odd = (map: Int16Array) => map.reduce((count, d) => count + (d % 2), 0);
    expect(odd(strict.disparity), `seed ${random.seed}`).toBeLessThan(odd(free.disparity) / 2);
  });
});

describe.each(variants)("pyramid, %s: twin of the reference", (variant) => {
  const shapes = [
    ...AWKWARD_WIDTHS.filter((width) => width < 70).map((width) => [width, 7] as const),
    [1, 40],
    [60, 17],
  ] as const;

  test.each(shapes)("%i x %i: all parameters, 1 to 5 threads", (width, height) => {
    const random = new Random();
    for (let turn = 0; turn < 3; ++turn) {
      const call = {
        ...noisyPair(random, width, height, random.whole(0, Math.min(20, width - 1))),
        minDisparity: random.pick([0, 0, 5, width + 3]),
        numDisparities: random.whole(1, 60),
        windowWidth: 3 + 2 * random.whole(0, 6),
        windowHeight: 3 + 2 * random.whole(0, 3),
        levels: random.whole(1, 4),
        peakRatio: random.pick([0, 5, 20]),
        subpixel: random.pick([true, false]),
      };
      const { left: _, right: __, ...inputs } = call;
      const expected = pyramid("reference", call);
      const got = pyramid(variant, { ...call, threads: random.whole(1, 5) });
      for (const key of MAPS) {
        const what = `seed ${random.seed}, ${JSON.stringify(inputs)}, ${key}`;
        expectSameImage(got[key], expected[key], width, what);
      }
    }
  });
});

describe("pyramid: bad calls", () => {
  const image = valuesOnly(8, 8, Array(64).fill(1), Array(64).fill(1));
  test.each([
    ["levels", 1, 4],
    ["peakRatio", 0, 50],
  ])("%s is %i to %i", (name, low, high) => {
    for (const value of [low - 1, high + 1])
      expect(() => pyramid("scalar", { ...image, [name]: value })).toThrow(
        `Expected ${name} of ${low} to ${high}, got ${value}.`,
      );
  });

  test.each([
    ["levels", { levels: 5 }],
    ["peakRatio", { peakRatio: 51 }],
    ["odd", { windowWidth: 6 }],
  ])("%s out of its range is refused by name", (name, inputs) => {
    expect(() => pyramid("scalar", { ...image, ...inputs })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(name) }),
    );
  });
});
