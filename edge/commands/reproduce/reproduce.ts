// SPDX-License-Identifier: Apache-2.0
// Computes the rows of a paper one after another. A row that this machine cannot compute becomes a named gap.
import { isDepthwattError } from "../../../core/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { Lab } from "./lab.js";
import type { Exhibit, Row, Unit } from "./paper.js";

export interface ReproducedRow {
  name: string;
  unit: Unit;
  printed: number | null;
  ours: number | Unavailable;
  /** Ours minus printed; null where either is missing. */
  difference: number | null;
}

export interface Reproduced extends Omit<Exhibit, "rows"> {
  rows: ReproducedRow[];
}

export const isGap = (ours: number | Unavailable): ours is Unavailable => typeof ours !== "number";

/** Enough digits for every unit, and few enough for a result file. */
const rounded = (value: number) => Number(value.toPrecision(6));

async function measure({ ours }: Row, lab: Lab): Promise<number | Unavailable> {
  if (typeof ours !== "function") return { available: false, reason: ours.gap };
  try {
    return rounded(await ours(lab));
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    return { available: false, reason: `${error.code}: ${error.message}` };
  }
}

export async function reproduce(exhibits: readonly Exhibit[], lab: Lab): Promise<Reproduced[]> {
  const reproduced: Reproduced[] = [];
  for (const { rows, ...exhibit } of exhibits) {
    const done: ReproducedRow[] = [];
    for (const row of rows) {
      const { name, unit, printed } = row;
      const ours = await measure(row, lab);
      const difference = isGap(ours) || printed === null ? null : rounded(ours - printed);
      done.push({ name, unit, printed, ours, difference });
    }
    reproduced.push({ ...exhibit, rows: done });
  }
  return reproduced;
}

const digits = (value: number) => (Math.abs(value) >= 100 ? 1 : 2);
const shown = (value: number | null) => (value === null ? "-" : value.toFixed(digits(value)));
const signed = (value: number | null) => (value !== null && value > 0 ? `+${shown(value)}` : shown(value));

/** Rows for a person, headings first. */
export function reproducedTable(rows: readonly ReproducedRow[]): string[][] {
  return [
    ["", "printed", "ours", "difference", "unit"],
    ...rows.map(({ name, printed, ours, difference, unit }) => [
      name,
      shown(printed),
      isGap(ours) ? "gap" : shown(ours),
      signed(difference),
      unit,
    ]),
  ];
}

/** The gaps of a table, each reason once with its number of rows. */
export function gapReasons(rows: readonly ReproducedRow[]): string[] {
  const counts = new Map<string, number>();
  for (const { ours } of rows) if (isGap(ours)) counts.set(ours.reason, (counts.get(ours.reason) ?? 0) + 1);
  return [...counts].map(([reason, count]) => `gap in ${count} ${count === 1 ? "row" : "rows"}: ${reason}`);
}
