// SPDX-License-Identifier: Apache-2.0
// The governor against modelled boards (constructed, fitted to none): the bounds that docs/guides/governor.md states.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PairSource } from "../../../camera/index.js";
import { engineAddon, type MatchParameters } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { Governor } from "../../../edge/governor/governor.js";
import { LEAST_SEARCH_GAIN, qualityLadder, relativeWork } from "../../../edge/governor/ladder.js";
import type { GovernorGoal, Observation } from "../../../edge/governor/limits.js";
import { measuredLadder } from "../../../edge/governor/measured.js";
import { buildTable } from "../../../edge/governor/table.js";
import { matchParameters } from "../../../edge/pipeline/parameters.js";
import { openGovernor } from "../../../edge/run/open-governor.js";
import { measuredSearches, searchResults } from "../../../scripts/search-gains.mjs";
import type { BoardModelOptions } from "../../doubles/board-model.js";
import { constructedProfile, MODEL, seeded } from "../../doubles/constructed-profile.js";
import {
  drawRun,
  govern,
  LEVELS,
  profileLevels,
  type Run,
  SGM,
  simulate,
} from "../../doubles/governor-run.js";
import {
  RecordedBoard,
  type RecordedBoardOptions,
  recorded,
  recordedTable,
} from "../../doubles/recorded-board.js";

const changes = (run: Run, from: number, to: number): number =>
  run.seconds.slice(from, to).filter((second) => second.changed).length;

/** Seconds in [from, to) whose true watts are more than `share` over the budget. */
const over = (run: Run, budget: number, from: number, to: number, share = 0): number =>
  run.seconds.slice(from, to).filter((second) => second.watts > budget * (1 + share)).length;

/** Sixty boards that differ in everything the governor cannot know. */
const BOARDS = Array.from({ length: 60 }, (_, i): BoardModelOptions => {
  const random = seeded(1000 + 17 * i);
  for (let k = 0; k < 5; k++) random();
  return {
    seed: i + 1,
    idleWatts: 2 + 8 * random(),
    joulesPerWork: (2 + 5 * random()) * 1e-4,
    workPerSecond: 15_000 + 60_000 * random(),
    sourceHz: random() < 0.5 ? 30 : 60,
    noiseWatts: 0.05 + 0.2 * random(),
    stepWatts: random() < 0.5 ? 0.04 : 0.152,
    wattsPerDegree: 0.04 * random(),
    thermalSeconds: 20 + 100 * random(),
  };
});

/** A budget that the board can keep, somewhere inside its ladder. */
function wattBudget(model: BoardModelOptions, share: number): number {
  const watts = profileLevels(model).map((figures) => figures.watts!);
  const [max, min] = [Math.max(...watts), Math.min(...watts)];
  return Number((min + share * (max - min) + 0.5).toFixed(1));
}

