// SPDX-License-Identifier: Apache-2.0
// Time over cells, as an SVG: points that lie on the line through the origin say that cost grows linearly.
import { xyPlot } from "../../dist/edge/plot/index.js";

/** rows: {width, height, numDisparities, medianMs, minMs}. The line is the least-squares one through the origin. */
export function growthPlot(rows) {
  const cells = rows.map((row) => (row.width * row.height * row.numDisparities) / 1e6);
  const slope =
    rows.reduce((sum, row, i) => sum + cells[i] * row.minMs, 0) /
    cells.reduce((sum, count) => sum + count ** 2, 0);
  const max = Math.max(...cells);
  const points = (key) => rows.map((row, i) => [cells[i], row[key]]);
  const labels = rows.map((row) => `${row.width}x${row.height}x${row.numDisparities}`);
  return xyPlot({
    title: "Time of a frame over its cells",
    x: "million cells: width x height x disparities",
    y: "milliseconds",
    series: [
      { name: "minimum", points: points("minMs"), only: "marks", labels },
      { name: "median", points: points("medianMs"), only: "marks" },
      {
        name: `${slope.toFixed(4)} ms per million`,
        points: [
          [0, 0],
          [max, slope * max],
        ],
        only: "line",
      },
    ],
  });
}
