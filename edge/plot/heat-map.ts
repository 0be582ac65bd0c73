// SPDX-License-Identifier: Apache-2.0
// A number for each pair of two values, as a table of coloured cells in its own SVG file.
import { escapeText, picture, text } from "./svg.js";

export interface HeatMap {
  title: string;
  x: string;
  y: string;
  columns: readonly number[];
  rows: readonly number[];
  /** By row, then by column; null where there is none. */
  values: readonly (readonly (number | null)[])[];
}

const CELL = { width: 64, height: 28 };
const MARGIN = { left: 96, top: 64, right: 24, bottom: 52 };

/** From white for the least to red for the most. */
function cellFill(share: number): string {
  const fade = Math.round(255 - 185 * share);
  return `rgb(255,${fade},${fade})`;
}

export function heatMap({ title, x, y, columns, rows, values }: HeatMap): string {
  const known = values.flat().filter((value) => value !== null);
  const [min, max] = [Math.min(...known), Math.max(...known)];
  const width = Math.max(360, MARGIN.left + CELL.width * columns.length + MARGIN.right);
  const height = MARGIN.top + CELL.height * rows.length + MARGIN.bottom;
  const at = (column: number, row: number) => ({
    left: MARGIN.left + CELL.width * column,
    top: MARGIN.top + CELL.height * row,
  });
  const cells = values.flatMap((line, row) =>
    line.map((value, column) => {
      const { left, top } = at(column, row);
      const share = value === null || max === min ? 0 : (value - min) / (max - min);
      const fill = value === null ? "none" : cellFill(share);
      const box = `<rect x="${left}" y="${top}" width="${CELL.width}" height="${CELL.height}" fill="${fill}" stroke="#ffffff"/>`;
      const words = value === null ? "-" : value.toFixed(2);
      // The best cell stands out without its colour.
      const kind = value === min ? "best" : "label";
      return box + text(left + CELL.width / 2, top + 18, words, { anchor: "middle", kind });
    }),
  );
  const across = columns.map((value, column) =>
    text(at(column, 0).left + CELL.width / 2, MARGIN.top - 8, String(value), { anchor: "middle" }),
  );
  const down = rows.map((value, row) =>
    text(MARGIN.left - 8, at(0, row).top + 18, String(value), { anchor: "end" }),
  );
  const style = "text { font: 12px sans-serif } .axis, .best { font-weight: 700 } .title { font-size: 14px }";
  const body = [
    `<style>${escapeText(style)}</style>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(16, 24, title, { kind: "title" }),
    ...cells,
    ...across,
    ...down,
    text(MARGIN.left, height - 16, `across: ${x}`, { kind: "axis" }),
    text(16, MARGIN.top - 26, `down: ${y}`, { kind: "axis" }),
  ];
  return `${picture(width, height, title, body.join("\n"))}\n`;
}
