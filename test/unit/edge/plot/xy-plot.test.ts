// SPDX-License-Identifier: Apache-2.0
// The one plotter: points lie where their values say, text cannot break out, and what cannot be drawn is refused.
import { expect, test } from "vitest";
import { linearScale, xyPlot } from "../../../../edge/plot/index.js";
import { svgElements } from "../../../doubles/svg-elements.js";

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

test("title, legend, rings and labels in their places, over linear and logarithmic axes", () => {
  const series = [
    { name: "a", points: [[1, 1] as const, [1000, 100] as const], only: "line" as const },
    { name: "b", points: [[10, 10] as const], only: "marks" as const, hollow: true, labels: ["word"] },
    { name: "c", points: [[100, 1] as const] },
  ];
  const elements = svgElements(
    xyPlot({ title: "t", x: "x", y: "y", series, xScale: "log", yScale: "log" }),
  ).filter((element) => !/ (grid|label middle|label end)/.test(element));
  expect(elements).toEqual([
    "svg 0 0 720 440 img t",
    "rect 720 440 paper",
    "text 64.0 24.0 title start t",
    "text 550.0 422.0 axis end x",
    "text 56.0 52.0 axis start y",
    "path M64.0 384.0L550.0 64.0 line0",
    "line 566.0 64.0 586.0 64.0 line0",
    "text 592.0 68.0 label start a",
    "circle 226.0 224.0 3.5 line1 hollow b: 10, 10",
    "line 566.0 82.0 586.0 82.0 line1",
    "text 592.0 86.0 label start b",
    "path M388.0 384.0 line2",
    "circle 388.0 384.0 3.5 mark2 c: 100, 1",
    "line 566.0 100.0 586.0 100.0 line2",
    "text 592.0 104.0 label start c",
    "text 234.0 227.5 word start word",
  ]);
  const ticks = (plot: string) =>
    svgElements(plot).flatMap((element) => element.match(/label (middle|end) (.+)/)?.[2] ?? []);
  const linear = xyPlot({
    title: "t",
    x: "x",
    y: "y",
    series: [
      {
        name: "a",
        points: [
          [0, 0],
          [16, 8],
        ],
      },
    ],
  });
  expect(ticks(linear)).toEqual([
    ...["0", "2", "4", "6", "8", "10", "12", "14", "16"],
    ...["0", "1", "2", "3", "4", "5", "6", "7", "8"],
  ]);
  const nine = Array.from({ length: 9 }, () => series[0]!);
  const last = svgElements(xyPlot({ title: "t", x: "x", y: "y", series: nine })).at(-2);
  expect(last).toBe("line 566.0 208.0 586.0 208.0 line0");
});
