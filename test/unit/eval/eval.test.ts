// SPDX-License-Identifier: Apache-2.0
// The evaluation's arithmetic by hand, its files, and its sweeps; the matcher is a table of answers here.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { encodePfm, encodePng } from "../../../camera/index.js";
import { type EngineOptions, STAGE_NAMES } from "../../../cuda/index.js";
import { sweepPlot } from "../../../edge/commands/eval/plot.js";
import { parseSweep, sweepCsv } from "../../../edge/commands/eval/sweep.js";
import { loadConfig } from "../../../edge/config/index.js";
import { densityCurve, densityTable, meanCurve } from "../../../edge/eval/density-curve.js";
import { engineMatcher } from "../../../edge/eval/engine-matcher.js";
import {
  type Evaluation,
  evaluate,
  evaluationTable,
  middleburyV2Mean,
  readDataset,
  readScene,
  type Scene,
  score,
} from "../../../edge/eval/index.js";
import { meanScores } from "../../../edge/eval/score.js";
import { needsData } from "../../doubles/needs.js";

const NONE = -32768;
const INFINITE = Number.POSITIVE_INFINITY;

describe("score", () => {
  // truth      10   10     10    10    none   20
  // estimate   10   11     11.06 none  10     none   so of five evaluated: right, right (exactly 1 px), off, hole, hole
  const truth = Float32Array.of(10, 10, 10, 10, INFINITE, 20);
  const estimate = Int16Array.of(160, 176, 177, NONE, 160, NONE);

  test("holes count as wrong next to valid-only, density and the mean error of what was estimated", () => {
    const result = score(estimate, truth, undefined, 1);
    expect(result.badPercent).toBeCloseTo(60, 10);
    expect(result.badPercentValidOnly).toBeCloseTo(100 / 3, 10);
    expect(result.density).toBeCloseTo(60, 10);
    expect(result.averageErrorPx).toBeCloseTo((0 + 1 + 17 / 16) / 3, 10);
  });

  test("a mask leaves out what it does not cover; an empty one says nothing instead of 0", () => {
    const result = score(estimate, truth, Uint8Array.of(1, 0, 1, 0, 1, 0), 1);
    expect([result.badPercent, result.density]).toEqual([50, 100]);
    expect(score(estimate, truth, new Uint8Array(6), 1)).toEqual({
      badPercent: null,
      badPercentValidOnly: null,
      density: null,
      averageErrorPx: null,
    });
    const onlyHoles = score(new Int16Array(6).fill(NONE), truth, undefined, 1);
    expect(onlyHoles).toEqual({
      badPercent: 100,
      badPercentValidOnly: null,
      density: 0,
      averageErrorPx: null,
    });
  });

  test("the threshold decides, and the error itself does not", () => {
    expect(score(estimate, truth, undefined, 2).badPercent).toBeCloseTo(40, 10);
    expect(score(estimate, truth, undefined, 0.5).badPercent).toBeCloseTo(80, 10);
  });

  test("means are mask by mask over the scenes that have the mask; Middlebury's takes complete scenes only", () => {
    const of = (badPercent: number) => ({
      badPercent,
      badPercentValidOnly: null,
      density: 100,
      averageErrorPx: 1,
    });
    const scenes = [
      { valid: of(10), nonocc: of(1), all: of(2), disc: of(3) },
      { valid: of(20), nonocc: of(7), all: of(8), disc: of(9) },
      { valid: of(60), nonocc: of(50) },
    ];
    const mean = meanScores(scenes);
    expect(mean.valid!.badPercent).toBe(30);
    expect(mean.nonocc!.badPercent).toBeCloseTo(58 / 3, 10);
    expect(mean.all!.badPercent).toBe(5);
    expect(mean.valid!.badPercentValidOnly).toBeNull();
    expect(middleburyV2Mean(scenes)).toBe(5);
    expect(middleburyV2Mean([scenes[2]!])).toBeNull();
  });
});

