// SPDX-License-Identifier: Apache-2.0
// Tests the refinement of Prehn 2007 with any matcher: confidence measures and the repair, bit for bit the stages'
// results (cuda-engine.test.ts has CUDA); and regions of interest, which for window sums are the crop of the whole
// result.
import { describe, expect, test } from "vitest";
import {
  ALGORITHMS,
  type Algorithm,
  CONFIDENCE_MEASURES,
  type ConfidenceMeasure,
  type EngineOptions,
  type Region,
} from "../../cuda/index.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { changedMatch } from "../doubles/match-change.js";
import { expectSameImage, native } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const pair = layeredPair(171, 83, 9);
const { width, height } = pair;
const stage = (name: string) => native.stages[name] as unknown as (call: object) => string;
const NOTHING = { speckleSize: 0, fill: "off", boundary: false, median: false } as const;

function refinementOptions(
  algorithm: Algorithm,
  more: Partial<EngineOptions["refine"]>,
  half = false,
): EngineOptions {
  const base = engineOptions(pair);
  const match = changedMatch(base.match, {
    algorithm,
    halfResolution: half,
    minDisparity: 1,
    numDisparities: 37,
  });
  return { ...base, match, refine: { ...base.refine, ...NOTHING, ...more } };
}

describe.each(ALGORITHMS)("%s", (algorithm) => {
  test("each measure of confidence and the repair after it are the stages'", async () => {
    const zeroIsEstimated = algorithm === "cbca";
    const frame = (confidence: ConfidenceMeasure, repair: boolean) =>
      computeFrame(pair, refinementOptions(algorithm, { confidence, repair }));
    // The peak ratio is the matcher's certainty, but 1 where that is 0; either makes a product of 1.
    const { disparityQ4, confidence: certainty } = await frame("peakRatio", false);
    for (const measure of CONFIDENCE_MEASURES) {
      const sure = new Uint8Array(width * height);
      const call = { variant: "reference", width, height, disparityQ4, certainty, zeroIsEstimated };
      if (measure === "probability") sure.set((await frame(measure, false)).confidence);
      else stage("windowConfidence")({ ...call, measure, left: pair.left, right: pair.right, sure });
      const repaired = { disparityQ4: disparityQ4.slice(), sure: sure.slice() };
      stage("repair")({ variant: "reference", width, height, ...repaired });
      const plain = await frame(measure, false);
      expectSameImage(plain.disparityQ4, disparityQ4, width, `${measure}, disparity`);
      expectSameImage(plain.confidence, sure, width, `${measure}, confidence`);
      const got = await frame(measure, true);
      expectSameImage(got.disparityQ4, repaired.disparityQ4, width, `repaired by ${measure}, disparity`);
      expectSameImage(got.confidence, repaired.sure, width, `repaired by ${measure}, confidence`);
    }
  });
});

test("a confidence that does not exist is refused with those that do", async () => {
  const options = refinementOptions("sad", { confidence: "entropy" as never });
  await expect(computeFrame(pair, options)).rejects.toMatchObject({
    code: "ENGINE_PARAMETER",
    message: expect.stringMatching(/peakRatio, featureDensity, matchingScore or product .* 'entropy'/),
  });
});

const REGIONS: Region[] = [
  { x: 80, y: 30, width: 40, height: 20 },
  { x: 61, y: 13, width: 77, height: 31 },
  { x: 0, y: 5, width: 40, height: 40 },
  { x: 120, y: 60, width: 51, height: 23 },
  { x: 100, y: 41, width: 1, height: 1 },
];
const LOCAL = [
  ["sad", false],
  ["sad", true],
  ["pyramid", false],
  ["pyramid", true],
] as const;

describe.each(LOCAL)(
  "%s, half resolution %s: a region is the crop of the whole result",
  (algorithm, half) => {
    test.each([
      { leftRight: true },
      { leftRight: false },
      { leftRight: true, boundary: true, median: true },
      { leftRight: true, boundary: true, median: true, repair: true, confidence: "product" as const },
    ])("with %j", async (refine) => {
      const options = refinementOptions(algorithm, refine, half);
      // Wider and flatter than the defaults.
      const match = { ...options.match, parameters: { windowWidth: 11, windowHeight: 3 } };
      const whole = await computeFrame(pair, { ...options, match });
      for (const region of REGIONS) {
        const part = await computeFrame(pair, { ...options, match, region });
        for (let y = region.y; y < region.y + region.height; ++y) {
          const [from, to] = [y * width + region.x, y * width + region.x + region.width];
          const where = `row ${y} of ${JSON.stringify(region)}`;
          expect(part.disparityQ4.subarray(from, to), where).toEqual(whole.disparityQ4.subarray(from, to));
          expect(part.confidence.subarray(from, to), where).toEqual(whole.confidence.subarray(from, to));
        }
      }
    });
  },
);
