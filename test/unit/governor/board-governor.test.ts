// SPDX-License-Identifier: Apache-2.0
// Tests the governor of a board with several rigs: one ladder of all, the last rig first, and rigs that come and go.
import { expect, test, vi } from "vitest";
import { BoardGovernor, type GovernedRig } from "../../../edge/governor/board-governor.js";
import { Governor } from "../../../edge/governor/governor.js";
import { joinLadders } from "../../../edge/governor/joint-ladder.js";
import { type QualityLevel, relativeWork } from "../../../edge/governor/ladder.js";

const level = (name: string, rateHz?: number, numDisparities = 64): QualityLevel => ({
  name,
  parameters: {},
  workPerCell: 4,
  numDisparities,
  halfResolution: false,
  rateHz,
  mode: undefined,
  clocks: {},
});

const LADDER = [level("best"), level("half", undefined, 32), level("slow", 15, 32)];

test("rigs take steps in turn, the last one first", () => {
  const levels = joinLadders(
    new Map([
      ["front", LADDER],
      ["rear", LADDER.slice(0, 2)],
    ]),
    ["10W"],
  );
  expect(levels.map(({ steps, rateHz, mode }) => [...steps, rateHz, mode])).toEqual([
    [0, 0, undefined, undefined],
    [0, 1, undefined, undefined],
    [1, 1, undefined, undefined],
    [2, 1, 15, undefined],
    [2, 1, 15, "10W"],
  ]);
  expect(levels[1]!.name).toBe("front: best; rear: half");
  expect(levels[0]!.work).toBe(2 * relativeWork(LADDER[0]!));
  for (let i = 1; i < 4; i++) expect(levels[i]!.work).toBeLessThanOrEqual(levels[i - 1]!.work);
});

interface Bench {
  board: BoardGovernor;
  rig(name: string, rank: number): { applied: (string | undefined)[]; reasons: string[]; rig: GovernedRig };
  /** Passes so many seconds in which the board draws these watts. */
  pass(seconds: number, watts: number): void;
}

function bench(budgetWatts: number): Bench {
  vi.useFakeTimers();
  let nowMs = 0;
  let drawn = 0;
  const frames = () => Math.round(nowMs / 33);
  const meter = { recent: () => ({ available: true, watts: drawn, changed: [] }) as never };
  const board = new BoardGovernor({
    meter,
    modes: { names: [], modes: undefined },
    onProblem: (problem) => {
      throw problem;
    },
    now: () => nowMs,
  });
  return {
    board,
    rig(name, rank) {
      const applied: (string | undefined)[] = [];
      const reasons: string[] = [];
      const rig: GovernedRig = {
        name,
        rank,
        levels: LADDER,
        goal: { budgetWatts },
        apply: (given) => applied.push(given?.name),
        frames,
        busyMs: () => 5,
        onChange: (reason) => reasons.push(reason),
      };
      return { applied, reasons, rig };
    },
    pass(seconds, watts) {
      drawn = watts;
      for (let second = 0; second < seconds; second++) {
        nowMs += 1000;
        vi.advanceTimersByTime(1000);
      }
    },
  };
}

