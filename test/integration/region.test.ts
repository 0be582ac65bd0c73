// SPDX-License-Identifier: Apache-2.0
// A region of interest, for both matchers at both resolutions: exactly the result of the cropped images (native.ts says how
// they are cropped), nothing outside, on every instruction set; and the regions that are refused.
import { describe, expect, test } from "vitest";
import type { EngineOptions, Region } from "../../cuda/index.js";
import { composed } from "../doubles/composed-engine.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { changedMatch, type MatchChange } from "../doubles/match-change.js";
import { expectSameImage, variants } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const INVALID = -32768;
const pair = layeredPair(171, 63, 9);

const REGIONS: [string, Region][] = [
  ["in the middle", { x: 80, y: 20, width: 50, height: 25 }],
  ["odd everything", { x: 61, y: 13, width: 77, height: 31 }],
  ["at the left border, where the search leaves the image", { x: 0, y: 5, width: 40, height: 40 }],
  ["closer to the left border than the largest disparity", { x: 20, y: 0, width: 60, height: 63 }],
  ["the lower right corner", { x: 120, y: 40, width: 51, height: 23 }],
  ["one pixel", { x: 100, y: 30, width: 1, height: 1 }],
  ["one row", { x: 0, y: 30, width: 171, height: 1 }],
  ["the whole image", { x: 0, y: 0, width: 171, height: 63 }],
];

const regionOptions = (region: Region, match: MatchChange) => {
  const base = engineOptions(pair);
  const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };
  return { ...base, geometry, region, match: changedMatch(base.match, match) };
};

const OFF: Partial<EngineOptions["refine"]>[] = [
  { leftRight: false },
  { speckleSize: 0 },
  { fill: "off" },
  { boundary: false },
  { median: false },
];

describe.each([
  ["sgm", false],
  ["sgm", true],
  ["cbca", false],
  ["cbca", true],
] as const)("%s, half resolution %s: a region's result is that of the cropped images", (algorithm, half) => {
  test.each(REGIONS)("%s", async (_, region) => {
    const search = { minDisparity: 2, numDisparities: 37 };
    const options = regionOptions(region, { algorithm, halfResolution: half, ...search });
    const expected = composed(pair, options);
    for (const instructionSet of variants) {
      for (const threads of [1, 3]) {
        const got = await computeFrame(pair, { ...options, instructionSet, threads });
        const what = `${instructionSet}, ${threads} threads`;
        expectSameImage(got.disparityQ4, expected.disparityQ4, pair.width, `${what}, disparity`);
        expectSameImage(got.confidence, expected.confidence, pair.width, `${what}, confidence`);
        expect(got.info.instructionSet).toBe(instructionSet);
      }
    }
  });

  test.each([...OFF, Object.assign({}, ...OFF) as (typeof OFF)[number]])("with %j", async (refine) => {
    const base = regionOptions({ x: 55, y: 9, width: 88, height: 44 }, { algorithm, halfResolution: half });
    const options = { ...base, refine: { ...base.refine, ...refine } };
    const expected = composed(pair, options);
    const got = await computeFrame(pair, options);
    expectSameImage(got.disparityQ4, expected.disparityQ4, pair.width, "disparity");
    expectSameImage(got.confidence, expected.confidence, pair.width, "confidence");
  });
});

describe("a region", () => {
  const region = { x: 80, y: 20, width: 50, height: 25 };
  const isInside = (i: number) => {
    const [x, y] = [i % pair.width, Math.floor(i / pair.width)];
    return x >= region.x && x < region.x + region.width && y >= region.y && y < region.y + region.height;
  };

  test("outside it nothing is known, the left image stays whole, and only its pixels are counted", async () => {
    const frame = await computeFrame(pair, regionOptions(region, {}));
    expectSameImage(frame.left, pair.left, pair.width, "left");
    let valid = 0;
    for (const [i, value] of frame.disparityQ4.entries()) {
      if (isInside(i)) {
        valid += value === INVALID ? 0 : 1;
        continue;
      }
      const nothing = [INVALID, 0, 0];
      expect([value, frame.confidence[i], frame.depthMillimetres[i]], `pixel ${i}`).toEqual(nothing);
    }
    expect(frame.result.validPixels).toBe(valid);
    expect(valid).toBe(region.width * region.height);
    expect(frame.stages).toContain("region");
  });

  test("its left edge is matched like its middle, because the right image is seen beyond it", async () => {
    const { disparityQ4 } = await computeFrame(pair, regionOptions(region, {}));
    let right = 0;
    for (let y = region.y; y < region.y + region.height; ++y) {
      for (let x = region.x; x < region.x + 8; ++x) {
        const i = y * pair.width + x;
        if (Math.abs(disparityQ4[i]! / 16 - pair.disparity[i]!) <= 1) right += 1;
      }
    }
    expect(right / (8 * region.height)).toBeGreaterThan(0.9);
  });

  test.each<[string, Region, string]>([
    ["beyond the right edge", { x: 130, y: 0, width: 42, height: 10 }, "got 42x10 from (130, 0) on."],
    ["beyond the lower edge", { x: 0, y: 60, width: 10, height: 4 }, "got 10x4 from (0, 60) on."],
    ["without columns", { x: 5, y: 0, width: 0, height: 10 }, "got 0x10 from (5, 0) on."],
    ["left of the image", { x: -1, y: 0, width: 10, height: 10 }, "for region.x, got -1."],
    ["above the image", { x: 0, y: -5, width: 10, height: 10 }, "for region.y, got -5."],
    ["of negative height", { x: 0, y: 0, width: 10, height: -3 }, "for region.height, got -3."],
    ["far outside", { x: 1 << 29, y: 0, width: 1 << 29, height: 10 }, "for region.x, got 536870912."],
  ])("%s is refused with what was expected and what came", async (_, bad, found) => {
    await expect(computeFrame(pair, regionOptions(bad, {}))).rejects.toMatchObject({
      code: "ENGINE_PARAMETER",
      message: expect.stringMatching(
        /^Expected (a region inside the rectified images of 171x63,|a whole number)/,
      ),
    });
    await expect(computeFrame(pair, regionOptions(bad, {}))).rejects.toThrow(found);
  });
});
