// SPDX-License-Identifier: Apache-2.0
// Student's t, and the runs from which joules of stages are found.
import { expect, test } from "vitest";
import {
  regress,
  type StageRun,
  studentQuantile95,
} from "../../../../../edge/commands/profile/stage-energy.js";

test("Student's t for 95 %: the table of seven degrees of freedom, then the expansion by hand", () => {
  const table = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365];
  expect(table.map((_, i) => studentQuantile95(i + 1))).toEqual(table);
  expect(studentQuantile95(0)).toBeNaN();
  // With z = 1.959964, z + (z^3 + z) / 4n + (5z^5 + 16z^3 + 3z) / 96n^2 is z + 2.3722713 / n + 2.8224987 / n^2. Printed tables
  // have 2.306, 2.228 and 2.042 for these degrees.
  const expanded = [8, 10, 30].map(studentQuantile95);
  for (const [i, value] of [2.3005995, 2.2254161, 2.0421758].entries())
    expect(expanded[i]).toBeCloseTo(value, 7);
  expect(studentQuantile95(1e9)).toBeCloseTo(1.96, 4);
});

const run = (joulesPerFrame: number, more: Partial<StageRun> = {}): StageRun => ({ joulesPerFrame, ...more });

test("two runs more than unknowns are needed, and each stage must vary", () => {
  const without = { without: "median" } as const;
  const runs = [run(1), run(1.25), run(0.5, without), run(0.75, without)];
  expect(regress(runs.slice(0, 3))).toBeUndefined();
  // Means of 1.125 and 0.625 J. All residuals are 0.125 J: their deviation is sqrt(4 / 64 / 2) J, and t of two degrees is 4.303.
  const deviation = 4.303 * Math.sqrt(1 / 32);
  expect(regress(runs)).toEqual({
    stages: [
      { stage: "median", joulesPerFrame: expect.closeTo(0.5, 12), halfWidth: expect.closeTo(deviation, 9) },
    ],
    remainder: {
      joulesPerFrame: expect.closeTo(0.625, 12),
      halfWidth: expect.closeTo(deviation * Math.SQRT1_2, 9),
    },
    runs: 4,
    degreesOfFreedom: 2,
  });
  // Left out in every run, a stage is no different from the rest.
  expect(regress(Array.from({ length: 5 }, () => run(1, without)))).toBeUndefined();
  expect(regress(Array.from({ length: 5 }, () => run(1)))).toBeUndefined();
});

test("depth carries encode; a repeated stage counts as often as it runs, added work as often as it was done", () => {
  const runs = Array.from({ length: 3 }, () => [
    // 1 J for the rest, 0.25 J for the median, 0.5 J for depth, 0.125 J for encode and 2 J for each frame that is published.
    run(1.875),
    run(1.625, { without: "median" }),
    run(2.375, { repeat: { stage: "median", times: 3 } }),
    run(1.25, { without: "depth" }),
    run(1.75, { without: "encode" }),
    run(2.875, { added: "publish", addedPerFrame: 0.5 }),
    run(1.875, { added: "publish" }),
  ]).flat();
  const { stages, remainder, runs: count, degreesOfFreedom } = regress(runs)!;
  expect(stages.map(({ stage, joulesPerFrame }) => [stage, joulesPerFrame])).toEqual([
    ["median", expect.closeTo(0.25, 9)],
    ["depth", expect.closeTo(0.5, 9)],
    ["encode", expect.closeTo(0.125, 9)],
    ["publish", expect.closeTo(2, 9)],
  ]);
  expect(remainder.joulesPerFrame).toBeCloseTo(1, 9);
  expect([count, degreesOfFreedom]).toEqual([21, 16]);
});
