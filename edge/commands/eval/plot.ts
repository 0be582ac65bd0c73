// SPDX-License-Identifier: Apache-2.0
// The picture of a sweep: % bad over one parameter, a line per mask.
import { xyPlot } from "../../plot/index.js";
import type { SweepRow } from "./sweep.js";

/** @param title what was evaluated; key: the parameter's name */
export function sweepPlot(title: string, key: string, rows: readonly SweepRow[]): string {
  const series = Object.keys(rows[0]!.evaluation.mean.masks).map((name) => ({
    name,
    points: rows.flatMap(({ value, evaluation }): [number, number][] => {
      const bad = evaluation.mean.masks[name]?.badPercent ?? null;
      return bad === null ? [] : [[value, bad]];
    }),
  }));
  return xyPlot({ title, x: key, y: "% bad, mean over scenes", series });
}
