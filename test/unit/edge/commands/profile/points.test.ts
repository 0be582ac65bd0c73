// SPDX-License-Identifier: Apache-2.0
// The points that a profile plans from its flags: limits of every list, the order of the points, and those that are still missing.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type PlanOptions,
  parseAlgorithms,
  parseClocks,
  parseDisparities,
  parsePaths,
  parseRates,
  parseRepeatedStages,
  parseResolutions,
  parseSearches,
  parseSizes,
  planPoints,
} from "../../../../../edge/commands/profile/plan.js";
import { type ProfileOptions, stageRounds } from "../../../../../edge/commands/profile/run.js";
import { missingPoints, type SweepOptions, sweep } from "../../../../../edge/commands/profile/sweep.js";
import {
  OPTIONAL_STAGES,
  type PointResult,
  type ProfilePoint,
  pointId,
} from "../../../../../edge/profile/types.js";

describe("lists", () => {
  test.each<[(text: string) => unknown, string, unknown]>([
    [
      parseSizes,
      "640x480,16x99999",
      [
        { width: 640, height: 480 },
        { width: 16, height: 99_999 },
      ],
    ],
    [parseDisparities, "8,512,", [8, 512]],
    [parsePaths, "2,4,8", [2, 4, 8]],
    [parseRates, "max,0.5,1000", ["max", 0.5, 1000]],
    [parseAlgorithms, "sgm,sad", ["sgm", "sad"]],
    [parseResolutions, "half,full", [true, false]],
    [parseSearches, "coarseToFine,full", ["coarseToFine", "full"]],
    [
      parseRepeatedStages,
      "match=3,median=40",
      [
        { stage: "match", times: 3 },
        { stage: "median", times: 40 },
      ],
    ],
  ])("%o of %s", (parse, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each<[(text: string) => unknown, string, string]>([
    [parseSizes, "6x480", '--sizes: expected sizes such as 640x480, got "6x480"'],
    [parseDisparities, "64,7", '--disparities: expected whole numbers from 8 to 512, got "7"'],
    [parseDisparities, "513", '--disparities: expected whole numbers from 8 to 512, got "513"'],
    [parseDisparities, "8.5", '--disparities: expected whole numbers from 8 to 512, got "8.5"'],
    [parsePaths, "1", '--paths: expected whole numbers from 2 to 8, got "1"'],
    [parsePaths, "9", '--paths: expected whole numbers from 2 to 8, got "9"'],
    [parsePaths, "5", '--paths: expected 2, 4 or 8, got "5"'],
    [parseRates, "0", '--rates: expected "max" or frames per second up to 1000, got "0"'],
    [parseRates, "1000.5", '--rates: expected "max" or frames per second up to 1000, got "1000.5"'],
    [parseResolutions, "third", '--resolutions: expected full or half, got "third"'],
    [parseSearches, "none", '--searches: expected full or coarseToFine, got "none"'],
  ])("%o refuses %s", (parse, text, message) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: "USAGE", message }));
  });

  test("clocks by megahertz, less than one away; all are those below the highest, from the top", () => {
    const limits = { steps: (name: string) => (name === "gpu" ? [306.5, 612, 918] : [2133]) } as never;
    const [low, middle] = [{ gpu: 306_500_000 }, { gpu: 612_000_000 }];
    expect(parseClocks("current,612,306", limits)).toEqual([{}, middle, low]);
    expect(parseClocks("612/2133,/2133", limits)).toEqual([
      { ...middle, emc: 2_133_000_000 },
      { emc: 2_133_000_000 },
    ]);
    expect(parseClocks("all", limits)).toEqual([{}, middle, low]);
    expect(parseClocks("all", undefined)).toEqual([{}]);
    expect(() => parseClocks("613", limits)).toThrow(
      '--clocks: expected steps of the gpu in MHz (306.5, 612, 918), got "613"',
    );
    expect(() => parseClocks("612/204", limits)).toThrow(
      '--clocks: expected steps of the emc in MHz (2133), got "204"',
    );
    expect(() => parseClocks("612", undefined)).toThrow(
      '--clocks: expected steps of the gpu in MHz (none), got "612"',
    );
  });
});

const OPTIONS: PlanOptions = {
  modes: [undefined],
  clocks: [{}],
  algorithms: ["sgm"],
  sizes: [{ width: 64, height: 48 }],
  disparities: [16],
  paths: [4],
  rates: ["max"],
  resolutions: [false],
  searches: ["full"],
  stageRounds: 0,
  repeated: [],
};
const BASE: ProfilePoint = {
  mode: undefined,
  algorithm: "sgm",
  width: 64,
  height: 48,
  numDisparities: 16,
  paths: 4,
  rateHz: "max",
};

