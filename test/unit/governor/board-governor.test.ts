// SPDX-License-Identifier: Apache-2.0
// Tests the governor of a board with several rigs: one ladder of all, the last rig first, and rigs that come and go.
import { expect, test, vi } from "vitest";
import { BoardGovernor, type GovernedRig } from "../../../edge/governor/board-governor.js";
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
