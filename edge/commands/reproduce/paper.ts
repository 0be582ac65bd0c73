// SPDX-License-Identifier: Apache-2.0
// Defines how a paper declares its tables and figures: rows with the printed value and how ours is computed.
import type { Lab } from "./lab.js";

export type Unit =
  | "%"
  | "px"
  | "ms"
  | "frames/s"
  | "frames/s/W"
  | "MDE/s"
  | "Gflop/s"
  | "GB/s"
  | "G"
  | "GB"
  | "times"
  | "";

/** The reason why this command cannot compute a value. */
export interface Gap {
  gap: string;
}

export interface Row {
  name: string;
  unit: Unit;
  /** Null where the paper shows a plot without numbers. */
  printed: number | null;
  ours: ((lab: Lab) => Promise<number>) | Gap;
}

export interface Exhibit {
  kind: "table" | "figure" | "section";
  /** As the paper numbers it. */
  number: string;
  title: string;
  rows: readonly Row[];
}

export interface Paper {
  /** The first argument of the command. */
  number: string;
  /** As docs/internals/papers.md lists it. */
  cited: string;
  /** Sentences about how the numbers were measured and about gaps in the paper. */
  protocol: readonly string[];
  exhibits: readonly Exhibit[];
}

/** A row that needs a kernel or a machine that this command does not have. */
export const gap = (name: string, unit: Unit, printed: number | null, reason: string): Row => ({
  name,
  unit,
  printed,
  ours: { gap: reason },
});

export const range = (first: number, last: number, step = 1): number[] =>
  Array.from({ length: Math.floor((last - first) / step + 1e-9) + 1 }, (_, index) => first + index * step);
