// SPDX-License-Identifier: Apache-2.0
// Confidence and depth limits in whole frames: the engine against the definition, applied to the frame without limits, at both
// resolutions and with a region; and what PLY files, ROS clouds and derived topics make of dropped pixels.
import { describe, expect, test } from "vitest";
import { plyOfPoints } from "../../core/frame/ply.js";
import { createEngine, type EngineOptions } from "../../cuda/index.js";
import { pointCloudPrefix, writePointCloud } from "../../edge/mcap/messages.js";
import { nearestIn, nearestScan } from "../../edge/outputs/derived/nearest.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { changedMatch } from "../doubles/match-change.js";
import { expectSameImage, native, variants } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const INVALID = -32768;
const pair = layeredPair(171, 63, 9);
const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };
const region = { x: 60, y: 11, width: 80, height: 40 };
const NONE = { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 };

const stage = native.stages.threshold as unknown as (call: object) => string;
const minConfidence = 0.95;
/** The pair has layers at 9.6, 2.82 and 1.66 m. */
const depth = { minMetres: 2, maxMetres: 5 };

function thresholdOptions(changes: Partial<EngineOptions>, halfResolution = false): EngineOptions {
  const base = engineOptions(pair, { geometry, ...changes });
  return { ...base, match: changedMatch(base.match, { halfResolution }) };
}

const limited = (options: EngineOptions): EngineOptions => ({
  ...options,
  refine: { ...options.refine, minConfidence },
  depth,
});

describe.each([
  ["full resolution", false, {}],
  ["half resolution", true, {}],
  ["a region", false, { region }],
  ["a region at half resolution", true, { region }],
] as const)("limits, %s", (_, half, changes) => {
  test("are the definition, applied to the frame without limits", async () => {
    const free = await computeFrame(pair, thresholdOptions(changes, half));
    expect(free.result.droppedPixels).toEqual(NONE);
    expect(free.stages).not.toContain("threshold");
    const expected = { disparityQ4: free.disparityQ4.slice(), confidence: free.confidence.slice() };
    const dropped = new Int32Array(4);
    const size = { variant: "reference", width: pair.width, height: pair.height };
    const limits = { minConfidence: 243, minMillimetres: 2000, maxMillimetres: 5000 };
    stage({ ...size, ...limits, ...geometry, ...expected, dropped });
    const [filled, lowConfidence, tooNear, tooFar] = dropped;
    for (const count of dropped) expect(count, "the pair has pixels of every cause").toBeGreaterThan(0);
    for (const instructionSet of variants) {
      for (const threads of [1, 3]) {
        const options = limited(thresholdOptions({ ...changes, instructionSet, threads }, half));
        const got = await computeFrame(pair, options);
        expectSameImage(got.disparityQ4, expected.disparityQ4, pair.width, "disparity");
        expectSameImage(got.confidence, expected.confidence, pair.width, "confidence");
        expect(got.result.droppedPixels).toEqual({ filled, lowConfidence, tooNear, tooFar });
        expect(got.result.matchedPixels, "nothing that is left is filled").toBe(got.result.validPixels);
        expect(got.stages).toContain("threshold");
        const valid = got.disparityQ4.filter((disparity) => disparity !== INVALID).length;
        const depths = got.depthMillimetres.filter((millimetres) => millimetres !== 0);
        expect(depths.length).toBe(valid);
        expect(depths.every((z) => z >= 2000 && z <= 5000)).toBe(true);
      }
    }
  });
});

test("any limit above 0 drops filled pixels, and nothing else where it is small", async () => {
  const free = await computeFrame(pair, thresholdOptions({}));
  const options = thresholdOptions({});
  const got = await computeFrame(pair, { ...options, refine: { ...options.refine, minConfidence: 0.001 } });
  const filled = free.result.validPixels - free.result.matchedPixels;
  expect(filled).toBeGreaterThan(0);
  expect(got.result.droppedPixels).toEqual({ ...NONE, filled });
  expect(got.result.matchedPixels).toBe(free.result.matchedPixels);
});

test("PLY files, ROS clouds, zones and scans have the pixels that are left", async () => {
  const [cx, cy] = [pair.width / 2, pair.height / 2];
  const points = { frame: "camera", element: "float32", colours: false, cx, cy } as const;
  const engine = createEngine(limited(thresholdOptions({ points })));
  try {
    const { validPixels } = await engine.compute(pair.left, pair.right);
    expect(validPixels).toBeGreaterThan(0);
    expect(validPixels).toBeLessThan(0.9 * pair.width * pair.height);
    const slot = engine.slots[0]!;
    const pixels = pair.width * pair.height;
    const ply = plyOfPoints(slot.points, pixels, { frame: "camera", element: "float32", colour: "grey" });
    expect(new TextDecoder("latin1").decode(ply)).toContain(`element vertex ${validPixels}\n`);
    const size = { width: pair.width, height: pair.height };
    const z = new Float32Array(slot.points.slice().buffer).filter((_, i) => i % 4 === 2);
    const kept = z.filter((metres) => !Number.isNaN(metres));
    expect(kept.length).toBe(validPixels);
    expect(kept.every((metres) => metres > 1.9994 && metres < 5.0006)).toBe(true);
    const prefix = pointCloudPrefix({ frameId: "camera", ...size });
    const cloud = new Uint8Array(prefix.length + slot.points.length + 100);
    const bytes = writePointCloud(cloud, 0, prefix, 1n, slot.points);
    expect(
      Buffer.from(cloud.buffer, 0, bytes).includes(Buffer.from(slot.points)),
      "the cloud has these points",
    ).toBe(true);

    const picture = { ...size, depthMillimetres: slot.depthMillimetres, confidence: slot.confidence };
    const spans = Array.from({ length: pair.height }, (_, y) => ({ y, from: 0, to: pair.width }));
    const zone = nearestIn(picture, spans, 1);
    expect(zone.matched).toBe(validPixels);
    expect(zone.nearestMillimetres).toBeGreaterThanOrEqual(2000);
    const band = { top: 0, bottom: 1, rays: 40, minPixels: 1 };
    const { ranges } = nearestScan(picture, { focalPixels: geometry.focalPixels, centreX: cx }, band);
    expect(ranges.some((range) => range !== undefined)).toBe(true);
    expect(ranges.every((range) => range === undefined || range >= 2)).toBe(true);
  } finally {
    engine.close();
  }
});

describe("limits that are refused", () => {
  const refusal = async (changes: Partial<EngineOptions>) =>
    expect(computeFrame(pair, thresholdOptions(changes))).rejects.toMatchObject({ code: "ENGINE_PARAMETER" });

  test("a confidence beyond 0 to 1", async () => {
    for (const wrong of [-0.1, 1.01, Number.NaN]) await refusal({ refine: { minConfidence: wrong } });
  });

  test("a depth without a geometry, and a smallest depth beyond the largest", async () => {
    const { geometry: _, ...options } = thresholdOptions({ depth: { minMetres: 1 } });
    await expect(computeFrame(pair, options)).rejects.toMatchObject({
      code: "ENGINE_PARAMETER",
      message: expect.stringContaining("Expected a calibration"),
    });
    await refusal({ depth: { minMetres: 2, maxMetres: 1.5 } });
  });
});
