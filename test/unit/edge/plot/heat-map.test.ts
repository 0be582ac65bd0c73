// SPDX-License-Identifier: Apache-2.0
// The colours of a heat map: white for the least, red for the most, none where there is no number.
import { expect, test } from "vitest";
import { heatMap } from "../../../../edge/plot/heat-map.js";

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