describe("error against density", () => {
  // Nine of ten pixels have a ground truth of 10, and eight of these an estimate.
  // confidence  9  9    9     9  4     4  0   0  -
  // error, px   0  0.5  1.25  0  0.25  3  2   0  none
  const truth = Float32Array.of(10, 10, 10, 10, 10, 10, 10, 10, 10, INFINITE);
  const estimate = Int16Array.of(160, 168, 180, 160, 164, 112, 192, 160, NONE, 160);
  const confidence = Uint8Array.of(9, 9, 9, 9, 4, 4, 0, 0, 7, 255);
  const { densityPercent, badPercent, endPointErrorPx } = densityCurve({ truth }, estimate, confidence, 1);
  const at = (density: number) => densityPercent.indexOf(density);

  test("pixels of the same confidence are kept in part", () => {
    // 40 % are 3.6 of nine pixels, of the four surest: one in four is bad, and their mean error is 1.75 / 4.
    expect(badPercent[at(40)]).toBeCloseTo(25, 10);
    expect(endPointErrorPx[at(40)]).toBeCloseTo(1.75 / 4, 10);
    // 60 % are 5.4 pixels: four, and 0.7 of each of the next two.
    expect(badPercent[at(60)]).toBeCloseTo((100 * 1.7) / 5.4, 10);
    expect(endPointErrorPx[at(60)]).toBeCloseTo((1.75 + 0.7 * 3.25) / 5.4, 10);
    // 80 % are 7.2 pixels; filled ones come last.
    expect(badPercent[at(80)]).toBeCloseTo((100 * (2 + 0.6)) / 7.2, 10);
  });

  test("a density that the estimates do not reach has no value", () => {
    expect(densityPercent).toHaveLength(20);
    // Eight of nine: 88.9 %.
    expect(badPercent[at(85)]).not.toBeNull();
    expect([badPercent[at(90)], endPointErrorPx[at(100)]]).toEqual([null, null]);
  });

  test("a dense map reaches 100 %, where its error is that of all pixels", () => {
    const dense = estimate.map((value) => (value === NONE ? 160 : value));
    expect(densityCurve({ truth }, dense, confidence, 1).badPercent.at(-1)).toBeCloseTo(300 / 9, 10);
  });

  test("the mean has no value where a scene has none; the table shows every tenth percent", () => {
    const curve = (...badPercent: (number | null)[]) => ({
      densityPercent,
      badPercent: densityPercent.map((_, i) => badPercent[i] ?? null),
      endPointErrorPx: densityPercent.map(() => 2),
    });
    const mean = meanCurve([curve(1, 2, 3), curve(3, 6)]);
    expect(mean.badPercent.slice(0, 3)).toEqual([2, 4, null]);
    expect(mean.endPointErrorPx[19]).toBe(2);
    const [heading, row] = densityTable([{ name: "mean", curve: mean }]);
    expect(heading).toHaveLength(11);
    expect(row!.slice(0, 3)).toEqual(["mean", "4.00", "-"]);
  });
});

