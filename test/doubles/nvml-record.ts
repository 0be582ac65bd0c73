// SPDX-License-Identifier: Apache-2.0
// Reads a record of power/tools/nvml_check_main.cc and integrates it with the meter's own arithmetic.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { RailSeries } from "../../power/series.js";

/** A record as text; a name that ends with .gz is unpacked. */
export function readRecord(file: string): string {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
}

/** Power samples only, by the trapezoid of the meter, against the energy counter that was read next to them. */
export function integrateRecord(file: string): {
  powerJoules: number;
  counterJoules: number;
  seconds: number;
} {
  const lines = readRecord(file).trim().split("\n").slice(1);
  // A field that was not read is empty; such a row is left out whole.
  const rows = lines.map((line) => line.split(",")).filter((row) => row.every((field) => field !== ""));
  const rail = {
    label: "GPU power",
    sourcePath: file,
    kind: "power",
    updateIntervalMs: undefined,
    step: 1,
  } as const;
  const series = new RailSeries(rail, 0n, 5e8, rows.length + 1);
  const numbers = rows.map((row) => row.map(Number));
  for (const [time, powerMilliwatts] of numbers as [number, number][]) {
    series.add({ available: true, timestampNs: BigInt(Math.round(time)), powerMilliwatts }, 0n);
  }
  const [first, last] = [numbers[0]!, numbers.at(-1)!];
  const energy = series.between(first[0]!, last[0]!);
  if (!energy.available) throw new Error(energy.reason);
  const counterJoules = (last[3]! - first[3]!) / 1000;
  return { powerJoules: energy.joules, counterJoules, seconds: (last[0]! - first[0]!) / 1e9 };
}
