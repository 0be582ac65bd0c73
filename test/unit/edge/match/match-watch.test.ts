// SPDX-License-Identifier: Apache-2.0
// The search range next to the scene: pixels at its end, the range that a rendered scene needs, and what a run reports once.
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { greyPairLayout, SceneRenderer } from "../../../../camera/index.js";
import { createEngine, type EngineOptions, perCause } from "../../../../cuda/index.js";
import { loadConfig } from "../../../../edge/config/index.js";
import type { ComputedFrame } from "../../../../edge/contracts/computed-frame.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { MatchWatch } from "../../../../edge/match/match-watch.js";
import { atRangeEndPercent, neededDisparities } from "../../../../edge/match/search-range.js";
import { engineOptionsFrom } from "../../../../edge/pipeline/engine-options.js";
import { uncalibrated } from "../../../../edge/pipeline/geometry.js";

const [WIDTH, HEIGHT] = [320, 240];
const NEAREST_PX = 36;

const optionsFor = (numDisparities: number): EngineOptions =>
  engineOptionsFrom(
    loadConfig({ environment: {}, set: ["board=none", `match.numDisparities=${numDisparities}`] }).config,
    { description: greyPairLayout(WIDTH, HEIGHT) },
    uncalibrated(WIDTH, HEIGHT),
  );

let pair: { left: Uint8Array; right: Uint8Array };
beforeAll(async () => {
  const renderer = new SceneRenderer(loadNative(), { width: WIDTH, height: HEIGHT, view: "rectified" });
  const { left } = await renderer.frame(0);
  renderer.close();
  // A plane at one disparity: the right image is the left one, moved.
  const image = Uint8Array.from(left.data);
  const right = image.map((_, i) => {
    const x = i % WIDTH;
    return image[i - x + Math.min(WIDTH - 1, x + NEAREST_PX)]!;
  });
  pair = { left: image, right };
});

test("counts matched pixels in the last two disparities of the range", () => {
  const disparityQ4 = Int16Array.of(16 * 13, 16 * 14, 16 * 15, 16 * 15, -32_768);
  const confidence = Uint8Array.of(200, 1, 255, 0, 9);
  const search = { minDisparity: 8, numDisparities: 8 };
  expect(atRangeEndPercent({ disparityQ4, confidence }, search)).toBeCloseTo(200 / 3);
  expect(atRangeEndPercent({ disparityQ4, confidence: new Uint8Array(5) }, search)).toBeUndefined();
});

test("proposes a range that reaches the scene, and none where it does already", async () => {
  expect(await neededDisparities(optionsFor(24), pair)).toBe(48);
  expect(await neededDisparities(optionsFor(64), pair)).toBeUndefined();
});

let warnings: string[];
let needed: number[];
let now: number;
let hasRigProblem: boolean;
let options: EngineOptions;
let watch: MatchWatch;
beforeEach(() => {
  [warnings, needed, now, hasRigProblem, options] = [[], [], 0, false, optionsFor(40)];
  watch = new MatchWatch({
    options: () => options,
    hasRigProblem: () => hasRigProblem,
    onWarning: (sentence) => warnings.push(sentence),
    needed: async ({ match }) => {
      needed.push(match.numDisparities);
      return match.numDisparities < 32 ? 48 : undefined;
    },
    now: () => now,
  });
});
afterEach(() => watch.close());

function createFrame(disparity: number, matchedShare: number): ComputedFrame {
  const pixels = WIDTH * HEIGHT;
  const confidence = new Uint8Array(pixels).fill(200);
  const disparityQ4 = new Int16Array(pixels).fill(16 * disparity);
  return {
    slot: { disparityQ4, confidence },
    result: { matchedPixels: matchedShare * pixels, droppedPixels: perCause(() => 0) },
    width: WIDTH,
    height: HEIGHT,
    images: { left: { data: pair.left }, right: { data: pair.right } },
  } as unknown as ComputedFrame;
}

async function sample(disparity: number, matchedShare: number): Promise<void> {
  now += 1000;
  watch.frame(createFrame(disparity, matchedShare));
  await watch.close();
}

test("a run reports each search that is too short once", async () => {
  expect(watch.atRangeEndPercent).toMatchObject({ available: false });
  options = optionsFor(24);
  await sample(23, 1);
  watch.frame(createFrame(23, 1)); // Before the next sample is due.
  await sample(23, 1);
  expect(watch.atRangeEndPercent).toBe(100);
  expect(warnings.splice(0)).toEqual([
    "the scene is nearer than the search range: 100.0 % of the matched pixels are at its end. " +
      "Increase match.numDisparities from 24 to 48.",
  ]);
  options = optionsFor(40);
  await sample(39, 1);
  expect(needed).toEqual([24, 40]);
  await sample(3, 1);
  expect(watch.atRangeEndPercent).toBe(0);
  expect(warnings).toEqual([]);
});

test("a run reports few matched pixels once, and not where the cameras are the cause", async () => {
  hasRigProblem = true;
  for (let i = 0; i < 5; ++i) await sample(3, 0.24);
  expect(warnings).toEqual([]);
  hasRigProblem = false;
  await sample(3, 0.9);
  await sample(3, 0.24);
  await sample(3, 0.24);
  expect(warnings).toEqual([]);
  for (let i = 0; i < 5; ++i) await sample(3, 0.24);
  expect(warnings).toEqual([expect.stringMatching(/^only 24 % of the pixels are matched/)]);
});

test("an engine for the scene agrees with the proposal", async () => {
  const engine = createEngine(optionsFor(48));
  await engine.compute(pair.left, pair.right);
  expect(atRangeEndPercent(engine.slots[0]!, optionsFor(48).match)).toBeLessThan(0.5);
  engine.close();
});

test("a range is proposed from 0.5 % of the sampled pixels on", async () => {
  options = optionsFor(24);
  // One pixel in three is sampled.
  const frameWith = (atEnd: number) => {
    const frame = createFrame(3, 1);
    for (let i = 0; i < atEnd; i++) frame.slot.disparityQ4[3 * i] = 16 * 22;
    return frame;
  };
  for (const [atEnd, proposals] of [
    [127, 0],
    [128, 1],
  ] as const) {
    now += 1000;
    watch.frame(frameWith(atEnd));
    await watch.close();
    expect(needed).toHaveLength(proposals);
  }
  expect(watch.atRangeEndPercent).toBe(0.5);
});
