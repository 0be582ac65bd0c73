// SPDX-License-Identifier: Apache-2.0
// Averages over time in the engine equal their references applied frame by frame, bit for bit, on every instruction set. Frames that do not
// follow reset them, and measuring a stage does not change the result.
import { describe, expect, test } from "vitest";
import { createEngine, type EngineOptions } from "../../cuda/index.js";
import { expectSameImage, native, variants } from "../doubles/stages.js";
import { FORGOTTEN_BEFORE, steadyFrames, steadyPairs } from "../doubles/steady-frames.mjs";

const stage = native.stages.temporal as unknown as (call: object) => string;
const off = { refine: { temporal: false } };

/** Applies the definition to disparities at full resolution. */
function defined(disparities: Int16Array[]): Int16Array[] {
  const pairs = steadyPairs();
  const { width, height } = pairs[0]!;
  const fresh = () => ({
    mean: new Int16Array(width * height),
    weight: new Uint8Array(width * height),
    reference: new Int16Array(width * height),
  });
  let state = fresh();
  return disparities.map((raw, frame) => {
    if (frame === FORGOTTEN_BEFORE) state = fresh();
    const disparityQ4 = raw.slice();
    stage({ variant: "reference", width, height, grey: pairs[frame]!.left, disparityQ4, ...state });
    return disparityQ4;
  });
}

describe.each(variants)("mean over time in the engine, %s", (instructionSet) => {
  test.each([1, 2])("%i threads: the definition of the frames without it", async (threads) => {
    const changes = { backend: "cpu", instructionSet, threads } as const;
    const raw = await steadyFrames(createEngine, { ...changes, ...off });
    const got = await steadyFrames(createEngine, changes);
    const { width } = steadyPairs()[0]!;
    for (const [frame, expected] of defined(raw.disparities).entries())
      expectSameImage(got.disparities[frame]!, expected, width, `frame ${frame}`);
    expect(got.hashes).not.toEqual(raw.hashes);
    // The first frame and the frame that does not follow start without a state.
    const first = [0, FORGOTTEN_BEFORE];
    expect(first.map((frame) => got.hashes[frame])).toEqual(first.map((frame) => raw.hashes[frame]));
  });
});

describe("mean over time in the engine", () => {
  const region = { x: 30, y: 10, width: 100, height: 70 };
  const sizes: [string, Partial<EngineOptions>][] = [
    ["in a region", { region }],
    ["at half resolution", { match: { halfResolution: true } as EngineOptions["match"] }],
    ["in a region at half resolution", { region, match: { halfResolution: true } as EngineOptions["match"] }],
  ];

  test.each(sizes)("%s: every instruction set gives the same, calmer than without", async (_, changes) => {
    const runs = [];
    for (const instructionSet of variants)
      runs.push(await steadyFrames(createEngine, { backend: "cpu", instructionSet, ...changes }));
    for (const run of runs) expect(run.hashes).toEqual(runs[0]!.hashes);
    const raw = await steadyFrames(createEngine, { backend: "cpu", ...changes, ...off });
    /** Sum of the changes from frame to frame, at most a pixel each, below what moves. */
    const restless = (images: Int16Array[]) => {
      let sum = 0;
      for (const [frame, image] of images.entries())
        for (let i = 72 * 160; frame > 0 && i < image.length; ++i)
          sum += Math.min(16, Math.abs(image[i]! - images[frame - 1]![i]!));
      return sum;
    };
    expect(restless(runs[0]!.disparities)).toBeLessThan(0.85 * restless(raw.disparities));
  });

  test("repeated to be measured, the results stay what they were", async () => {
    const once = await steadyFrames(createEngine, { backend: "cpu" });
    const often = await steadyFrames(createEngine, {
      backend: "cpu",
      repeatStage: { stage: "temporal", times: 3 },
    });
    expect(often.hashes).toEqual(once.hashes);
  });

  test("it is off by default", async () => {
    const { hashes } = await steadyFrames(createEngine, { backend: "cpu", ...off });
    const unsaid = await steadyFrames(createEngine, { backend: "cpu", refine: { temporal: undefined } });
    expect(unsaid.hashes).toEqual(hashes);
  });
});

/** Applies the definition of the average to both images of each pair. */
function averagedPairs() {
  const average = native.stages.average as unknown as (call: object) => string;
  const states: Record<string, Int16Array> = {};
  return steadyPairs().map((pair, frame) => {
    const { width, height } = pair;
    const of = (side: "left" | "right") => {
      const image = pair[side];
      const before = frame === FORGOTTEN_BEFORE ? undefined : states[side];
      const call = { variant: "reference", width, height, image, filtered: image, limit: 216 };
      const [after, averaged] = [new Int16Array(width * height), new Uint8Array(width * height)];
      average({ ...call, before: before ?? new Int16Array(width * height), after, averaged });
      states[side] = after;
      return averaged;
    };
    return { width, height, left: of("left"), right: of("right") };
  });
}

describe("images averaged over time in the engine", () => {
  test.each(variants)("%s: the disparities are those of the averaged pairs", async (instructionSet) => {
    const changes = { backend: "cpu", instructionSet, ...off } as const;
    const expected = await steadyFrames(createEngine, changes, averagedPairs());
    const got = await steadyFrames(createEngine, { ...changes, average: true });
    const { width } = steadyPairs()[0]!;
    for (const [frame, disparities] of expected.disparities.entries())
      expectSameImage(got.disparities[frame]!, disparities, width, `frame ${frame}`);
    const raw = await steadyFrames(createEngine, changes);
    expect(got.hashes).not.toEqual(raw.hashes);
    const first = [0, FORGOTTEN_BEFORE];
    expect(first.map((frame) => got.hashes[frame])).toEqual(first.map((frame) => raw.hashes[frame]));
  });

  test("the noise filter shows where nothing is averaged yet, and not elsewhere", async () => {
    const both = { backend: "cpu", average: true, denoise: "on", ...off } as const;
    const averaged = await steadyFrames(createEngine, both);
    const filtered = await steadyFrames(createEngine, { ...both, average: false });
    expect(averaged.hashes[0]).toEqual(filtered.hashes[0]);
    expect(averaged.hashes[8]).not.toEqual(filtered.hashes[8]);
  });

  test("repeated to be measured, the results stay what they were", async () => {
    const once = await steadyFrames(createEngine, { backend: "cpu", average: true });
    const repeatStage = { stage: "average", times: 3 } as const;
    const often = await steadyFrames(createEngine, { backend: "cpu", average: true, repeatStage });
    expect(often.hashes).toEqual(once.hashes);
  });
});
