// SPDX-License-Identifier: Apache-2.0
// The papers' tables and sweeps of two parameters: what stands where, worked out by hand.
import { describe, expect, test } from "vitest";
import { gridCsv, gridHeatMap, gridPlot } from "../../../../../edge/commands/eval/grid.js";
import {
  megaDisparitiesPerSecond,
  paperNotes,
  paperTable,
} from "../../../../../edge/commands/eval/paper-table.js";
import { PUBLISHED } from "../../../../../edge/commands/eval/published.js";
import { parseSweep } from "../../../../../edge/commands/eval/sweep.js";
import type { Evaluation, Score } from "../../../../../edge/eval/index.js";
import { PRESETS } from "../../../../../edge/presets/index.js";

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
  return {
    scenes: [
      { name, masks: scores, milliseconds: 4, thresholdPx: 1, width: 100, height: 50, numDisparities: 20 },
    ],
    mean: { masks: scores, milliseconds: 4, middleburyV2BadPercent: mean },
  };
}

describe("the papers' tables", () => {
  test("every preset in them exists, and esaw-5 averages to the printed value", () => {
    for (const preset of Object.keys(PUBLISHED)) expect(Object.keys(PRESETS)).toContain(preset);
    for (const [preset, average] of [
      ["esaw-5", 9.6],
      ["esaw-9", 8.2],
      ["esmp-8", 7.42],
    ] as const) {
      const numbers = Object.values(PUBLISHED[preset]!.scenes).flat();
      expect(numbers.length).toBe(12);
      expect(numbers.reduce((sum, value) => sum + value, 0) / 12).toBeCloseTo(average, 0);
    }
  });

  test("ours stands above the paper's, scene by scene", () => {
    const ours = evaluation("tsukuba", { valid: 3, nonocc: 1, all: 2, disc: 6 });
    expect(megaDisparitiesPerSecond(ours)).toBeCloseTo(25, 9);
    expect(paperTable([{ preset: "esaw-9", evaluation: ours }])).toEqual([
      ["preset", "of", "tsukuba nonocc", "tsukuba all", "tsukuba disc", "average", "ms", "MDE/s"],
      ["esaw-9", "ours", "1.00", "2.00", "6.00", "3.00", "4.0", "25"],
      ["", "published", "1.90", "2.50", "9.70", "8.20", "-", "194.8"],
    ]);
    expect(paperNotes([{ preset: "esaw-9", evaluation: ours }])).toEqual([
      "esaw-9: Yu et al. 2010, table IV; MDE/s on GTX 8800",
    ]);
  });

  test("a scene without those masks has its valid pixels, and the paper nothing", () => {
    const rows = paperTable([{ preset: "sad-7", evaluation: evaluation("Art", { valid: 30 }) }]);
    expect(rows[1]).toEqual(["sad-7", "ours", "30.00", "30.00", "4.0", "25"]);
    expect(rows[2]).toEqual(["", "published", "-", "-", "-", "-"]);
  });
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