describe("ladder", () => {
  test("every level costs less than the one before, named for people", () => {
    const work = LEVELS.map((level) => relativeWork(level) * (level.rateHz ?? 30));
    for (let i = 1; i < work.length; i++) expect(work[i]!).toBeLessThan(work[i - 1]!);
    expect(LEVELS.map((level) => level.name)).toEqual([
      "8 paths, 128 disparities",
      "4 paths, 128 disparities",
      "2 paths, 128 disparities",
      "4 paths, 128 disparities, half resolution",
      "4 paths, 64 disparities, half resolution",
      "4 paths, 32 disparities, half resolution",
      "4 paths, 32 disparities, half resolution, at most 15 fps",
      "4 paths, 32 disparities, half resolution, at most 7.5 fps",
      "4 paths, 32 disparities, half resolution, at most 3.75 fps",
      "4 paths, 32 disparities, half resolution, at most 1.88 fps",
    ]);
  });

  test("a least frame rate cuts the levels that give frames up, no half resolution where there is none", () => {
    const match = { ...SGM, parameters: { paths: 4 }, numDisparities: 64 };
    const levels = qualityLadder({ match, sourceHz: 30, half: false, minFps: 10 });
    expect(levels.map((level) => level.rateHz)).toEqual([undefined, undefined, undefined, 15]);
    expect(levels.some((level) => level.halfResolution)).toBe(false);
  });

  test("a configured half resolution stays; cbca has no paths to reduce", () => {
    const half = { ...SGM, parameters: { paths: 2 }, halfResolution: true };
    expect(qualityLadder({ match: half, sourceHz: 4, half: true }).map((level) => level.name)).toEqual([
      "2 paths, 128 disparities, half resolution",
      "2 paths, 64 disparities, half resolution",
      "2 paths, 32 disparities, half resolution",
      "2 paths, 32 disparities, half resolution, at most 2 fps",
      "2 paths, 32 disparities, half resolution, at most 1 fps",
    ]);
    const cbca = { algorithm: "cbca", parameters: {}, numDisparities: 64, halfResolution: false } as const;
    expect(qualityLadder({ match: cbca, sourceHz: 2, half: true }).map((level) => level.name)).toEqual([
      "64 disparities",
      "64 disparities, half resolution",
      "32 disparities, half resolution",
      "32 disparities, half resolution, at most 1 fps",
    ]);
  });

  test("power modes come last of all, by name, and only where they are named", () => {
    const match = { ...SGM, parameters: { paths: 2 }, numDisparities: 32 };
    const levels = qualityLadder({ match, sourceHz: 2, half: false, modes: ["15W", "10W"] });
    expect(levels.map((level) => level.name)).toEqual([
      "2 paths, 32 disparities",
      "2 paths, 32 disparities, at most 1 fps",
      "2 paths, 32 disparities, at most 1 fps, power mode 15W",
      "2 paths, 32 disparities, at most 1 fps, power mode 10W",
    ]);
    expect(LEVELS.some((level) => level.mode !== undefined)).toBe(false);
  });
});

const configWith = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;

describe("a step to coarse-to-fine search", () => {
  const root = join(import.meta.dirname, "../../..");
  const { chooseSearch } = engineAddon();
  const cases = measuredSearches(root, searchResults(root));
  type Case = (typeof cases)[number];

  /** The run's engine on the machine of a measured case, by the measured table. */
  const engineOn = (device: Case) => ({
    tryOut: (match: MatchParameters) => ({
      search: chooseSearch(match, device, device) ?? { available: false },
    }),
  });
  const levelsOn = (device: Case, ...settings: string[]) => {
    const match = matchParameters(
      configWith(`match.numDisparities=${device.numDisparities}`, ...settings).match,
    );
    const parts = { engine: engineOn(device) } as unknown as Parameters<typeof openGovernor>[1];
    const config = configWith(
      `match.numDisparities=${device.numDisparities}`,
      ...settings,
      "power.budgetWatts=5",
    );
    const source = { description: { ...device, rateHz: 30 } } as unknown as PairSource;
    const loop = openGovernor(config, parts, { source, onChange: () => {}, onProblem: () => {} })!;
    const plain = qualityLadder({ match, sourceHz: 30, half: true });
    return { levels: loop.levels, plain };
  };

  test("comes first, exactly where the table says that it gains, and holds for all lower levels", () => {
    let taken = 0;
    for (const one of cases) {
      const { levels, plain } = levelsOn(one, `match.sgm.paths=${one.paths}`);
      const gains = one.gain >= LEAST_SEARCH_GAIN;
      const searches = levels.map(({ parameters }) => parameters.search);
      expect(searches, JSON.stringify(one)).toEqual(
        gains ? [undefined, ...plain.map(() => "auto")] : plain.map(() => undefined),
      );
      const names = levels.map(({ name }) => name.replace(", search auto", ""));
      expect(names).toEqual(
        gains ? [plain[0]!.name, ...plain.map(({ name }) => name)] : plain.map(({ name }) => name),
      );
      const work = levels.map((level) => relativeWork(level) * (level.rateHz ?? 30));
      expect(work).toEqual(work.toSorted((a, b) => b - a));
      expect(new Set(work).size).toBe(work.length);
      if (gains) taken++;
    }
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(cases.length);
  });

  test("waits for 4 paths if 8 are set, and is not added to a search that is already auto or coarseToFine", () => {
    const best = cases.toSorted((a, b) => b.gain - a.gain)[0]!;
    const names = levelsOn(best, "match.sgm.paths=8").levels.map(({ name }) => name);
    const range = `${best.numDisparities} disparities`;
    expect(names.slice(0, 4)).toEqual([
      `8 paths, ${range}`,
      `4 paths, ${range}`,
      `4 paths, search auto, ${range}`,
      `2 paths, search auto, ${range}`,
    ]);
    for (const search of ["auto", "coarseToFine"]) {
      const { levels, plain } = levelsOn(best, `match.sgm.search=${search}`);
      expect(levels).toEqual(plain);
    }
  });

  test("takes its watts from runs of either search, the level above from those of the full one", () => {
    const profile = constructedProfile();
    const size = { width: 640, height: 480, rateHz: 15, search: "full" };
    const match = { ...SGM, parameters: { paths: 4 } };
    const levels = qualityLadder({ match, sourceHz: 15, half: false, takesCoarseToFine: () => true }).slice(
      0,
      2,
    );
    const full = profile.results.find(({ id }) => id === "sgm-640x480-d128-p4-max")!;
    const faster = structuredClone(full);
    faster.point.search = "coarseToFine";
    faster.fps *= 2;
    if (faster.power.available) faster.power.joulesPerFrameNet = 0.01;
    profile.results.push(faster);
    const [above, step] = buildTable(profile, levels, size);
    expect([above!.capacityFps, step!.capacityFps]).toEqual([full.fps, faster.fps]);
    expect(step!.watts!).toBeCloseTo(MODEL.idleWatts + 0.01 * 15, 9);
    expect(above!.watts!).toBeGreaterThan(step!.watts!);
    // A profile in which the step saves nothing leaves it out.
    profile.results.splice(-1, 1, { ...structuredClone(full), point: faster.point });
    const { levels: kept } = measuredLadder(levels, {
      profile,
      camera: size,
      goal: { budgetWatts: 10 },
      clocks: [],
    });
    expect(kept.map(({ name }) => name)).toEqual([levels[0]!.name]);
  });
});

