// SPDX-License-Identifier: Apache-2.0
// The governor's loop and table on a clock that the test moves: observations, levels applied, limits taken back.
import { readFileSync, rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EngineOptions, NativeEngine } from "../../../cuda/index.js";
import { Governor } from "../../../edge/governor/governor.js";
import { qualityLadder } from "../../../edge/governor/ladder.js";
import type { GovernorGoal, Observation } from "../../../edge/governor/limits.js";
import { GovernorLoop, type GovernorLoopOptions } from "../../../edge/governor/loop.js";
import { measuredLadder, profiledClocks } from "../../../edge/governor/measured.js";
import { RateGate } from "../../../edge/governor/rate-gate.js";
import { buildTable } from "../../../edge/governor/table.js";
import { AdjustableEngine } from "../../../edge/pipeline/adjustable-engine.js";
import { ClockLimits } from "../../../edge/profile/clock-limits.js";
import { type ClockTargets, Meter } from "../../../power/index.js";
import { constructedProfile, MODEL } from "../../doubles/constructed-profile.js";
import { HandEngine, HandSource } from "../../doubles/pipeline.js";
import { SysfsTree } from "../../doubles/sysfs-tree.js";

const MATCH = {
  algorithm: "sgm",
  halfResolution: false,
  minDisparity: 0,
  numDisparities: 128,
  parameters: { paths: 8 },
} as const;
const ladder = (sourceHz: number) => qualityLadder({ match: MATCH, sourceHz, half: false });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A loop whose governor decides as scripted, on a source that delivers by hand. */
function scripted(
  levels: ReturnType<typeof ladder>,
  stageMilliseconds: number[],
  more: Partial<GovernorLoopOptions> = {},
) {
  const observations: Observation[] = [];
  const governor = {
    levels,
    level: 0,
    goal: { budgetWatts: 10, minFps: undefined },
    reason: "as the test says",
    changes: 0,
    next: 0,
    observe(now: Observation) {
      observations.push(now);
      const changed = this.next !== this.level;
      this.level = this.next;
      return { level: this.level, changed, reason: `to ${this.level}` };
    },
  };
  const engine = new AdjustableEngine(
    { match: MATCH, backend: "auto" } as unknown as EngineOptions,
    { onProblem: () => {} },
    () => Object.assign(new HandEngine(1), { stageMilliseconds }) as unknown as NativeEngine,
  );
  const source = new HandSource();
  const passed: number[] = [];
  let dropped = 0;
  const gate = new RateGate(source, () => dropped++);
  gate.start({
    onPair: (pair) => {
      passed.push(pair.left.sequence);
      pair.release();
    },
    onDegraded: () => {},
    onEnd: () => {},
    onError: () => {},
  });
  const frames = { count: 0 };
  const meter = new Meter({ sensor: { available: false, reason: "no sensor" } });
  const loop = new GovernorLoop({
    governor: governor as unknown as Governor,
    engine,
    gate,
    meter,
    frames: () => frames.count,
    onChange: () => {},
    ...more,
  });
  /** Delivers ten pairs a second for a second. @returns how many the gate lets through */
  const second = () => {
    const before = passed.length;
    for (let i = 0; i < 10; i++) {
      source.deliver();
      vi.advanceTimersByTime(100);
    }
    return passed.length - before;
  };
  return { loop, governor, observations, frames, source, second, dropped: () => dropped };
}

describe("the loop", () => {
  test("observes the measured rate, and the rate that the engine could reach", async () => {
    const { loop, observations, frames } = scripted(ladder(30), [Number.NaN, 6, 14]);
    loop.start();
    for (const count of [12, 12, 40]) {
      frames.count += count;
      vi.advanceTimersByTime(1000);
    }
    await loop.stop();
    frames.count += 100;
    vi.advanceTimersByTime(5000);
    expect(observations.map(({ fps }) => fps)).toEqual([12, 12, 40]);
    // 20 ms of work in a frame.
    expect(observations.map(({ capacityFps }) => capacityFps)).toEqual([50, 50, 50]);
  });

  test("an engine that has computed nothing has no known capacity", async () => {
    const { loop, observations } = scripted(ladder(30), [Number.NaN]);
    loop.start();
    vi.advanceTimersByTime(1000);
    await loop.stop();
    expect(observations[0]!.capacityFps).toBeUndefined();
  });

  test("limits the source to its level, and takes the limit back when it stops", async () => {
    const levels = ladder(10);
    const slow = levels.findIndex(({ rateHz }) => rateHz === 5);
    const { loop, governor, second, source, dropped } = scripted(levels, [1]);
    loop.start();
    expect(second()).toBe(10);
    governor.next = slow;
    second();
    expect(second()).toBe(5);
    await loop.stop();
    expect(second()).toBe(10);
    expect(source.released).toHaveLength(40);
    expect(dropped()).toBeGreaterThanOrEqual(5);
  });
});

