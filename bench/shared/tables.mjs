// SPDX-License-Identifier: Apache-2.0
// The rows of a result file of `npm run bench` as tables that a person reads; the file has everything.

/** @typedef {Record<string, any>} Row */

const ms = (value) => value?.toFixed(2);
const ratio = (value) => value?.toFixed(2);
/** @param {Row} row */
const size = ({ width, height, numDisparities }) => width && `${width}x${height}x${numDisparities}`;

/**
 * Column and cell for every kind of row; a column that no row of a table has is left out.
 * @type {[string, (row: Row) => unknown][]}
 */
const COLUMNS = [
  ["size", size],
  ["mode", (row) => row.mode],
  ["paths", (row) => row.paths],
  ["threads", (row) => row.threads],
  ["set", (row) => row.instructionSet],
  ["median ms", (row) => ms(row.medianMs)],
  ["least ms", (row) => ms(row.minMs)],
  ["fps", (row) => row.fps?.toFixed(1)],
  ["J a frame", (row) => (Number.isFinite(row.joulesPerFrame) ? row.joulesPerFrame.toFixed(4) : undefined)],
  ["by median", (row) => ratio(row.byMedian)],
  ["by least", (row) => ratio(row.byMinimum)],
  ["one thread ms", (row) => ms(row.oneThreadMs)],
  ["two ms", (row) => ms(row.twoThreadsMs)],
  ["second core", (row) => ratio(row.engineRatio)],
  ["of the machine's", (row) => ratio(row.shareOfMachine)],
  ["issue ms", (row) => ms(row.issueMs)],
  ["bytes ms", (row) => ms(row.bytesMs)],
  ["share", (row) => ratio(row.shareOfLimit)],
];

/**
 * Lines of one table: right-aligned columns under their names.
 * @param {readonly Row[]} rows
 */
export function tableLines(rows) {
  const columns = COLUMNS.map(([name, cell]) => [name, ...rows.map((row) => String(cell(row) ?? ""))]);
  const used = columns.filter(([, ...cells]) => cells.some((cell) => cell !== ""));
  const widths = used.map((column) => Math.max(...column.map((cell) => cell.length)));
  return [...rows.keys(), rows.length].map((line) =>
    used.map((column, at) => column[line].padStart(widths[at])).join("  "),
  );
}

export function printRows(rows) {
  for (const what of new Set(rows.map((row) => row.what))) {
    console.log(`\n${what}`);
    for (const line of tableLines(rows.filter((row) => row.what === what))) console.log(`  ${line}`);
  }
  const reasons = new Set(
    rows.filter((row) => row.watts?.available === false).map((row) => row.watts.reason),
  );
  for (const reason of reasons) console.log(`\nJoules and watts are unavailable: ${reason}`);
}
