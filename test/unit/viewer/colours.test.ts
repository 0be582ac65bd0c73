// SPDX-License-Identifier: Apache-2.0
// The colours of the live page's pictures, and the range that they are spread over automatically.
import { describe, expect, test } from "vitest";
import { COLOUR_MAPS, colourTable } from "../../../clients/page/picture/colour-maps.js";
import { autoRange, buildHistogram, eased, valueAt } from "../../../clients/page/picture/histogram.js";

const rgb = (word: number) => [word & 255, (word >> 8) & 255, (word >> 16) & 255];

/** CIE L* of an sRGB colour, 0 to 100. */
function lightness(word: number): number {
  const [red, green, blue] = rgb(word).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  return luminance > 216 / 24389 ? 116 * Math.cbrt(luminance) - 16 : (24389 / 27) * luminance;
}

describe("colour maps", () => {
  test.each([
    ["turbo", [48, 18, 59], [122, 4, 3]],
    ["viridis", [68, 1, 84], [253, 231, 37]],
    ["cividis", [0, 34, 78], [254, 232, 56]],
  ] as const)("%s begins and ends as published, opaque", (name, first, last) => {
    const colours = colourTable(name);
    expect([rgb(colours[0]!), rgb(colours[255]!)]).toEqual([first, last]);
    expect(colours.every((word) => word >>> 24 === 255)).toBe(true);
  });

  test.each(["viridis", "cividis"] as const)(
    "%s: equal steps are equally much lighter, within 3 of 100",
    (name) => {
      const levels = [...colourTable(name)].map(lightness);
      const [low, high] = [levels[0]!, levels[255]!];
      for (const [i, level] of levels.entries())
        expect(Math.abs(level - (low + ((high - low) * i) / 255)), `colour ${i}`).toBeLessThan(3);
    },
  );

  test("viridis is what matplotlib publishes, to one step, also between the points of the table", () => {
    const published = [
      [0.26851, 0.009605, 0.335427],
      [0.269944, 0.014625, 0.341379],
      [0.271305, 0.019942, 0.347269],
      [0.272594, 0.025563, 0.353093],
      [0.273809, 0.031497, 0.358853],
      [0.274952, 0.037752, 0.364543],
      [0.276022, 0.044167, 0.370164],
      [0.277018, 0.050344, 0.375715],
    ];
    const colours = colourTable("viridis");
    expect(colours).toHaveLength(256);
    for (const [i, expected] of published.entries())
      for (const [channel, share] of expected.entries())
        expect(Math.abs(rgb(colours[i + 1]!)[channel]! - 255 * share), `${i + 1}`).toBeLessThan(1);
  });

  test("there are three", () => expect(COLOUR_MAPS).toEqual(["turbo", "viridis", "cividis"]));
});

describe("the range that follows the picture", () => {
  const scale = { min: 0, max: 96, logarithmic: false };
  const meaning = { unitScale: 1, valueOffset: 0, invalidRule: "zero" } as const;

  test("leaves out 2 % at either end, and no hole counts", () => {
    const counts = Uint16Array.from([
      ...Array(500).fill(0),
      ...Array(19).fill(3),
      ...Array(962).fill(40),
      ...Array(19).fill(90),
    ]);
    const histogram = buildHistogram(counts, meaning, scale);
    expect([histogram.values, histogram.invalid]).toEqual([1000, 500]);
    expect(autoRange(histogram, scale)).toEqual({ min: 39, max: 42 });
  });

  test("includes 2 % of the picture", () => {
    const counts = Uint16Array.from([...Array(20).fill(3), ...Array(960).fill(40), ...Array(20).fill(90)]);
    expect(autoRange(buildHistogram(counts, meaning, scale), scale)).toEqual({ min: 2, max: 92 });
  });

  test("is none without a value, and moves in steps", () => {
    expect(autoRange(buildHistogram(new Uint16Array(10), meaning, scale), scale)).toBeUndefined();
    expect(eased(undefined, { min: 1, max: 2 })).toEqual({ min: 1, max: 2 });
    expect(eased({ min: 1, max: 2 }, { min: 2, max: 4 })).toEqual({ min: 1.3, max: 2.6 });
  });

  test("metres are spread by their logarithm", () => {
    expect(valueAt({ min: 0.1, max: 10, logarithmic: true }, 0.5)).toBeCloseTo(1, 12);
  });
});