describe("a loop with a meter", () => {
  const levels = ladder(30).slice(0, 3);

  test("observes the clock, the watts and a throttled board, and reports the whole state", async () => {
    let power: object = { available: false, reason: "no sensor" };
    const windows: number[] = [];
    const recent = (seconds: number) => {
      windows.push(seconds);
      return power as never;
    };
    const reasons: string[] = [];
    const { loop, governor, observations, frames } = scripted(levels, [0, Number.NaN, 8], {
      meter: { recent },
      onChange: (reason) => reasons.push(reason),
    });
    vi.advanceTimersByTime(5000);
    frames.count = 70;
    loop.start();
    const startMs = performance.now();
    frames.count += 30;
    vi.advanceTimersByTime(1000);
    power = { available: true, watts: 7, changed: ["clock gpu", "throttle cpu 2 times"] };
    governor.next = 1;
    vi.advanceTimersByTime(1000);
    power = { available: true, watts: 6, changed: ["no throttle "] };
    loop.look();
    const both = { capacityFps: 125, throttled: false };
    expect(observations).toEqual([
      { ...both, nowMs: startMs + 1000, watts: { available: false, reason: "no sensor" }, fps: 30 },
      { ...both, nowMs: startMs + 2000, watts: 7, fps: 0, throttled: true },
      { ...both, nowMs: startMs + 2000, watts: 6, fps: 0 },
    ]);
    expect(windows).toEqual([1.05, 1.05, 1.05]);
    expect(reasons).toEqual(["to 1"]);
    expect(loop.levels).toBe(levels);
    expect(loop.figures).toEqual({
      available: true,
      level: 1,
      levels: 3,
      name: levels[1]!.name,
      budgetWatts: 10,
      minFps: null,
      reason: "as the test says",
      changes: 0,
      clocks: { available: false, reason: "power.clocks is off" },
    });
    await loop.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("seconds with a sleep are not observed", async () => {
    const activity = { computing: true, wakes: 4 };
    const { loop, observations, frames } = scripted(levels, [1], { activity: () => activity });
    const second = (count: number) => {
      frames.count += count;
      vi.advanceTimersByTime(1000);
    };
    loop.start();
    second(10);
    activity.computing = false;
    second(20);
    // Awake again in this second, so a part of it was a sleep.
    activity.computing = true;
    second(30);
    second(40);
    activity.wakes++;
    second(50);
    second(60);
    await loop.stop();
    expect(observations.map(({ fps }) => fps)).toEqual([10, 40, 60]);
  });

  test("a mode that is refused is reported once and not asked for again; the end restores the first one", async () => {
    const asked: (string | undefined)[] = [];
    const calls: string[] = [];
    const modes = {
      change: (mode: string | undefined) => {
        asked.push(mode);
        return mode === undefined ? Promise.resolve() : Promise.reject(new Error("only root"));
      },
      settled: async () => void calls.push("settled"),
      restore: () => {
        calls.push("restore");
        throw new Error("stays");
      },
    };
    const problems: string[] = [];
    const ladderWithMode = levels.map((level, index) => (index === 1 ? { ...level, mode: "10W" } : level));
    const more = { modes: modes as never, onProblem: ({ message }: Error) => problems.push(message) };
    const { loop, governor } = scripted(ladderWithMode, [1], more);
    loop.start();
    governor.next = 1;
    vi.advanceTimersByTime(1000);
    loop.look();
    await vi.waitFor(() => expect(problems).toEqual(["only root"]));
    governor.next = 2;
    vi.advanceTimersByTime(1000);
    await loop.stop();
    expect(asked).toEqual([undefined, "10W"]);
    expect(problems).toEqual(["only root", "stays"]);
    expect(calls).toEqual(["restore"]);
    const other = scripted(levels, [1], { modes: { ...modes, restore: () => {} } as never });
    other.loop.start();
    await other.loop.stop();
    expect(calls).toEqual(["restore", "settled"]);
  });
});

describe("the table of a profile", () => {
  test("watts of a level that takes in fewer frames are the watts at its rate", () => {
    const profile = constructedProfile();
    const measured = profile.results.find(({ id }) => id === "sgm-640x480-d64-p2-max")!;
    if (!measured.power.available) throw new Error("constructed without watts");
    const net = measured.power.joulesPerFrameNet as number;
    const [whole] = ladder(15);
    const level = { ...whole!, parameters: { paths: 2 }, numDisparities: 64 };
    const rates = [undefined, 7.5, 2];
    const table = buildTable(
      profile,
      rates.map((rateHz) => ({ ...level, rateHz })),
      { width: 640, height: 480, rateHz: 15 },
    );
    for (const [index, rateHz] of rates.entries())
      expect(table[index]!.watts, `${rateHz} fps`).toBeCloseTo(MODEL.idleWatts + net * (rateHz ?? 15), 9);
    expect(table.map(({ capacityFps }) => capacityFps)).toEqual(rates.map(() => measured.fps));
  });
});

describe("the ladder of a profile with clocks", () => {
  const clocks = [{ gpu: 714e6 }, { gpu: 510e6 }, { gpu: 204e6 }];
  const profile = constructedProfile({ clocks: [...clocks].reverse() });
  const camera = { width: 640, height: 480, rateHz: 15 };
  const build = (
    goal: GovernorGoal,
    allowed: readonly ClockTargets[] = profiledClocks(profile),
    measured = profile,
  ) => measuredLadder(ladder(15), { profile: measured, camera, goal, clocks: allowed });

  test("lowers clocks before quality, as far as every frame is computed; every level draws less than the one before", () => {
    expect(profiledClocks(profile)).toEqual(clocks);
    const { levels, table } = build({ budgetWatts: 10 });
    expect(levels.slice(0, 8).map(({ name }) => name)).toEqual([
      "8 paths, 128 disparities",
      "8 paths, 128 disparities, gpu 714 MHz",
      "4 paths, 128 disparities",
      "4 paths, 128 disparities, gpu 714 MHz",
      "4 paths, 128 disparities, gpu 510 MHz",
      "2 paths, 128 disparities, gpu 510 MHz",
      "2 paths, 128 disparities, gpu 204 MHz",
      // Not measured at these clocks: less work, at the same ones.
      "2 paths, 64 disparities, gpu 204 MHz",
    ]);
    const watts = table.map((figures) => figures.watts).filter((one) => one !== undefined);
    expect(watts).toEqual(watts.toSorted((a, b) => b - a));
    for (const [index, { clocks: limits }] of levels.entries()) {
      const capacity = table[index]!.capacityFps;
      if (limits.gpu !== undefined && capacity !== undefined) expect(capacity).toBeGreaterThan(15);
    }
  });

  test("without permission or a budget it has no clocks, and a step that saves nothing is left out", () => {
    for (const { levels } of [
      build({ budgetWatts: 10 }, []),
      build({ budgetWatts: 10 }, [], constructedProfile()),
    ])
      expect(levels.map(({ name }) => name)).toEqual(ladder(15).map(({ name }) => name));
    const flat = structuredClone(constructedProfile());
    for (const { point, power } of flat.results)
      if (power.available && point.paths === 2) power.joulesPerFrameNet = 1;
    const names = (goal: GovernorGoal) => build(goal, [], flat).levels.map(({ name }) => name);
    expect(names({ budgetWatts: 10 })).not.toContain("2 paths, 128 disparities");
    // For a frame rate, speed counts.
    expect(names({ minFps: 12 })).toContain("2 paths, 128 disparities");
  });

  test("lets the governor keep the quality at a lower clock", () => {
    const { levels, table } = build({ budgetWatts: 10 });
    const [first, second] = table;
    const budgetWatts = (first!.watts! + second!.watts!) / 2 / 0.97;
    expect(levels[new Governor(levels, { budgetWatts }, table).level]!.name).toBe(levels[1]!.name);
  });
});

describe("clocks in the loop", () => {
  const levels = ladder(30)
    .slice(0, 2)
    .map((level, index) => ({ ...level, clocks: index === 0 ? {} : { gpu: 612e6 } }));
  const GPU = "sys/class/devfreq/17000000.gpu";
  let tree: SysfsTree;
  beforeEach(() => {
    tree = new SysfsTree().write({
      [`${GPU}/max_freq`]: 918e6,
      [`${GPU}/available_frequencies`]: "306000000 612000000 918000000\n",
    });
  });
  afterEach(() => rmSync(tree.root, { recursive: true }));
  const limit = () => Number(readFileSync(tree.path(`${GPU}/max_freq`), "utf8")) / 1e6;

  test("are limited at their level, reported, and restored at another level and at the end", async () => {
    const clocks = ClockLimits.require({ root: tree.root, isRoot: true });
    const { loop, governor } = scripted(levels, [1], { clocks });
    const settle = () => vi.waitFor(() => clocks.settled());
    loop.start();
    for (const [next, megahertz] of [
      [1, 612],
      [0, 918],
      [1, 612],
    ] as const) {
      governor.next = next;
      vi.advanceTimersByTime(1000);
      await settle();
      expect(limit()).toBe(megahertz);
      expect(loop.figures).toMatchObject({
        clocks: { gpuMegahertz: megahertz === 918 ? null : megahertz, emcMegahertz: null },
      });
    }
    await loop.stop();
    expect(limit()).toBe(918);
  });

  test("that vanish are reported once, and the governor continues without", async () => {
    const clocks = ClockLimits.require({ root: tree.root, isRoot: true });
    const problems: string[] = [];
    const { loop, governor } = scripted(levels, [1], {
      clocks,
      onProblem: ({ message }) => problems.push(message),
    });
    loop.start();
    rmSync(tree.path(`${GPU}/max_freq`));
    for (const next of [1, 0, 1]) {
      governor.next = next;
      vi.advanceTimersByTime(1000);
      await clocks.settled();
    }
    await vi.waitFor(() => expect(problems).toHaveLength(1));
    expect(problems[0]).toContain("gpu clock cannot be limited");
    expect(loop.figures).toMatchObject({ level: 1, clocks: { available: false, reason: problems[0] } });
    await loop.stop();
    expect(problems).toHaveLength(1);
  });

  test("without permission the reason is a figure", () => {
    const reason = "only root may limit the clocks";
    const { loop } = scripted(levels, [1], { clocks: { available: false, reason } });
    expect(loop.figures).toMatchObject({ clocks: { available: false, reason } });
  });
});

test("the table takes the matcher's own runs: of the faster search for auto, of a named one otherwise", () => {
  const profile = constructedProfile();
  const level = ladder(15).slice(0, 1);
  const full = profile.results.find(({ id }) => id === "sgm-640x480-d128-p8-max")!;
  const point = { ...full.point, search: "coarseToFine" as const };
  profile.results.push({ ...full, point, fps: 3 * full.fps });
  profile.results.unshift({ ...full, point: { ...full.point, algorithm: "cbca" }, fps: 9 * full.fps });
  const speed = (search?: string) =>
    buildTable(profile, level, {
      width: 640,
      height: 480,
      rateHz: 15,
      algorithm: "sgm",
      ...(search !== undefined && { search }),
    })[0]!.capacityFps! / full.fps;
  expect([speed(), speed("auto"), speed("coarseToFine"), speed("full")]).toEqual([3, 3, 3, 1]);
});

test("a level that cools before a peak gets no credit for it: heat is only ever added to a prediction", () => {
  const levels = ladder(30);
  const governor = new Governor(levels, { budgetWatts: 10 }, [{ watts: 9.6 }, { watts: 7 }]);
  let nowMs = 0;
  const read = (watts: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      nowMs += 1000;
      governor.observe({ nowMs, watts, fps: 30, capacityFps: 60, throttled: false });
    }
  };
  read(9.9, 3);
  read(8, 2);
  read(11.6);
  expect(governor.level).toBe(1);
  // 2.9 W more at level 0: over the budget's 9.7 W from here, within them from 6.5 W.
  read(7.2, 60);
  expect(governor.level).toBe(1);
  read(6.5, 20);
  expect(governor.level).toBe(0);
});