describe("a watt budget", () => {
  test.each(BOARDS.map((model, i) => [i, model] as const))(
    "board %i, learning: settles and stays",
    (_, model) => {
      for (const share of [0.25, 0.6]) {
        const budget = wattBudget(model, share);
        const run = simulate(model, { budgetWatts: budget }, 1800);
        // Learning may walk the ladder one level at a time, five seconds each.
        const settled = 5 * LEVELS.length;
        expect(over(run, budget, settled, 1800), "seconds over the budget").toBeLessThanOrEqual(
          0.015 * (1800 - settled),
        );
        expect(over(run, budget, settled, 1800, 0.15), "seconds far over").toBeLessThanOrEqual(6);
        expect(changes(run, settled, 1800), "changes").toBeLessThanOrEqual(10);
        expect(changes(run, 1200, 1800), "changes in the last ten minutes").toBeLessThanOrEqual(4);
      }
    },
  );

  test.each(BOARDS.slice(0, 20).map((model, i) => [i, model] as const))(
    "board %i, with a profile: right at once, best level that fits",
    (_, model) => {
      const budget = wattBudget(model, 0.5);
      const table = profileLevels(model);
      const run = simulate(model, { budgetWatts: budget }, 900, table);
      const best = table.findIndex((figures) => figures.watts! <= 0.97 * budget);
      expect(run.seconds[0]!.level).toBe(best);
      expect(over(run, budget, 0, 900)).toBeLessThanOrEqual(9);
      expect(run.seconds.at(-1)!.level).toBeLessThanOrEqual(best + 1);
    },
  );

  test.each(BOARDS.slice(0, 20).map((model, i) => [i, model] as const))(
    "board %i: somebody else's load comes and goes",
    (_, model) => {
      const budget = wattBudget(model, 0.8);
      const load = 0.3 * (budget - (model.idleWatts ?? 4));
      const otherWatts = (t: number): number => (t >= 300 && t < 600 ? load : 0);
      const run = simulate({ ...model, otherWatts }, { budgetWatts: budget }, 1200, profileLevels(model));
      // With a profile the fall is one step: three readings to confirm and one that the step takes.
      expect(over(run, budget, 306, 600)).toBeLessThanOrEqual(6);
      // When the load has gone, quality comes back automatically.
      expect(run.seconds[1199]!.level).toBeLessThanOrEqual(run.seconds[299]!.level + 1);
      expect(changes(run, 0, 1200)).toBeLessThanOrEqual(12);
    },
  );

  test("a budget below the lowest level is reported, not hidden", () => {
    const run = simulate({}, { budgetWatts: 3 }, 120);
    expect(run.seconds.at(-1)).toMatchObject({ level: LEVELS.length - 1 });
    expect(run.seconds.at(-1)!.reason).toContain("there is no lower level");
  });
});

