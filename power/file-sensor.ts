// SPDX-License-Identifier: Apache-2.0
// A sensor whose rails are text files. The same decoder serves a read from JavaScript and rows that the native
// sampler read, so both give the same figures.
import type { SampledRail, SampledSensor } from "./sampled.js";
import type { RailReading, TotalRule, Unavailable } from "./sensor.js";
import { parseWholeNumber, readValueFile, type ValueReader } from "./sysfs.js";

/** One rail of a FileSensor: every source is a file. */
export interface FileRail extends SampledRail {
  sources: readonly { file: string }[];
}

export interface FileSensorOptions {
  name: string;
  rails: readonly FileRail[];
  total: TotalRule | Unavailable;
  read?: ValueReader;
  /** CLOCK_MONOTONIC in nanoseconds. */
  clock?: () => bigint;
}

export class FileSensor implements SampledSensor {
  readonly name: string;
  readonly rails: readonly FileRail[];
  readonly total: TotalRule | Unavailable;
  readonly #read: ValueReader;
  readonly #clock: () => bigint;

  constructor(options: FileSensorOptions) {
    this.name = options.name;
    this.rails = options.rails;
    this.total = options.total;
    this.#read = options.read ?? readValueFile;
    this.#clock = options.clock ?? process.hrtime.bigint;
  }

  read(): RailReading[] {
    return this.rails.map((rail) => this.#readRail(rail));
  }

  #readRail(rail: FileRail): RailReading {
    const values: number[] = [];
    const before = this.#clock();
    for (const { file: path } of rail.sources) {
      const result = this.#read(path);
      if (!result.ok) return { available: false, reason: `${rail.label}: ${result.reason}` };
      const value = parseWholeNumber(path, result.text);
      if (typeof value !== "number") return { available: false, reason: `${rail.label}: ${value.reason}` };
      values.push(value);
    }
    const after = this.#clock();
    return rail.decode(values, before + (after - before) / 2n);
  }

  close(): void {}
}

/**
 * The board's rule applied to the rails that were found: every rail of the rule must be there, because a sum with a
 * part missing looks like a figure and is none.
 */
export function applyTotalRule(rule: TotalRule, labels: readonly string[]): TotalRule | Unavailable {
  const missing = rule.rails.filter((label) => !labels.includes(label));
  if (missing.length === 0) return rule;
  const wanted = rule.rails.length === 1 ? rule.rails[0] : `the sum of ${rule.rails.join(", ")}`;
  return {
    available: false,
    reason:
      `this board's total is ${wanted}, but ${missing.join(", ")} ${missing.length === 1 ? "was" : "were"} not found ` +
      `among the rails ${labels.join(", ") || "(none)"}`,
  };
}