describe("plans", () => {
  test("modes are the outermost loop, clocks the innermost", () => {
    const clocks = [{}, { gpu: 612e6 }];
    const points = planPoints({
      ...OPTIONS,
      modes: ["15W", "MAXN"],
      paths: [4, 8],
      rates: [15, "max"],
      clocks,
    });
    const expected = ["15W", "MAXN"].flatMap((mode) =>
      ([4, 8] as const).flatMap((paths) =>
        ([15, "max"] as const).flatMap((rateHz) => [
          { ...BASE, mode, paths, rateHz },
          { ...BASE, mode, paths, rateHz, clockHertz: { gpu: 612e6 } },
        ]),
      ),
    );
    expect(points).toEqual(expected);
  });

  test("a matcher without paths once, half resolution after full, and no search where there is one", () => {
    const points = planPoints({
      ...OPTIONS,
      algorithms: ["sad"],
      disparities: [16, 32],
      paths: [2, 8],
      resolutions: [false, true],
      searches: ["full", "coarseToFine"],
    });
    const sad = { ...BASE, algorithm: "sad" as const, paths: 2 as const };
    expect(points).toEqual(
      [16, 32].flatMap((numDisparities) => [
        { ...sad, numDisparities },
        { ...sad, numDisparities, halfResolution: true },
      ]),
    );
  });

  test("a helper's engine for each mode, size and number of disparities", () => {
    const sizes = [
      { width: 64, height: 48 },
      { width: 32, height: 24 },
    ];
    const own = sizes.flatMap((size) =>
      [16, 32].map((numDisparities) => ({ ...BASE, ...size, numDisparities })),
    );
    const points = planPoints({ ...OPTIONS, foreign: true, sizes, disparities: [16, 32] });
    expect(points).toEqual([...own, ...own.map((point) => ({ ...point, algorithm: "foreign" }))]);
    expect(planPoints({ ...OPTIONS, sizes, disparities: [16, 32] })).toEqual(own);
    // Without a point of this program there is nothing to compare it with.
    expect(() => planPoints({ ...OPTIONS, algorithms: [], foreign: true })).toThrow("a list is empty");
  });

  test("rounds leave out, repeat and add, and end with the whole point", () => {
    const repeated = [{ stage: "match" as const, times: 3 }];
    const points = planPoints({ ...OPTIONS, stageRounds: 2, repeated, added: ["publish"] });
    const round = [
      ...OPTIONAL_STAGES.map((without) => ({ ...BASE, without })),
      { ...BASE, repeat: repeated[0] },
      { ...BASE, added: "publish" },
      BASE,
    ];
    expect(points).toEqual([BASE, ...round, ...round]);
  });

  test("points that are planned several times need as many results", () => {
    const other = { ...BASE, paths: 8 as const };
    const results = (...points: ProfilePoint[]) =>
      points.map((point) => ({ id: pointId(point) })) as PointResult[];
    expect(missingPoints([BASE, other, BASE, BASE], results(BASE))).toEqual([other, BASE, BASE]);
    expect(missingPoints([BASE, other, BASE, BASE], results(BASE, BASE, other))).toEqual([BASE]);
    expect(missingPoints([BASE], results(BASE, BASE, other))).toEqual([]);
    expect(missingPoints([BASE, other], [])).toEqual([BASE, other]);
  });
});