describe("a least frame rate", () => {
  test.each(BOARDS.slice(0, 20).map((model, i) => [i, model] as const))(
    "board %i: the best level that is fast enough",
    (_, model) => {
      const source = { ...model, sourceHz: 60 };
      const run = simulate(source, { minFps: 25 }, 600);
      const capacity = LEVELS.map((level) =>
        level.rateHz === undefined ? (model.workPerSecond ?? 0) / relativeWork(level) : 0,
      );
      const best = capacity.findIndex((fps) => fps >= 25);
      const last = run.seconds.at(-1)!;
      expect(last.fps).toBeGreaterThan(24);
      expect(last.level - best).toBeLessThanOrEqual(1);
      expect(changes(run, 30, 600)).toBeLessThanOrEqual(6);
    },
  );

  test("a source that is too slow is not the engine's fault", () => {
    const run = simulate({ sourceHz: 15 }, { minFps: 25 }, 60);
    expect(run.seconds.at(-1)).toMatchObject({ level: 0, changed: false });
    expect(run.seconds.at(-1)!.reason).toContain("the source, not the engine");
  });

  test("with both goals the budget comes first", () => {
    const run = simulate({}, { budgetWatts: 5.2, minFps: 25 }, 300);
    expect(over(run, 5.2, 60, 300)).toBeLessThanOrEqual(3);
  });
});

