// SPDX-License-Identifier: Apache-2.0
// The one plotter: points lie where their values say, text cannot break out, and what cannot be drawn is refused.
import { expect, test } from "vitest";
import { linearScale, xyPlot } from "../../../../edge/plot/index.js";

const PLOT = {
  title: "a < b",
  x: "parameter",
  y: "% bad",
  series: [
    { name: 'all "&"', points: [[0, 10] as const, [4, 50] as const] },
    { name: "fit", points: [[0, 0] as const, [4, 40] as const], only: "line" as const },
    { name: "labelled", points: [[2, 30] as const], only: "marks" as const, labels: ["640x480"] },
  ],
};

test("marks, lines and labels stand where the scales put them", () => {
  const svg = xyPlot(PLOT);
  const [x, y] = [linearScale(0, 4, 64, 550, 8), linearScale(0, 50, 384, 64, 8)];
  const circles = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, cx, cy]) => [cx, cy]);
  const at = (px: number, py: number) => [x.at(px).toFixed(1), y.at(py).toFixed(1)];
  expect(circles).toEqual([at(0, 10), at(4, 50), at(2, 30)]);
  const ways = [...svg.matchAll(/<path d="([^"]+)"/g)].map(([, way]) => way);
  expect(ways).toEqual([
    `M${at(0, 10).join(" ")}L${at(4, 50).join(" ")}`,
    `M${at(0, 0).join(" ")}L${at(4, 40).join(" ")}`,
  ]);
  expect(svg).toContain(">640x480</text>");
  expect(svg).toContain(">% bad</text>");
});

test("text is escaped, and one point still makes a picture", () => {
  const svg = xyPlot(PLOT);
  expect(svg).toContain("a &#60; b");
  expect(svg).toContain("all &#34;&#38;&#34;");
  const one = xyPlot({ ...PLOT, series: [{ name: "one", points: [[3, 7]] }] });
  expect(one).not.toMatch(/NaN|Infinity|undefined/);
});

test("no point, or one that is not finite, is refused", () => {
  expect(() => xyPlot({ ...PLOT, series: [] })).toThrow(/finite points/);
  expect(() => xyPlot({ ...PLOT, series: [{ name: "x", points: [[0, Number.NaN]] }] })).toThrow(RangeError);
});