describe("a sweep", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-sweep-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const NOT_YET = { available: false as const, reason: "not measured yet" };
  const done = { id: pointId(BASE) } as PointResult;
  /** Records what a sweep does to the machine; nothing is computed. */
  function createSweep(
    points: readonly ProfilePoint[],
    more: Partial<Record<keyof SweepOptions, unknown>> = {},
  ) {
    const calls: unknown[] = [];
    const idle = [4.5, 4.75];
    const options = {
      folder,
      profile: { idleBefore: NOT_YET, idleAfter: NOT_YET, results: [done] },
      points,
      meter: {
        sensor: { rails: [] },
        measureIdle: async (seconds: number) => {
          calls.push(`idle for ${seconds} s`);
          return idle.shift();
        },
      },
      modes: {
        set: (mode: string) => calls.push(`mode ${mode}`),
        restore: () => calls.push("modes restored"),
      },
      clocks: {
        change: async (clocks: object) => {
          calls.push(clocks);
          return { gpu: 408e6 };
        },
        restore: async () => calls.push("clocks restored"),
      },
      seconds: 20,
      warmUpSeconds: 4,
      idleSeconds: 10,
      onProgress: (progress: object) => calls.push(progress),
      ...more,
    } as unknown as SweepOptions;
    return { calls, options };
  }
  const restored = ["clocks restored", "modes restored"];
  const saved = () => JSON.parse(readFileSync(join(folder, "profile.json"), "utf8"));

  test("of points that are all there measures idle power before and after", async () => {
    const { calls, options } = createSweep([BASE]);
    await sweep(options);
    const step = (step: string) => ({ done: 1, total: 1, secondsLeft: 10, step });
    const idle = "idle for 10 s";
    expect(calls).toEqual([
      step("idle power"),
      idle,
      step("idle power again"),
      idle,
      step("done"),
      ...restored,
    ]);
    expect(saved()).toEqual({ idleBefore: 4.5, idleAfter: 4.75, results: [done] });
    const again = createSweep([BASE], { profile: { idleBefore: 3, idleAfter: NOT_YET, results: [done] } });
    await sweep(again.options);
    expect(again.calls.filter((call) => call === idle)).toHaveLength(1);
    expect(saved()).toMatchObject({ idleBefore: 3, idleAfter: 4.5 });
  });

  test("without a sensor gives its reason", async () => {
    const sensor = { available: false, reason: "no sensor" };
    const { calls, options } = createSweep([BASE], {
      meter: { sensor },
      clocks: undefined,
      modes: undefined,
    });
    await sweep(options);
    expect(calls).toEqual([{ done: 1, total: 1, secondsLeft: 0, step: "done" }]);
    expect(saved()).toMatchObject({ idleBefore: sensor, idleAfter: sensor });
  });

  test("that is interrupted ends before the next point; two seconds are guessed for setting it up", async () => {
    const { calls, options } = createSweep([BASE, BASE, BASE], { signal: AbortSignal.abort() });
    await sweep(options);
    // Two points of 4 s and 20 s, and idle power.
    const first = { done: 1, total: 3, secondsLeft: 2 * (20 + 4 + 2) + 10, step: "idle power" };
    expect(calls).toEqual([first, "idle for 10 s", ...restored]);
    expect(saved()).toEqual({ idleBefore: 4.5, idleAfter: NOT_YET, results: [done] });
  });

  test("ends where heat lowers a clock below its point's, and restores the machine", async () => {
    const point = { ...BASE, mode: "15W", clockHertz: { gpu: 612e6 } };
    const { calls, options } = createSweep([BASE, point]);
    await expect(sweep(options)).rejects.toMatchObject({
      code: "DEVICE_UNAVAILABLE",
      message: "The gpu clock was limited to 612000000 Hz, and the kernel limits it to 408000000 Hz.",
    });
    expect(calls.slice(2)).toEqual([
      { done: 1, total: 2, secondsLeft: 36, step: pointId(point) },
      "mode 15W",
      { gpu: 612e6 },
      ...restored,
    ]);
  });
});

const usual = ["rectify=40", "match=3", "median=40"];
test.each<[Partial<ProfileOptions>, number, string[], string[]]>([
  [{ stageRounds: "0" }, 0, [], []],
  [{ stageRounds: "1" }, 1, [], []],
  [{ stageRounds: "0", stages: true }, 4, usual, ["publish"]],
  [{ stageRounds: "1", stages: true }, 1, usual, ["publish"]],
  [{ stageRounds: "20", stages: true, repeatStages: "median=2" }, 20, ["median=2"], ["publish"]],
  [{ stageRounds: "0", stages: true, config: "c.yaml" }, 4, usual, ["capture", "publish"]],
  [{ stageRounds: "2", repeatStages: "match=2", config: "c.yaml" }, 2, ["match=2"], ["capture"]],
])("the rounds of %j", (options, rounds, repeated, added) => {
  const found = stageRounds(options as ProfileOptions);
  expect({ ...found, repeated: found.repeated.map(({ stage, times }) => `${stage}=${times}`) }).toEqual({
    stageRounds: rounds,
    repeated,
    added,
  });
});

test("20 rounds of stages at most", () => {
  const message = 'expected --stage-rounds to be a number from 0 to 20, got "21"';
  expect(() => stageRounds({ stageRounds: "21" } as ProfileOptions)).toThrow(message);
});
