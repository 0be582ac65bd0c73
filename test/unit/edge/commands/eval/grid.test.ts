// SPDX-License-Identifier: Apache-2.0
// Sweeps of two parameters, worked out by hand.
import { describe, expect, test } from "vitest";
import { gridCsv, gridHeatMap, gridPlot } from "../../../../../edge/commands/eval/grid.js";
import { megaDisparitiesPerSecond } from "../../../../../edge/commands/eval/matchers.js";
import { parseSweep } from "../../../../../edge/commands/eval/sweep.js";
import type { Evaluation, Score } from "../../../../../edge/eval/index.js";

const createScore = (badPercent: number): Score => ({
  badPercent,
  badPercentValidOnly: badPercent,
  density: 100,
  averageErrorPx: 0,
});

/** One scene of 100 x 50 with 20 disparities in 4 ms. */
function evaluation(name: string, masks: Record<string, number>): Evaluation {
  const scores = Object.fromEntries(Object.entries(masks).map(([mask, bad]) => [mask, createScore(bad)]));
  const three = ["nonocc", "all", "disc"].map((mask) => masks[mask]);
  const mean = three.every((value) => value !== undefined)
    ? three.reduce((sum: number, value) => sum + value!, 0) / 3
    : null;
  const scored = { masks: scores, measures: {}, estimates: {}, milliseconds: 4 };
  return {
    scenes: [{ name, ...scored, thresholdPx: 1, width: 100, height: 50, numDisparities: 20 }],
    mean: { ...scored, middleburyV2BadPercent: mean },
  };
}

test("the rate counts the disparities of whole images", () => {
  expect(megaDisparitiesPerSecond(evaluation("tsukuba", { valid: 3 }))).toBeCloseTo(25, 9);
});

describe("sweeps", () => {
  test("values may be listed", () => {
    expect(parseSweep("armX=5,9,61")).toEqual({ key: "match.cbca.armX", values: [5, 9, 61] });
    expect(() => parseSweep("armX=5,x")).toThrow(expect.objectContaining({ code: "USAGE" }));
    expect(() => parseSweep("armZ=5,6")).toThrow(expect.objectContaining({ code: "CONFIG_UNKNOWN_KEY" }));
  });

  test("two parameters: a row for each pair, a line for each second value, the best cell in bold", () => {
    const rows = [
      [1, 10, 5],
      [1, 20, 4],
      [2, 10, 3],
      [2, 20, 6],
    ].map(([x, y, bad]) => ({
      values: [x!, y!] as [number, number],
      evaluation: evaluation("s", { valid: bad! }),
    }));
    const grid = { keys: ["match.a", "match.b"] as [string, string], rows };
    expect(gridCsv(grid).split("\n").slice(0, 2)).toEqual([
      "match.a,match.b,% bad,s valid,mean valid,milliseconds",
      "1,10,5.0000,5.0000,5.0000,4.0000",
    ]);
    const plot = gridPlot("t", grid);
    expect(plot.match(/<path /g)).toHaveLength(2);
    expect(plot).toContain("b 20");
    const heat = gridHeatMap("t", grid);
    expect(heat.match(/<rect /g)).toHaveLength(5);
    expect(heat.match(/class="best"[^>]*>([^<]*)</)![1]).toBe("3.00");
  });
});