describe("a recorded board: an H200's profile and the swings of its power", () => {
  const SOURCE_HZ = 240;
  const ladder = qualityLadder({ match: SGM, sourceHz: SOURCE_HZ, half: false });
  const whole = ladder.filter((level) => level.rateHz === undefined && recorded(level) !== undefined);
  // The profile ends at 64 disparities: the levels of fewer frames are those of its last one.
  const slower = ladder
    .filter((level) => level.rateHz !== undefined)
    .map((level) => ({ ...level, numDisparities: 64, name: level.name.replace("32", "64") }));
  const levels = [...whole, ...slower];
  const table = recordedTable(levels, SOURCE_HZ);
  const load = (t: number): number => (t >= 300 && t < 600 ? 25 : 0);
  const governed = (more: Partial<RecordedBoardOptions>, budgetWatts: number, profile = table) =>
    govern(new RecordedBoard({ sourceHz: SOURCE_HZ, ...more }), levels, { budgetWatts }, 2400, profile);

  test("visits levels that were measured, and they draw less and less", () => {
    expect(whole.map((level) => level.name)).toEqual([
      "8 paths, 128 disparities",
      "4 paths, 128 disparities",
      "2 paths, 128 disparities",
      "2 paths, 64 disparities",
    ]);
    const watts = table.map((figures) => figures.watts!);
    for (let i = 1; i < watts.length; i++) expect(watts[i]!).toBeLessThan(watts[i - 1]!);
  });

  test.each([130, 140, 150, 160, 170, 180, 190])(
    "%i W with its profile: the best level that fits from the first second, and no change after it",
    (budget) => {
      const run = governed({}, budget);
      const best = table.findIndex((figures) => figures.watts! <= 0.97 * budget);
      expect(run.seconds[0]!.level).toBe(best);
      expect(over(run, budget, 0, 1200)).toBe(0);
      expect(changes(run, 0, 1200)).toBe(0);
    },
  );

  test.each([140, 150, 160, 170, 180])("%i W, learning: settles within 5 s a level, then holds", (budget) => {
    const run = governed({}, budget, []);
    const settled = 5 * levels.length;
    // Without a margin that a table gives, it may hold a level whose mean is just inside: swings then pass the budget.
    expect(over(run, budget, settled, 1200, 0.01)).toBeLessThanOrEqual(0.015 * (1200 - settled));
    expect(changes(run, settled, 1200)).toBeLessThanOrEqual(10);
    expect(changes(run, 600, 1200)).toBeLessThanOrEqual(4);
  });

  test.each([150, 160, 170])(
    "%i W: a step load of 25 W is over the budget for 4 s at most, and goes again",
    (budget) => {
      const run = governed({ otherWatts: load }, budget);
      // Overshoot: never more than the load itself, and never after the first step down has settled.
      expect(Math.max(...run.seconds.map((second) => second.watts))).toBeLessThanOrEqual(budget + 25);
      expect(over(run, budget, 300, 600)).toBeLessThanOrEqual(4);
      expect(over(run, budget, 304, 600)).toBe(0);
      expect(run.seconds[1199]!.level).toBeLessThanOrEqual(run.seconds[299]!.level + 1);
      expect(run.seconds[2399]!.level).toBe(run.seconds[299]!.level);
      expect(changes(run, 0, 1200)).toBeLessThanOrEqual(6);
    },
  );

  test("its sensor lost under load, and throttling: within the budget afterwards, nothing risked meanwhile", () => {
    const sensorWorks = (t: number): boolean => t < 310 || t >= 900;
    const lost = governed({ otherWatts: load, sensorWorks }, 160);
    const blind = lost.seconds.slice(311, 899).map((second) => second.level);
    expect(Math.min(...blind)).toBeGreaterThanOrEqual(lost.seconds[309]!.level);
    expect(over(lost, 160, 305, 1200)).toBe(0);
    const throttled = governed({ throttles: (t) => t === 400 || t === 500 }, 190);
    expect(throttled.seconds[400]!.level).toBeGreaterThan(throttled.seconds[398]!.level);
    expect(changes(throttled, 0, 1200)).toBeLessThanOrEqual(6);
  });

  test("the plot in the documentation", async () => {
    const goal = { budgetWatts: 160 };
    const run = governed({ otherWatts: load }, goal.budgetWatts);
    const title =
      "Recorded H200 (GPU watts), 240 Hz source, with its profile: another load of 25 W from 300 s to 600 s";
    const file = join(import.meta.dirname, "../../../docs/guides/governor-recorded.svg");
    await expect(drawRun(run, goal, title)).toMatchFileSnapshot(file);
  });
});

