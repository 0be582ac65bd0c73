// SPDX-License-Identifier: Apache-2.0
// Which lines each plot has, made of samples: titles, units and columns, nothing drawn yet.

import { finiteNumber, member, nonEmptyText } from "../documents.js";
import { S } from "../strings.js";
import { causeWords, isIntended } from "./causes.js";
import { perSecond, type Sample } from "./history.js";

export interface Line {
  name: string;
  values: (number | undefined)[];
}

/** Names by chart, in the order in which they first appeared: a line keeps its colour when another one comes. */
const slots = new Map<Chart["key"], string[]>();

/** Returns the number of a line's colour. */
export function lineSlot(key: Chart["key"], name: string): number {
  const names = slots.get(key) ?? [];
  slots.set(key, names);
  if (!names.includes(name)) names.push(name);
  return names.indexOf(name) % MAX_LINES;
}

export interface Chart {
  key:
    | "fps"
    | "watts"
    | "efficiency"
    | "joules"
    | "latency"
    | "drops"
    | "temperature"
    | "rotation"
    | "rows"
    | "drift";
  /** Values below 0 are ordinary. */
  signed?: boolean;
  title: string;
  unit: string;
  lines: Line[];
}

const MAX_LINES = 8;

function byName(samples: readonly Sample[], pick: (sample: Sample) => Map<string, number>): Line[] {
  const names = new Set(samples.flatMap((sample) => [...pick(sample).keys()]));
  return [...names]
    .slice(0, MAX_LINES)
    .map((name) => ({ name, values: samples.map((sample) => pick(sample).get(name)) }));
}

function single(name: string, values: (number | undefined)[]): Line[] {
  return values.every((value) => value === undefined) ? [] : [{ name, values }];
}

function dropLines(samples: readonly Sample[]): Line[] {
  const last = samples.at(-1);
  const causes = [...(last?.drops ?? [])]
    .filter(([cause]) => !isIntended(cause))
    .sort(([, a], [, b]) => b - a)
    .map(([cause]) => cause);
  return causes.slice(0, MAX_LINES).map((cause) => ({
    name: causeWords(cause),
    values: perSecond(samples, cause),
  }));
}

/** Plots that have something to show, in the order in which they stand. */
export function chartsFrom(samples: readonly Sample[]): Chart[] {
  const T = S.plots;
  const pick = (key: "fps" | "fpsPerWatt" | "joulesPerFrame" | "rows") =>
    samples.map((sample) => sample[key]);
  const charts: Chart[] = [
    { key: "fps", title: T.fps, unit: "fps", lines: single("fps", pick("fps")) },
    {
      key: "latency",
      title: T.latency,
      unit: S.units.ms,
      lines: byName(samples, (sample) => sample.latency),
    },
    { key: "watts", title: T.watts, unit: S.units.W, lines: byName(samples, (sample) => sample.watts) },
    { key: "efficiency", title: T.efficiency, unit: "fps/W", lines: single("fps/W", pick("fpsPerWatt")) },
    { key: "joules", title: T.joules, unit: S.units.J, lines: single("J", pick("joulesPerFrame")) },
    { key: "drops", title: T.drops, unit: "1/s", lines: dropLines(samples) },
    {
      key: "temperature",
      title: T.temperature,
      unit: S.units.C,
      lines: byName(samples, (sample) => sample.temperatures),
    },
    {
      key: "rotation",
      title: T.rotation,
      unit: S.units.degrees,
      lines: byName(samples, (sample) => sample.rotation),
      signed: true,
    },
    { key: "rows", title: T.rows, unit: S.units.rows, lines: single("p95", pick("rows")) },
  ];
  for (const { key, lines } of charts) {
    const slot = new Map(lines.map(({ name }) => [name, lineSlot(key, name)]));
    lines.sort((a, b) => (slot.get(a.name) ?? 0) - (slot.get(b.name) ?? 0));
  }
  return charts.filter(({ lines }) => lines.length > 0);
}

/** The mean rotation of each day, from the device's info; undefined where it keeps none. */
export function driftFrom(info: unknown): { chart: Chart; seconds: number[] } | undefined {
  const days = member(member(info, "drift"), "days");
  if (!Array.isArray(days) || days.length === 0) return undefined;
  const seconds = days.map((day) => Date.parse(nonEmptyText(member(day, "date")) ?? "") / 1000);
  const lines = ["pitch", "yaw", "roll"].map((name) => ({
    name,
    values: days.map((day) => finiteNumber(member(day, name))),
  }));
  const chart: Chart = { key: "drift", title: S.plots.drift, unit: S.units.degrees, lines, signed: true };
  return { chart, seconds };
}