describe("a data set on disk", () => {
  let folder = "";
  const entry = {
    name: "tiny",
    left: "left.png",
    right: "right.png",
    groundTruth: { path: "truth.png", scale: 4, invalid: 0 },
    masks: { nonocc: "mask.png" },
    numDisparities: 16,
    badThresholdPx: 1,
    note: "unknown keys are let through",
  };
  const grey = (...data: number[]) => encodePng({ data: Uint8Array.from(data), width: 2, height: 2 });
  const write = (scenes: unknown) => writeFileSync(join(folder, "dataset.json"), JSON.stringify({ scenes }));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-eval-"));
    writeFileSync(join(folder, "left.png"), await grey(1, 2, 3, 4));
    writeFileSync(join(folder, "right.png"), await grey(5, 6, 7, 8));
    writeFileSync(join(folder, "truth.png"), await grey(0, 4, 10, 255));
    writeFileSync(join(folder, "mask.png"), await grey(255, 128, 0, 255));
    const truth = { data: Float32Array.of(1.5, INFINITE, 0, 2), width: 2, height: 2 };
    writeFileSync(join(folder, "truth.pfm"), encodePfm(truth));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("pictures, scaled truth, masks of exactly 255", async () => {
    write([entry, { ...entry, name: "float", groundTruth: { path: "truth.pfm", scale: 1, invalid: "inf" } }]);
    const [tiny, float] = await Promise.all((await readDataset(folder)).map((entry) => readScene(entry)));
    expect([...tiny!.left, ...tiny!.right]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect([...tiny!.truth]).toEqual([INFINITE, 1, 2.5, 63.75]);
    expect([...tiny!.masks.get("nonocc")!]).toEqual([1, 0, 0, 1]);
    expect([...float!.truth]).toEqual([1.5, INFINITE, 0, 2]);
  });

  test("a byte order mark before the JSON is no damage", async () => {
    writeFileSync(join(folder, "dataset.json"), `\uFEFF${JSON.stringify({ scenes: [entry] })}\r\n`);
    expect((await readDataset(folder)).map(({ name }) => name)).toEqual([entry.name]);
  });

  test("missing and malformed values are named with file and key", async () => {
    await expect(readDataset(join(folder, "nowhere"))).rejects.toMatchObject({
      code: "DATASET_INVALID",
      message: expect.stringContaining("nowhere/dataset.json"),
    });
    write([{ ...entry, numDisparities: "many" }]);
    await expect(readDataset(folder)).rejects.toMatchObject({
      code: "DATASET_INVALID",
      message: expect.stringContaining("scenes.0.numDisparities"),
    });
    write([{ ...entry, right: "gone.png" }]);
    const [gone] = await readDataset(folder);
    await expect(readScene(gone!)).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
  });

  test("a picture of another size is refused", async () => {
    const wide = await encodePng({ data: new Uint8Array(6), width: 3, height: 2 });
    writeFileSync(join(folder, "wide.png"), wide);
    write([{ ...entry, masks: { all: "wide.png" } }]);
    const [scene] = await readDataset(folder);
    await expect(readScene(scene!)).rejects.toMatchObject({
      code: "IMAGE_SIZE_MISMATCH",
      message: expect.stringContaining("wide.png"),
    });
  });
});

describe("sweeps", () => {
  test("first, last and step; decimal steps stay decimal; a bare name finds its group", () => {
    expect(parseSweep("match.sgm.p2=40:120:40")).toEqual({ key: "match.sgm.p2", values: [40, 80, 120] });
    expect(parseSweep("p1=5:10:2")).toEqual({ key: "match.sgm.p1", values: [5, 7, 9] });
    expect(parseSweep("speckleRange=0:0.3:0.1").values).toEqual([0, 0.1, 0.2, 0.3]);
  });

  test.each(["p1", "p1=1:2", "p1=1:2:0", "p1=3:2:1", "p1=a:2:1", "p1=::", "p1=0:1e9:1"])(
    "refuses %s",
    (text) => {
      expect(() => parseSweep(text)).toThrow(expect.objectContaining({ code: "USAGE" }));
    },
  );

  test("an unknown setting is named", () => {
    expect(() => parseSweep("match.pq=1:2:1")).toThrow(
      expect.objectContaining({ code: "CONFIG_UNKNOWN_KEY" }),
    );
  });

  const scene: Scene = {
    name: "one, two",
    left: new Uint8Array(4),
    right: new Uint8Array(4),
    format: "GREY",
    width: 2,
    height: 2,
    truth: Float32Array.of(1, 1, 1, 1),
    masks: new Map([["nonocc", Uint8Array.of(1, 1, 0, 0)]]),
    numDisparities: 16,
    badThresholdPx: 1,
  };
  const answer = (...disparityQ4: number[]): Promise<Evaluation> =>
    evaluate([scene], async () => ({
      disparityQ4: Int16Array.from(disparityQ4),
      milliseconds: 2,
      numDisparities: 16,
    }));

  test("CSV quotes names and has a column for every scene, mask and mean", async () => {
    const rows = [
      { value: 1, evaluation: await answer(16, 16, 16, 160) },
      { value: 2, evaluation: await answer(16, NONE, 16, 160) },
    ];
    expect(sweepCsv("match.sgm.p1", rows).split("\n")).toEqual([
      'match.sgm.p1,"one, two valid","one, two nonocc",mean valid,mean nonocc,milliseconds',
      "1,25.0000,0.0000,25.0000,0.0000,2.0000",
      "2,50.0000,50.0000,50.0000,50.0000,2.0000",
    ]);
    const svg = sweepPlot("a < b", "match.sgm.p1", rows);
    expect(svg).toContain("a &#60; b");
    expect(svg.match(/<circle /g)).toHaveLength(4);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("one value still makes a plot", async () => {
    const svg = sweepPlot("t", "k", [{ value: 3, evaluation: await answer(16, 16, 16, 16) }]);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("a threshold given replaces the scene's, and the table says which", async () => {
    const match = async () => ({
      disparityQ4: Int16Array.of(40, 16, 16, 16),
      milliseconds: 1,
      numDisparities: 16,
    });
    expect((await evaluate([scene], match)).scenes[0]!.masks.valid!.badPercent).toBe(25);
    const loose = await evaluate([scene], match, 2);
    expect(loose.scenes[0]!.masks.valid!.badPercent).toBe(0);
    expect(evaluationTable(loose)[1]).toEqual([
      "one, two",
      "valid",
      "2",
      "0.00",
      "0.00",
      "100.0",
      "0.38",
      "1.0",
    ]);
  });
});

needsData("midd_v2/dataset.json").suite("Middlebury v2 as it lies on disk", () => {
  test("tsukuba's palette is expanded: truth is whole pixels up to 14, masks nest", async () => {
    const [entry] = await readDataset(join(process.env.DEPTHWATT_DATA!, "midd_v2"));
    const { truth, masks } = await readScene(entry!);
    const values = new Set([...truth].filter(Number.isFinite));
    expect([...values].sort((a, b) => a - b)).toEqual([5, 6, 7, 8, 10, 11, 14]);
    const count = (name: string) => masks.get(name)!.reduce((sum, value) => sum + value, 0);
    expect(count("disc")).toBeLessThan(count("nonocc"));
    expect(count("nonocc")).toBeLessThan(count("all"));
  });
});

describe("an engine for each scene", () => {
  const scene = { width: 64, height: 48, format: "GREY", left: 1, right: 2, numDisparities: 5 } as never;
  /**
   * @param times milliseconds of one frame after the other
   * @param stages the first stage's time in each frame; NaN: it was not timed
   */
  async function matched(times: number[], stages: number[], more: object = {}) {
    vi.useFakeTimers({ toFake: ["performance"] });
    const asked: EngineOptions[] = [];
    const computed: unknown[][] = [];
    let closed = 0;
    const stageMilliseconds = new Float64Array(STAGE_NAMES.length).fill(Number.NaN);
    const slot = { disparityQ4: Int16Array.of(1, 2), confidence: Uint8Array.of(3, 4) };
    const match = engineMatcher({
      config: loadConfig({ environment: {}, set: ["board=none", "match.numDisparities=48"] }).config,
      fixedNumDisparities: false,
      frames: times.length - 1,
      createEngine: (options) => {
        asked.push(options);
        return {
          info: { backend: "cpu" },
          slots: [slot],
          stageMilliseconds,
          compute: async (...images: unknown[]) => {
            const frame = computed.push(images) - 1;
            vi.advanceTimersByTime(times[frame] ?? 0);
            stageMilliseconds[0] = stages[frame] ?? Number.NaN;
          },
          close: () => closed++,
        } as never;
      },
      ...more,
    });
    try {
      const result = await match(scene);
      expect(closed).toBe(1);
      // The engine's memory is its own.
      slot.disparityQ4.fill(0);
      slot.confidence.fill(0);
      return { result, computed, asked: asked[0]! };
    } finally {
      vi.useRealTimers();
    }
  }

  test("the first frame is not timed; times are medians", async () => {
    const { result, computed, asked } = await matched([900, 10, 30, 20], [800, 1, 3, 2]);
    expect(result).toEqual({
      disparityQ4: Int16Array.of(1, 2),
      confidence: Uint8Array.of(3, 4),
      milliseconds: 20,
      numDisparities: 8,
      backend: "cpu",
      stages: { [STAGE_NAMES[0]!]: 2 },
    });
    expect(computed).toEqual(Array(4).fill([1, 2]));
    expect(asked).toMatchObject({ width: 64, height: 48, leftFormat: "GREY", match: { numDisparities: 8 } });
  });

  test("the scene's own search, or that of the settings", async () => {
    const wide = { ...(scene as object), numDisparities: 9 };
    Object.assign(scene as object, wide);
    expect((await matched([1, 1], [])).asked.match.numDisparities).toBe(9);
    const fixed = await matched([1, 1], [], { fixedNumDisparities: true });
    expect([fixed.asked.match.numDisparities, fixed.result.numDisparities]).toEqual([48, 48]);
    Object.assign(scene as object, { numDisparities: 5 });
  });

  test("frames are repeated until stages are timed, 64 times at most, and not where none is timed", async () => {
    const none = Array(10).fill(Number.NaN);
    const late = await matched([1, 1], [...none, 7]);
    expect([late.computed.length, late.result.stages]).toEqual([11, { [STAGE_NAMES[0]!]: 7 }]);
    const never = await matched([1, 1], []);
    expect([never.computed.length, never.result.stages]).toEqual([66, {}]);
    expect((await matched([1], [])).computed).toHaveLength(1);
  });
});
