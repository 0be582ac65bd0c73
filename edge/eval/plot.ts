// SPDX-License-Identifier: Apache-2.0
// A line plot as SVG: % bad over one parameter, a line per mask. Nothing but text, so any browser shows it.
import type { SweepRow } from "./sweep.js";

const [WIDTH, HEIGHT] = [720, 440];
const FRAME = { left: 64, right: WIDTH - 150, top: 40, bottom: HEIGHT - 56 };
/** Distinguishable for the colour-blind (Okabe and Ito), the first for "valid". */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const round = (value: number) => String(Math.round(value * 100) / 100);

/** Round steps of 1, 2 or 5 times a power of ten: at most `count` of them from low to high. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => span / candidate <= count)!;
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    values.push(Number((i * step).toPrecision(12)));
  }
  return values;
}

interface Line {
  name: string;
  points: [number, number][];
}

function linesOf(rows: readonly SweepRow[]): Line[] {
  const names = Object.keys(rows[0]!.evaluation.mean.masks);
  return names.map((name) => ({
    name,
    points: rows.flatMap(({ value, evaluation }): [number, number][] => {
      const bad = evaluation.mean.masks[name]?.badPercent ?? null;
      return bad === null ? [] : [[value, bad]];
    }),
  }));
}

/** @param title what was evaluated; key: the parameter's name */
export function sweepPlot(title: string, key: string, rows: readonly SweepRow[]): string {
  const lines = linesOf(rows);
  const xs = rows.map(({ value }) => value);
  const ys = lines.flatMap(({ points }) => points.map(([, y]) => y));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const yTicks = ticks(Math.min(...ys), Math.max(...ys), 8);
  const y0 = Math.min(...ys, ...yTicks);
  const y1 = Math.max(...ys, ...yTicks);
  const scale = (value: number, low: number, high: number, from: number, to: number) =>
    high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from);
  const px = (x: number) => scale(x, x0, x1, FRAME.left, FRAME.right);
  const py = (y: number) => scale(y, y0, y1, FRAME.bottom, FRAME.top);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${FRAME.left}" y="22" font-size="14">${escapeXml(title)}</text>`,
  ];
  for (const y of yTicks) {
    parts.push(
      `<path d="M${FRAME.left} ${round(py(y))}H${FRAME.right}" stroke="#dddddd"/>`,
      `<text x="${FRAME.left - 8}" y="${round(py(y) + 4)}" text-anchor="end">${round(y)}</text>`,
    );
  }
  for (const x of ticks(x0, x1, 8)) {
    parts.push(
      `<path d="M${round(px(x))} ${FRAME.bottom}v5" stroke="#444444"/>`,
      `<text x="${round(px(x))}" y="${FRAME.bottom + 19}" text-anchor="middle">${x}</text>`,
    );
  }
  parts.push(
    `<path d="M${FRAME.left} ${FRAME.top}V${FRAME.bottom}H${FRAME.right}" fill="none" stroke="#444444"/>`,
    `<text x="${(FRAME.left + FRAME.right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escapeXml(key)}</text>`,
    `<text x="16" y="${(FRAME.top + FRAME.bottom) / 2}" text-anchor="middle" transform="rotate(-90 16 ${(FRAME.top + FRAME.bottom) / 2})">% bad, mean over scenes</text>`,
  );
  for (const [index, { name, points }] of lines.entries()) {
    const colour = COLOURS[index % COLOURS.length]!;
    const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${round(px(x))} ${round(py(y))}`).join("");
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [x, y] of points) {
      parts.push(`<circle cx="${round(px(x))}" cy="${round(py(y))}" r="3" fill="${colour}"/>`);
    }
    const legendY = FRAME.top + 18 * index;
    parts.push(
      `<path d="M${FRAME.right + 16} ${legendY}h20" stroke="${colour}" stroke-width="2"/>`,
      `<text x="${FRAME.right + 42}" y="${legendY + 4}">${escapeXml(name)}</text>`,
    );
  }
  return `${parts.join("\n")}\n</svg>\n`;
}