describe("limits by hand", () => {
  const STEPS = [400, 200, 100].map((work) => ({
    name: `work ${work}`,
    work,
    rateHz: undefined,
    mode: undefined,
  }));
  type Watts = number | { available: false; reason: string };
  const GONE: Watts = { available: false, reason: "gone" };

  function byHand(goal: GovernorGoal, watts: number[] = [], start?: number) {
    const governor = new Governor(
      STEPS,
      goal,
      watts.map((one) => ({ watts: one })),
      start,
    );
    /** Returns the level after a reading at this second. */
    const see = (second: number, drawn: Watts, rest: Partial<Observation> = {}) =>
      governor.observe({
        nowMs: 1000 * second,
        watts: drawn,
        fps: 30,
        capacityFps: undefined,
        throttled: false,
        ...rest,
      }).level;
    /** Sees the same every second until the level changes. Returns that second. */
    const changeAfter = (second: number, drawn: Watts, rest: Partial<Observation> = {}, limit = 3000) => {
      const { level } = governor;
      for (let at = second; at < second + limit; at++) if (see(at, drawn, rest) !== level) return at;
      return undefined;
    };
    return { governor, see, changeAfter };
  }

  test.each([
    [[], undefined, 0],
    [[9.7], undefined, 0],
    [[9.71, 9.7, 6], undefined, 1],
    [[12, 11, 10], undefined, 0],
    [[9, 8, 7], 2, 2],
  ])("with a table of %j W and the start %s it begins at level %i", (table, start, level) => {
    expect(byHand({ budgetWatts: 10 }, table, start).governor.level).toBe(level);
  });

  test.each([
    [[11, 11], 0],
    [[11, 11, 11], 1],
    [[10, 10, 10], 0],
    [[11, 9.9, 9.5], 0],
    [[11, 9.5, 10.2], 1],
    [[10.1, 9, 10.1], 0],
    [[11.5], 0],
    [[11.51], 1],
  ])("readings of %j W with a budget of 10 W end at level %i", (readings, level) => {
    const { see } = byHand({ budgetWatts: 10 });
    expect(readings.map((watts, second) => see(second, watts)).at(-1)).toBe(level);
  });

  test.each([
    [[12.7, 9.7, 6], 1],
    [[12.7, 9.71, 6], 2],
    [[12.7, 12, 11], 2],
  ])("with a table of %j W it goes down to level %i, which fits or is the lowest", (table, level) => {
    expect(byHand({ budgetWatts: 10 }, table, 0).see(0, 12.7)).toBe(level);
  });

  test("readings of the first 1.5 s after a change do not count", () => {
    const { see, governor } = byHand({ budgetWatts: 10 });
    expect([see(0, 12), see(1.499, 12), see(1.5, 12)]).toEqual([1, 1, 2]);
    expect([see(3, 12), governor.changes]).toEqual([2, 2]);
    expect(governor.reason).toBe("12.00 W is over the budget of 10 W, and there is no lower level");
  });

  test("it goes up after ten seconds, to the best level that is known to fit", () => {
    expect(byHand({ budgetWatts: 10 }, [9.7, 7, 5], 2).changeAfter(0, 5)).toBe(10);
    const { changeAfter, governor } = byHand({ budgetWatts: 10 }, [9.71, 7, 5], 2);
    changeAfter(0, 5);
    expect([governor.level, governor.reason]).toEqual([1, "up to work 200: 5.00 W of the budget are free"]);
    expect(changeAfter(20, 7)).toBeUndefined();
    expect(governor.reason).toBe("holding: 7.00 W of 10 W");
  });

  test("of unknown levels it tries the next one, where 12 % are free", () => {
    expect(byHand({ budgetWatts: 10 }, [], 2).changeAfter(0, 8.81)).toBeUndefined();
    const { changeAfter, governor } = byHand({ budgetWatts: 10 }, [], 2);
    expect([changeAfter(0, 8.8), governor.level]).toEqual([10, 1]);
    expect(governor.reason).toMatch(/1\.20 W of the budget are free, trying$/);
  });

  /** Is fast enough for the level above, by the work of both, then too slow there. Returns both seconds. */
  const failedTry = ({ changeAfter, see }: ReturnType<typeof byHand>, from: number, laterSeconds: number) => {
    const up = changeAfter(from, 5, { fps: 90 })!;
    const left = up + laterSeconds;
    const slow = { fps: 20, capacityFps: 20 };
    expect([see(left - 2, 5, slow), see(left - 1, 5, slow), see(left, 5, slow)]).toEqual([0, 0, 1]);
    return { up, left };
  };

  test("a level that did not last ten minutes is tried again after twice the time", () => {
    const hand = byHand({ minFps: 25 }, [], 1);
    hand.see(0, 5, { fps: 60, capacityFps: 60 });
    const first = failedTry(hand, 1, 4);
    expect(first.up).toBe(10);
    const second = failedTry(hand, first.left + 1, 599);
    expect(second.up - first.left).toBe(20);
    const third = failedTry(hand, second.left + 1, 600);
    expect(third.up - second.left).toBe(40);
    expect(hand.changeAfter(third.left + 1, 5, { fps: 90 })! - third.left).toBe(10);
  });

  test("after a throttle it waits a minute, and the lowest level has nowhere to go", () => {
    const { see, changeAfter, governor } = byHand({ budgetWatts: 10 }, [9, 7, 5], 0);
    expect(see(0, 9, { throttled: true })).toBe(1);
    expect(governor.reason).toBe("down to work 200: the machine throttled itself");
    expect(changeAfter(1, 7)).toBe(60);
    const lowest = byHand({ budgetWatts: 10 }, [], 2);
    expect([lowest.see(0, 9, { throttled: true }), lowest.governor.changes]).toEqual([2, 0]);
  });

  test.each([
    [[], 0, 2],
    [[10, 9, 6], 0, undefined],
    [[10.01, 9.7, 6], 0, 1],
    [[12, 9.71, 6], 0, 2],
    [[12, 11], 1, 2],
    [[12, 11], 2, undefined],
  ])("without readings for 5 s, a table of %j W leads from level %i to %s", (table, start, level) => {
    const { see, changeAfter, governor } = byHand({ budgetWatts: 10 }, table, start);
    expect(see(-1, GONE)).toBe(start);
    expect(see(3.999, GONE)).toBe(start);
    expect(changeAfter(4, GONE, {}, 60)).toBe(level === undefined ? undefined : 4);
    expect(governor.level).toBe(level ?? start);
    expect(governor.reason).toContain("watts are unavailable (gone)");
  });

  test("too few frames: down if fewer disparities help, not if the source is slow or the rate is limited", () => {
    const slow = (fps: number, capacityFps: number, minFps = 25) => {
      const { see, governor } = byHand({ minFps });
      for (let second = 0; second < 3; second++) see(second, 5, { fps, capacityFps });
      return [governor.level, governor.reason];
    };
    expect(slow(24.25, 20)[0]).toBe(0);
    expect(slow(24.24, 20)).toEqual([1, "down to work 200: 24.2 fps is less than 25"]);
    expect(slow(20, 12.5)[0]).toBe(1);
    expect(slow(20, 12.4)[0]).toBe(2);
    expect(slow(10, 5)[0]).toBe(2);
    expect(slow(20, 27.5)[0]).toBe(1);
    expect(slow(20, 27.51)).toEqual([
      0,
      "20.0 fps is less than 25, but the source, not the engine, is the limit",
    ]);
    const lowest = byHand({ minFps: 25 }, [], 2);
    for (let second = 0; second < 3; second++) lowest.see(second, 5, { fps: 9, capacityFps: 9 });
    expect(lowest.governor.reason).toBe("9.0 fps is less than 25, and there is no faster level");
  });

  test("a faster level must be predicted to be 6 % faster than asked; levels that limit the rate are not", () => {
    expect(byHand({ minFps: 25 }, [], 1).changeAfter(0, 5, { fps: 52.9 })).toBeUndefined();
    expect(byHand({ minFps: 25 }, [], 1).changeAfter(0, 5, { fps: 53 })).toBe(10);
    const ladder = [
      ...STEPS.slice(0, 2),
      { ...STEPS[2]!, rateHz: 25 },
      { ...STEPS[2]!, rateHz: 15, mode: "10W" },
    ];
    const at = (start: number, fps: number) => {
      const governor = new Governor(ladder, { minFps: 25 }, [], start);
      const decisions = Array.from({ length: 11 }, (_, second) =>
        governor.observe({ nowMs: 1000 * second, watts: 5, fps, capacityFps: fps, throttled: false }),
      );
      return decisions.find(({ changed }) => changed) ?? decisions.at(-1);
    };
    expect(at(0, 5)).toEqual({
      level: 1,
      changed: true,
      reason: "down to work 200: 5.0 fps is less than 25",
    });
    expect(at(1, 5)?.reason).toBe("5.0 fps is less than 25, and there is no faster level");
    expect(at(2, 5)?.reason).toBe("5.0 fps is less than 25, and there is no faster level");
    // Its own limit is why it is slow; two levels above is fast enough.
    expect(at(3, 15)).toEqual({ level: 3, changed: false, reason: "holding: 15.0 fps of at least 25" });
    expect(at(3, 30)).toEqual({ level: 2, changed: true, reason: "up to work 100: there is speed to spare" });
    expect(at(3, 60)).toEqual({ level: 1, changed: true, reason: "up to work 200: there is speed to spare" });
    const both = byHand({ budgetWatts: 10, minFps: 25 });
    both.see(0, 5);
    expect(both.governor.reason).toBe("holding: 5.00 W of 10 W, 30.0 fps of at least 25");
  });

  test("what a level drew more when it was warm is held against it, halved every ten minutes", () => {
    const { see, changeAfter } = byHand({ budgetWatts: 10 }, [9, 5], 0);
    for (let second = 0; second < 3; second++) see(second, 9);
    for (let second = 3; second < 5; second++) expect(see(second, 10.4)).toBe(0);
    expect(see(5, 10.4)).toBe(1);
    // The table's levels moved together by 1.3622 W: arriving at level 1 is no surprise.
    see(7, 6.3622);
    // 5.5 W and 4 W more for level 0, and 0.5 W for its warmth: 600 s x log2(0.5 / 0.2) until 9.7 W.
    expect(changeAfter(8, 5.5)).toBe(5 + 794);
  });
});

