// SPDX-License-Identifier: Apache-2.0
// Series over two axes as its own SVG file: nothing but text, so any browser shows it.
import { placeLabels } from "./labels.js";
import {
  circle,
  escapeText,
  type Frame,
  horizontalAxis,
  line,
  linearScale,
  logScale,
  picture,
  text,
  verticalAxis,
} from "./svg.js";

export interface Series {
  name: string;
  points: readonly (readonly [x: number, y: number])[];
  /** How they are drawn; by default both. */
  only?: "line" | "marks";
  /** One word next to each point, where it covers nothing else. */
  labels?: readonly string[];
  /** Rings in place of discs: points of another source, such as published ones. */
  hollow?: boolean;
}

export interface XyPlot {
  title: string;
  x: string;
  y: string;
  series: readonly Series[];
  /** log: 1, 2 and 5 of each power of ten, for values above 0. */
  xScale?: "linear" | "log";
  yScale?: "linear" | "log";
}

const [WIDTH, HEIGHT] = [720, 440];
const FRAME: Frame = { left: 64, right: WIDTH - 170, top: 64, bottom: HEIGHT - 56 };
/** Distinguishable for the colour-blind (Okabe and Ito). */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777"];

const STYLE = [
  ".word { paint-order: stroke; stroke: #ffffff; stroke-width: 3px }",
  "text { font: 12px sans-serif } .axis { font-weight: 600 } .title { font-size: 14px }",
  ".paper { fill: #ffffff } .grid { stroke: #dddddd } .leader { stroke: #888888 } .hollow { fill: #ffffff } path { fill: none; stroke-width: 2 }",
  ...COLOURS.map(
    (colour, i) => `.line${i} { stroke: ${colour}; stroke-width: 2 } .mark${i} { fill: ${colour} }`,
  ),
].join("\n");

/** @throws RangeError without a finite point */
export function xyPlot({ title, x, y, series, xScale = "linear", yScale = "linear" }: XyPlot): string {
  const all = series.flatMap(({ points }) => points);
  if (all.length === 0 || !all.flat().every(Number.isFinite)) {
    throw new RangeError(`expected finite points to plot, got ${all.length} points`);
  }
  const [xs, ys] = [all.map(([at]) => at), all.map(([, at]) => at)];
  const across =
    xScale === "log"
      ? logScale(Math.min(...xs), Math.max(...xs), FRAME.left, FRAME.right)
      : linearScale(Math.min(...xs), Math.max(...xs), FRAME.left, FRAME.right, 8);
  const up =
    yScale === "log"
      ? logScale(Math.min(...ys), Math.max(...ys), FRAME.bottom, FRAME.top)
      : linearScale(Math.min(...ys), Math.max(...ys), FRAME.bottom, FRAME.top, 8);
  const words = placeLabels(
    series.flatMap(({ points, labels = [] }) =>
      labels.map((label, i) => ({ x: across.at(points[i]![0]), y: up.at(points[i]![1]), text: label })),
    ),
    [FRAME.left, FRAME.top, FRAME.right, FRAME.bottom],
  ).map(({ x, y, textX, textY, anchor, text: word, leader }) =>
    [
      leader === undefined ? "" : line(x, y, leader[0], leader[1], "leader"),
      text(textX, textY, word, { anchor, kind: "word" }),
    ].join(""),
  );
  const drawn = series.map(({ name, points, only, hollow = false }, index) => {
    const colour = index % COLOURS.length;
    const at = points.map(([px, py]) => [across.at(px), up.at(py)] as const);
    const way = at.map(([px, py], i) => `${i === 0 ? "M" : "L"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const marks = at.map(([px, py], i) =>
      circle(
        px,
        py,
        3.5,
        hollow ? `line${colour} hollow` : `mark${colour}`,
        `${name}: ${points[i]!.join(", ")}`,
      ),
    );
    const legend = FRAME.top + 18 * index;
    return [
      only === "marks" ? "" : `<path d="${way}" class="line${colour}"/>`,
      ...(only === "line" ? [] : marks),
      line(FRAME.right + 16, legend, FRAME.right + 36, legend, `line${colour}`),
      text(FRAME.right + 42, legend + 4, name),
    ].join("");
  });
  const body = [
    `<style>${escapeText(STYLE)}</style>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" class="paper"/>`,
    text(FRAME.left, 24, title, { kind: "title" }),
    horizontalAxis(across, FRAME, x),
    verticalAxis(up, FRAME, y),
    ...drawn,
    ...words,
  ];
  return `${picture(WIDTH, HEIGHT, title, body.join("\n"))}\n`;
}
