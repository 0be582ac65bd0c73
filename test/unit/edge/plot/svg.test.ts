// SPDX-License-Identifier: Apache-2.0
// The pieces of charts: ticks, scales, axes and shapes, computed by hand.
import { describe, expect, test } from "vitest";
import {
  circle,
  horizontalAxis,
  line,
  linearScale,
  logScale,
  picture,
  rectangle,
  roundTicks,
  shortNumber,
  text,
  verticalAxis,
} from "../../../../edge/plot/index.js";
import { svgElements } from "../../../doubles/svg-elements.js";

const FRAME = { left: 100, right: 300, top: 20, bottom: 220 };

test.each([
  [0, 10, 5, [0, 2, 4, 6, 8, 10]],
  [1.3, 9.9, 2, [0, 5, 10]],
  [0, 900, 90, Array.from({ length: 91 }, (_, i) => 10 * i)],
  [-13, 29, 1, [-50, 0, 50]],
  [0, 72, 10, [0, 10, 20, 30, 40, 50, 60, 70, 80]],
  // One value: the scale reaches twice as far, or to 1.
  [3, 3, 5, [3, 4, 5, 6]],
  [-5, -5, 5, [-5, -4, -3, -2, -1, 0]],
  [0, 0, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
])("ticks from %s to %s, about %s", (low, high, count, ticks) => {
  expect(roundTicks(low, high, count)).toEqual(ticks);
});

test("a linear scale maps its round ends onto pixels, with about six ticks by default", () => {
  const scale = linearScale(11, 29, 100, 300);
  expect(scale.ticks).toEqual([10, 15, 20, 25, 30]);
  expect([10, 25, 30].map(scale.at)).toEqual([100, 250, 300]);
  expect(linearScale(0, 20, 0, 1, 2).ticks).toEqual([0, 10, 20]);
});

describe("a logarithmic scale", () => {
  test.each([
    [2, 30, [2, 5, 10, 20, 50]],
    [0.3, 1, [0.2, 0.5, 1]],
    [1, 100, [1, 2, 5, 10, 20, 50, 100]],
    [10, 10, [10]],
  ])("from %s to %s has ticks at 1, 2 and 5", (low, high, ticks) => {
    expect(logScale(low, high, 0, 100).ticks).toEqual(ticks);
  });
  test("places values by their logarithm", () => {
    const { at } = logScale(2, 30, 100, 300);
    expect([2, 10, 50].map((value) => Math.round(at(value)))).toEqual([100, 200, 300]);
    const one = logScale(10, 10, 7, 9);
    expect([10, 100].map(one.at)).toEqual([7, 9]);
  });
});

test.each([
  [Number.NaN, "-"],
  [0, "0"],
  [1234.5, "1235"],
  [99.96, "100.0"],
  [-12.34, "-12.3"],
  [1, "1.00"],
  [0.00012345, "0.000123"],
  [0.000012345, "0.000012"],
])("%s is written as %s", (value, words) => {
  expect(shortNumber(value)).toBe(words);
});

test("shapes with one decimal, a bar that is never negative, and words that cannot break out", () => {
  expect(
    [
      text(1.26, 2.04, "a<b"),
      text(1, 2, "x", { anchor: "end", kind: "name" }),
      line(0.06, 1.14, 2, 3, "grid"),
      rectangle(1, 2.26, 3.26, 4.26, "bar", "5 < 6"),
      rectangle(1, 2, -0.5, 4, "bar"),
      circle(1.26, 2.26, 3.5, "mark", "it's"),
      picture(10, 20, '"wide"', "body"),
    ].join("\n"),
  ).toBe(`<text x="1.3" y="2.0" class="label" text-anchor="start">a&#60;b</text>
<text x="1.0" y="2.0" class="name" text-anchor="end">x</text>
<line x1="0.1" y1="1.1" x2="2.0" y2="3.0" class="grid"/>
<rect x="1.0" y="2.3" width="3.3" height="4.3" class="bar"><title>5 &#60; 6</title></rect>
<rect x="1.0" y="2.0" width="0.0" height="4.0" class="bar"></rect>
<circle cx="1.3" cy="2.3" r="3.5" class="mark"><title>it&#39;s</title></circle>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20" role="img" aria-label="&#34;wide&#34;">body</svg>`);
});

test("axes: a grid line and its value for each tick, then the name", () => {
  const [up, across] = [linearScale(0, 10, 220, 20, 2), linearScale(0, 4, 100, 300, 2)];
  expect(svgElements(verticalAxis(up, FRAME, "watts"))).toEqual([
    "line 100.0 220.0 300.0 220.0 grid",
    "text 92.0 224.0 label end 0",
    "line 100.0 120.0 300.0 120.0 grid",
    "text 92.0 124.0 label end 5",
    "line 100.0 20.0 300.0 20.0 grid",
    "text 92.0 24.0 label end 10",
    "text 92.0 8.0 axis start watts",
  ]);
  expect(svgElements(horizontalAxis(across, FRAME, "seconds"))).toEqual([
    "line 100.0 20.0 100.0 220.0 grid",
    "text 100.0 238.0 label middle 0",
    "line 200.0 20.0 200.0 220.0 grid",
    "text 200.0 238.0 label middle 2",
    "line 300.0 20.0 300.0 220.0 grid",
    "text 300.0 238.0 label middle 4",
    "text 300.0 258.0 axis end seconds",
  ]);
});
