// SPDX-License-Identifier: Apache-2.0
// The colours of a heat map: white for the least, red for the most, none where there is no number.
import { expect, test } from "vitest";
import { heatMap } from "../../../../edge/plot/heat-map.js";
import { svgElements } from "../../../doubles/svg-elements.js";

test("cells from white to red, and the least in bold", () => {
  const labels = { title: "a title", x: "p1", y: "p2", columns: [1, 2], rows: [3, 4] };
  const svg = heatMap({
    ...labels,
    values: [
      [10, 20],
      [15, null],
    ],
  });
  const fills = [...svg.matchAll(/height="28" fill="([^"]+)"/g)].map(([, fill]) => fill);
  expect(fills).toEqual(["rgb(255,255,255)", "rgb(255,70,70)", "rgb(255,163,163)", "none"]);
  expect(svg.match(/class="best"[^>]*>([^<]+)/)?.[1]).toBe("10.00");
});

test("every cell, label and name in its place", () => {
  const labels = { title: "a title", x: "p1", y: "p2", rows: [3, 4] };
  const values = [
    [1, 2, 1, 1],
    [1, 1, 1, null],
  ];
  const elements = svgElements(heatMap({ ...labels, columns: [5, 6, 7, 8], values }));
  const [picture, paper, title, ...cells] = elements.slice(0, 3 + 2 * 8);
  expect([picture, paper, title]).toEqual([
    "svg 0 0 376 172 img a title",
    "rect 376 172 #ffffff",
    "text 16.0 24.0 title start a title",
  ]);
  expect(cells.slice(0, 4)).toEqual([
    "rect 96 64 64 28 rgb(255,255,255) #ffffff",
    "text 128.0 82.0 best middle 1.00",
    "rect 160 64 64 28 rgb(255,70,70) #ffffff",
    "text 192.0 82.0 label middle 2.00",
  ]);
  expect(cells.slice(-2)).toEqual(["rect 288 92 64 28 none #ffffff", "text 320.0 110.0 label middle -"]);
  expect(elements.slice(19)).toEqual([
    "text 128.0 56.0 label middle 5",
    "text 192.0 56.0 label middle 6",
    "text 256.0 56.0 label middle 7",
    "text 320.0 56.0 label middle 8",
    "text 88.0 82.0 label end 3",
    "text 88.0 110.0 label end 4",
    "text 96.0 156.0 axis start across: p1",
    "text 16.0 38.0 axis start down: p2",
  ]);
  // A map of few columns is wide enough for its title; equal values are white.
  const narrow = svgElements(heatMap({ ...labels, columns: [5], values: [[7], [7]] }));
  expect(narrow[0]).toBe("svg 0 0 360 172 img a title");
  expect(narrow[3]).toBe("rect 96 64 64 28 rgb(255,255,255) #ffffff");
});