test("one budget: over it, one rig at a time goes down; a rig that leaves gets every frame again", async () => {
  const { board, rig, pass } = bench(10);
  const [front, rear] = [rig("front", 1), rig("rear", 2)];
  const parts = { rear: board.part(rear.rig), front: board.part(front.rig) };
  for (const part of Object.values(parts)) part.start();
  pass(1, 12);
  expect([front.applied.at(-1), rear.applied.at(-1)]).toEqual(["best", "half"]);
  expect(rear.reasons).toEqual([expect.stringMatching(/^down to front: best; rear: half: 12\.00 W is over/)]);
  expect(front.reasons).toEqual([]);
  expect(parts.rear.figures).toMatchObject({
    available: true,
    level: 1,
    levels: 3,
    name: "half",
    changes: 1,
    reason: rear.reasons[0],
  });
  expect(parts.front.figures).toMatchObject({ available: true, level: 0, changes: 0, budgetWatts: 10 });
  pass(2, 12);
  expect([front.applied.at(-1), rear.applied.at(-1)]).toEqual(["half", "half"]);
  await parts.rear.stop();
  expect(rear.applied.at(-1)).toBeUndefined();
  expect(front.applied.at(-1)).toBe("half");
  pass(3, 12);
  expect(front.applied.at(-1)).toBe("slow");
  await parts.front.stop();
  pass(3, 12);
  expect(front.applied.at(-1)).toBeUndefined();
  expect(parts.front.figures).toMatchObject({ level: 2, reason: "starting" });
  await board.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("the smallest budget of the rigs that run holds", async () => {
  const { board, rig } = bench(10);
  const [front, rear] = [rig("front", 1), rig("rear", 2)];
  rear.rig.goal = { budgetWatts: 7 };
  const part = board.part(front.rig);
  const other = board.part(rear.rig);
  part.start();
  expect(part.figures).toMatchObject({ budgetWatts: 10 });
  other.start();
  expect(part.figures).toMatchObject({ budgetWatts: 7 });
  await other.stop();
  expect(part.figures).toMatchObject({ budgetWatts: 10 });
  await part.stop();
  vi.useRealTimers();
});

/** A board whose governor decides as the test says: each look takes the next level. */
function decided(modes: ConstructorParameters<typeof BoardGovernor>[0]["modes"]) {
  vi.useFakeTimers();
  let nowMs = 50_000;
  const problems: string[] = [];
  const power: { current: object } = { current: { available: false, reason: "no sensor" } };
  const windows: number[] = [];
  const meter = {
    recent: (seconds: number) => {
      windows.push(seconds);
      return power.current as never;
    },
  };
  const board = new BoardGovernor({
    meter,
    modes,
    onProblem: ({ message }) => problems.push(message),
    now: () => nowMs,
  });
  const observed: unknown[] = [];
  const next = { level: 0 };
  vi.spyOn(Governor.prototype, "level", "get").mockImplementation(() => next.level);
  vi.spyOn(Governor.prototype, "observe").mockImplementation((observation) => {
    observed.push(observation);
    return { level: next.level, changed: true, reason: `to ${next.level}` };
  });
  const rig = (name: string, rank: number, goal: GovernedRig["goal"], busyMs: number) => {
    const log: string[] = [];
    const state = { frames: 1000 };
    const given: GovernedRig = {
      name,
      rank,
      levels: LADDER.slice(0, 2),
      goal,
      apply: (to) => log.push(to?.name ?? "every frame"),
      frames: () => state.frames,
      busyMs: () => busyMs,
      onChange: (reason) => log.push(reason),
    };
    return { log, state, part: board.part(given) };
  };
  const pass = (ms: number, advance = ms) => {
    nowMs += ms;
    vi.advanceTimersByTime(advance);
  };
  const restore = () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  };
  return { board, rig, pass, next, observed, power, windows, problems, restore };
}

test("observes the slowest rig, the work of all, and a throttled board", async () => {
  const { board, rig, pass, observed, power, windows, restore } = decided({ names: [], modes: undefined });
  const front = rig("front", 1, { minFps: 20 }, 10);
  const rear = rig("rear", 2, { budgetWatts: 9, minFps: 12 }, 15);
  front.part.start();
  rear.part.start();
  expect(front.part.figures).toEqual({
    available: true,
    level: 0,
    levels: 2,
    name: "best",
    budgetWatts: 9,
    minFps: 12,
    reason: "starting",
    changes: 0,
    clocks: { available: false, reason: "power.clocks is off" },
  });
  front.state.frames += 60;
  rear.state.frames += 50;
  pass(2000, 1000);
  front.state.frames += 20;
  rear.state.frames += 30;
  power.current = { available: true, watts: 8, changed: ["clock gpu", "throttle gpu 3 times"] };
  pass(1000);
  power.current = { available: true, watts: 8, changed: ["fan throttle "] };
  pass(0, 1000);
  const shared = { capacityFps: 40, throttled: false };
  expect(observed).toEqual([
    { ...shared, nowMs: 52_000, watts: { available: false, reason: "no sensor" }, fps: 25 },
    { ...shared, nowMs: 53_000, watts: 8, fps: 20, throttled: true },
    { ...shared, nowMs: 53_000, watts: 8, fps: 0 },
  ]);
  expect(windows).toEqual([1.05, 1.05, 1.05]);
  await board.close();
  pass(5000);
  expect(observed).toHaveLength(3);
  restore();
});

test("rigs that have computed nothing have no known capacity; the goal of a rig alone is its own", async () => {
  const { rig, pass, observed, restore } = decided({ names: [], modes: undefined });
  const { part, log } = rig("front", 1, {}, 0);
  await part.stop();
  expect(log).toEqual([]);
  expect(part.figures).toMatchObject({ budgetWatts: null, minFps: null, reason: "starting" });
  part.start();
  part.start();
  pass(1000);
  expect(observed).toEqual([expect.objectContaining({ capacityFps: undefined })]);
  await part.stop();
  await part.stop();
  expect(log).toEqual(["best", "best", "best", "to 0", "every frame"]);
  expect(vi.getTimerCount()).toBe(0);
  restore();
});

test("a change that moves no rig is reported by the first; a mode that is refused is reported once", async () => {
  const asked: (string | undefined)[] = [];
  const calls: string[] = [];
  const modes = {
    change: (mode: string | undefined) => {
      asked.push(mode);
      return mode === "5W" ? Promise.reject(new Error("only root")) : Promise.resolve();
    },
    settled: async () => void calls.push("settled"),
    restore: () => {
      calls.push("restore");
      throw new Error("stays in 10W");
    },
  };
  const { board, rig, pass, next, problems, restore } = decided({ names: ["10W", "5W"], modes });
  const front = rig("front", 1, { budgetWatts: 9 }, 1);
  const rear = rig("rear", 2, { budgetWatts: 9 }, 1);
  rear.part.start();
  front.part.start();
  front.log.length = 0;
  rear.log.length = 0;
  for (const level of [1, 2, 3, 4]) {
    next.level = level;
    pass(1000);
  }
  await vi.waitFor(() => expect(problems).toEqual(["only root"]));
  pass(1000);
  expect(rear.log).toEqual(["half", "to 1", "half", "half", "half", "half"]);
  expect(front.log).toEqual(["best", "half", "to 2", "half", "to 3", "half", "to 4", "half", "to 4"]);
  expect(asked).toEqual([undefined, undefined, undefined, undefined, "10W", "5W"]);
  expect([front.part.figures, rear.part.figures]).toMatchObject([{ changes: 1 }, { changes: 1 }]);
  await board.close();
  expect(problems).toEqual(["only root", "stays in 10W"]);
  expect(calls).toEqual(["restore"]);
  restore();
});

test("a rig that joins begins where the others are, or below; the mode comes back last", async () => {
  const calls: string[] = [];
  const modes = {
    change: async () => {},
    settled: async () => void calls.push("settled"),
    restore: () => calls.push("restore"),
  };
  const { board, rig, next, pass, problems, restore } = decided({ names: [], modes });
  const front = rig("front", 1, { budgetWatts: 9 }, 1);
  front.part.start();
  next.level = 1;
  pass(1000);
  vi.restoreAllMocks();
  const rear = rig("rear", 2, { budgetWatts: 9 }, 1);
  rear.part.start();
  // The ladder of both has no level with "half" at the front and "best" at the rear.
  expect([front.log.at(-1), rear.log.at(-1)]).toEqual(["half", "half"]);
  await board.close();
  expect([calls, problems]).toEqual([["settled", "restore"], []]);
  restore();
});
