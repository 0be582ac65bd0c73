// SPDX-License-Identifier: Apache-2.0
// The search range that a scene needs: planes at known disparities, whole and half maps, and the borders of the proposal.
import { describe, expect, test } from "vitest";
import type { EngineOptions } from "../../../../cuda/index.js";
import {
  atRangeEndPercent,
  fewMatchedWarning,
  neededDisparities,
  rangeWarning,
} from "../../../../edge/match/search-range.js";
import { seededRandom } from "../../../doubles/rvl-pictures.js";

const [WIDTH, HEIGHT] = [192, 96];

/** A plane of smooth noise at one disparity, in an image of any size. */
function plane(disparity: number, width = WIDTH, height = HEIGHT, down = 0) {
  const random = seededRandom(7);
  const [columns, rows] = [Math.ceil((width + disparity) / 4) + 2, Math.ceil((height + down) / 4) + 2];
  const noise = Array.from({ length: columns * rows }, () => 20 + 215 * random());
  const at = (x: number, y: number) => {
    const [i, j, u, v] = [Math.floor(x / 4), Math.floor(y / 4), (x % 4) / 4, (y % 4) / 4];
    const value = (di: number, dj: number) => noise[(j + dj) * columns + i + di]!;
    return (
      (value(0, 0) * (1 - u) + value(1, 0) * u) * (1 - v) + (value(0, 1) * (1 - u) + value(1, 1) * u) * v
    );
  };
  const image = (dx: number, dy: number) =>
    Uint8Array.from({ length: width * height }, (_, i) => at((i % width) + dx, Math.floor(i / width) + dy));
  return { left: image(0, down), right: image(disparity, 0) };
}

function optionsFor(
  numDisparities: number,
  more: Partial<EngineOptions> = {},
  minDisparity = 0,
): EngineOptions {
  const { width = WIDTH, height = HEIGHT } = more;
  return {
    inputWidth: width,
    inputHeight: height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: width,
    rightStrideBytes: width,
    width,
    height,
    match: { algorithm: "sgm", minDisparity, numDisparities, halfResolution: false, parameters: {} },
    refine: {},
    verticalOffset: 0,
    backend: "cpu",
    threads: 1,
    slots: 2,
    ...more,
  } as EngineOptions;
}

describe("a plane", () => {
  // 8 beyond the plane, from minDisparity on, in steps of 16.
  test.each([
    [38, 16, 0, 48],
    [42, 16, 0, 64],
    [44, 16, 8, 48],
    [58, 32, 0, 80],
    [58, 32, 20, 48],
  ])("at %i px, searched over %i from %i on, needs %i", async (disparity, searched, from, needed) => {
    expect(await neededDisparities(optionsFor(searched, {}, from), plane(disparity))).toBe(needed);
  });

  test("that the range reaches needs no other one", async () => {
    expect(await neededDisparities(optionsFor(48), plane(40))).toBeUndefined();
    expect(await neededDisparities(optionsFor(32, {}, 16), plane(40))).toBeUndefined();
  });

  test("in an image that is smaller than 48 pixels, or no wider than the range, is not looked for", async () => {
    const small = (width: number, height: number, searched = 16) =>
      neededDisparities(optionsFor(searched, { width, height }), plane(22, width, height));
    expect(await small(96, 48)).toBe(32);
    expect(await small(96, 47)).toBeUndefined();
    expect(await small(96, 48, 96)).toBeUndefined();
  });

  test("without texture is not found", async () => {
    const grey = new Uint8Array(WIDTH * HEIGHT).fill(90);
    expect(await neededDisparities(optionsFor(16), { left: grey, right: grey })).toBeUndefined();
  });
});

describe("how the images are read", () => {
  /** Reads the image at `x - dx`, `y - dy`, in 1/32 px. */
  const map = (dx: number, dy: number, width = WIDTH, height = HEIGHT) =>
    Int32Array.from({ length: 2 * width * height }, (_, i) => {
      const pixel = i >> 1;
      return i % 2 === 0 ? 32 * ((pixel % width) - dx) : 32 * (Math.floor(pixel / width) - dy);
    });

  test("maps are those of the rig: a left map that moves the image moves the plane", async () => {
    const maps = { leftMap: map(17, 0), rightMap: map(0, 0) };
    expect(await neededDisparities(optionsFor(16, maps), plane(17))).toBe(48);
    const swapped = { leftMap: map(0, 0), rightMap: map(-17, 0) };
    expect(await neededDisparities(optionsFor(16, swapped), plane(17))).toBe(48);
  });

  test("rows of maps count: both images are moved down alike", async () => {
    const maps = { leftMap: map(0, 12), rightMap: map(0, 12) };
    expect(await neededDisparities(optionsFor(16, maps), plane(34))).toBe(48);
    // A left map that is 12 rows lower takes back what the left camera shows too high.
    const level = { leftMap: map(0, 12), rightMap: map(0, 0) };
    expect(await neededDisparities(optionsFor(16, level), plane(34, WIDTH, HEIGHT, 12))).toBe(48);
  });

  test("a vertical offset is in rows of the captured images", async () => {
    const lower = plane(34, WIDTH, HEIGHT, 8);
    expect(await neededDisparities(optionsFor(16, { verticalOffset: 8 }), lower)).toBe(48);
  });
});

test("the share of the matched pixels at the end of the range, with and without a step", () => {
  const at = (...pixels: number[]) => Int16Array.from(pixels, (disparity) => 16 * disparity);
  const sure = (length: number) => new Uint8Array(length).fill(1);
  const search = { minDisparity: 10, numDisparities: 20 };
  // 28 and 29 are the last two of 10 to 29; 27.9375 is not yet one.
  const disparityQ4 = Int16Array.of(16 * 28, 16 * 29, 16 * 28 - 1, 160);
  expect(atRangeEndPercent({ disparityQ4, confidence: sure(4) }, search)).toBe(50);
  const sparse = { disparityQ4: at(29, 10, 10, 10, 29, 29), confidence: sure(6) };
  expect(atRangeEndPercent(sparse, search, 2)).toBe((100 * 2) / 3);
  expect(atRangeEndPercent(sparse, search)).toBe(50);
  const unmatched = { disparityQ4: Int16Array.of(-32_768, 464, 464), confidence: Uint8Array.of(9, 0, 9) };
  expect(atRangeEndPercent(unmatched, search)).toBe(100);
});

test("the sentences for the user", () => {
  expect(rangeWarning(12.345, { minDisparity: 0, numDisparities: 64 }, 96)).toBe(
    "the scene is nearer than the search range: 12.3 % of the matched pixels are at its end. " +
      "Increase match.numDisparities from 64 to 96.",
  );
  expect(fewMatchedWarning(12.6)).toBe(
    "only 13 % of the pixels are matched, the others are filled or empty. " +
      "Check texture, light, focus and rectification. To drop filled pixels, set refine.minConfidence or use --preset robot.",
  );
});
