// SPDX-License-Identifier: Apache-2.0
// Half resolution of both matchers: the engine against the composition of the stages' references, on every instruction set,
// at odd sizes and searches; what it refuses; and that the whole range stays inside what was asked for.
import { describe, expect, test } from "vitest";
import type { EngineOptions } from "../../cuda/index.js";
import { composed } from "../doubles/composed-engine.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { changedMatch, type MatchChange } from "../doubles/match-change.js";
import { expectSameImage, variants } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const INVALID = -32768;

interface Case {
  name: string;
  width: number;
  height: number;
  match: MatchChange;
  refine?: Partial<EngineOptions["refine"]>;
}

/** Parameters of every matcher. */
const sharedBy = ({ minDisparity, numDisparities }: MatchChange): MatchChange => ({
  ...(minDisparity !== undefined && { minDisparity }),
  ...(numDisparities !== undefined && { numDisparities }),
});

const CASES: Case[] = [
  { name: "even", width: 130, height: 46, match: {} },
  { name: "odd sides", width: 131, height: 47, match: { paths: 8 } },
  {
    name: "odd search",
    width: 129,
    height: 38,
    match: { minDisparity: 3, numDisparities: 41, cost: "census", adaptiveP2: 0 },
  },
  {
    name: "odd first, even last",
    width: 90,
    height: 31,
    match: { minDisparity: 5, numDisparities: 16, paths: 2 },
  },
  {
    name: "nothing but the matcher",
    width: 101,
    height: 33,
    match: { uniqueness: 20 },
    refine: { leftRight: false, speckleSize: 0, fill: "off", boundary: false, median: false },
  },
  {
    name: "median alone, holes stay",
    width: 64,
    height: 25,
    match: {},
    refine: { speckleSize: 33, speckleRange: 0.4375, fill: "off", boundary: false },
  },
  {
    name: "boundary without median, bilateral fill",
    width: 77,
    height: 40,
    match: {},
    refine: { fill: "bilateral", fillThreshold: 1.9375, median: false },
  },
  { name: "nothing is bridged", width: 97, height: 35, match: {}, refine: { upscaleThreshold: 0 } },
  { name: "all is bridged", width: 97, height: 35, match: {}, refine: { upscaleThreshold: 1023 } },
  { name: "narrower than the search", width: 23, height: 18, match: { numDisparities: 64 } },
  { name: "one pixel", width: 1, height: 1, match: { numDisparities: 16 } },
];

const caseOptions = (
  pair: ReturnType<typeof layeredPair>,
  changes: Case,
  more: Partial<EngineOptions> = {},
) => {
  const base = engineOptions(pair);
  return {
    ...base,
    match: changedMatch(base.match, { halfResolution: true, ...changes.match }),
    refine: { ...base.refine, ...changes.refine },
    ...more,
  };
};

describe.each(["sgm", "cbca"] as const)(
  "%s at half resolution is the composition of its stages",
  (algorithm) => {
    test.each(CASES)("$name", async (changes) => {
      const { width, height } = changes;
      const pair = layeredPair(Math.max(width, 64), Math.max(height, 16), 5);
      // Cut from a larger pair, so that tiny images have texture too.
      const cut = (image: Uint8Array) =>
        Uint8Array.from(
          { length: width * height },
          (_, i) => image[Math.floor(i / width) * pair.width + (i % width)]!,
        );
      const images = { ...pair, width, height, left: cut(pair.left), right: cut(pair.right) };
      const options = caseOptions(images, {
        ...changes,
        match: algorithm === "sgm" ? changes.match : { algorithm, ...sharedBy(changes.match) },
      });
      const expected = composed(images, options);
      for (const instructionSet of variants) {
        for (const threads of [1, 3]) {
          const got = await computeFrame(images, { ...options, instructionSet, threads });
          const what = `${instructionSet}, ${threads} threads`;
          expectSameImage(got.disparityQ4, expected.disparityQ4, width, `${what}, disparity`);
          expectSameImage(got.confidence, expected.confidence, width, `${what}, confidence`);
          expect(got.info.instructionSet).toBe(instructionSet);
        }
      }
    });
  },
);

describe("half resolution", () => {
  test("halves first and upscales after everything else", async () => {
    const pair = layeredPair(120, 40);
    const { stages } = await computeFrame(pair, caseOptions(pair, CASES[0]!));
    const refinement = ["speckle", "ambiguity", "confidence", "fill", "boundary", "median"];
    expect(stages).toEqual(["rectify", "half", "match", ...refinement, "upscale"]);
    const { stages: whole } = await computeFrame(pair, engineOptions(pair));
    expect(whole).toEqual(["rectify", "match", ...refinement]);
  });

  test("finds the layers where they are, and never leaves the search that was asked for", async () => {
    const pair = layeredPair(240, 96);
    for (const [minDisparity, numDisparities] of [
      [0, 40],
      [5, 25],
      [4, 26],
      [3, 28],
    ] as const) {
      const options = caseOptions(pair, { ...CASES[0]!, match: { minDisparity, numDisparities } });
      const { disparityQ4, confidence } = await computeFrame(pair, options);
      const valid = disparityQ4.filter((value) => value !== INVALID);
      expect(Math.min(...valid)).toBeGreaterThanOrEqual(16 * minDisparity);
      expect(Math.max(...valid)).toBeLessThanOrEqual(16 * (minDisparity + numDisparities - 1));
      expect(confidence.filter((value, i) => disparityQ4[i] === INVALID && value !== 0)).toHaveLength(0);
      const near = disparityQ4.filter((value, i) => Math.abs(value / 16 - pair.disparity[i]!) <= 1.5).length;
      expect(near / disparityQ4.length, `${minDisparity}, ${numDisparities}`).toBeGreaterThan(0.85);
    }
  });

  test("too few disparities to halve are refused by name", async () => {
    const pair = layeredPair(64, 16);
    const options = caseOptions(pair, { ...CASES[0]!, match: { numDisparities: 15 } });
    await expect(computeFrame(pair, options)).rejects.toMatchObject({
      code: "ENGINE_PARAMETER",
      message: expect.stringContaining("16 to 512 with match.halfResolution, got 15"),
    });
  });
});