describe("trouble", () => {
  test("sensor lost: nothing is risked, and nothing changes where the level was within the budget", () => {
    const sensorWorks = (t: number): boolean => t < 200 || t >= 400;
    const run = simulate({ sensorWorks }, { budgetWatts: 12 }, 600);
    expect(changes(run, 200, 400)).toBe(0);
    expect(run.seconds[300]!.reason).toBe("holding: watts are unavailable (VDD_IN: the device was removed)");
    expect(over(run, 12, 60, 600)).toBeLessThanOrEqual(6);
  });

  test("sensor never there: down to the last level within seconds, with the reason", () => {
    const run = simulate({ sensorWorks: () => false }, { budgetWatts: 12 }, 60);
    expect(run.seconds.findIndex((second) => second.level === LEVELS.length - 1)).toBeLessThanOrEqual(8);
    expect(run.governor.reason).toContain("unavailable");
  });

  test("throttling: down at once, and tries come further and further apart", () => {
    const run = simulate({ throttleCelsius: 58, thermalSeconds: 60 }, { budgetWatts: 14 }, 7200);
    const at = run.seconds.flatMap((second, t) =>
      second.reason.includes("throttled itself") && second.changed ? [t] : [],
    );
    expect(at.length).toBeGreaterThan(2);
    expect(at.length).toBeLessThanOrEqual(8);
    expect(at.at(-1)! - at.at(-2)!).toBeGreaterThan(4 * (at[1]! - at[0]!));
    const gaps = at.slice(1).map((t, i) => t - at[i]!);
    for (let i = 1; i < gaps.length; i++) expect(gaps[i]!).toBeGreaterThanOrEqual(gaps[i - 1]!);
  });

  test("one wild reading below 15 % over changes nothing", () => {
    const governor = new Governor(LEVELS, { budgetWatts: 10 });
    const see = (t: number, watts: number): Observation => ({
      nowMs: 1000 * t,
      watts,
      fps: 30,
      capacityFps: 60,
      throttled: false,
    });
    for (let t = 0; t < 20; t++) expect(governor.observe(see(t, t === 10 ? 11.4 : 9.6)).changed).toBe(false);
  });
});

describe("plots for the documentation", () => {
  const docs = (name: string): string => join(import.meta.dirname, "../../../docs/guides", name);

  test("a load that comes and goes, learning", async () => {
    const goal = { budgetWatts: 12 };
    const run = simulate({ otherWatts: (t) => (t >= 240 && t < 480 ? 2.5 : 0) }, goal, 720);
    const title = "Modelled board, no profile: another load of 2.5 W from 240 s to 480 s";
    await expect(drawRun(run, goal, title)).toMatchFileSnapshot(docs("governor-load.svg"));
  });

  test("throttling and a lost sensor", async () => {
    const goal = { budgetWatts: 14 };
    const model = {
      throttleCelsius: 58,
      thermalSeconds: 60,
      sensorWorks: (t: number) => t < 900 || t >= 1100,
    };
    const run = simulate(model, goal, 1800);
    const title = "Modelled board that throttles at 58 C; its sensor is lost from 900 s to 1100 s";
    await expect(drawRun(run, goal, title)).toMatchFileSnapshot(docs("governor-trouble.svg"));
  });
});
