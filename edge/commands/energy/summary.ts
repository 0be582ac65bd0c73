// SPDX-License-Identifier: Apache-2.0
// Sums up entries of an energy log, and shows them as a table for a terminal and as a plot.
import type { EnergyRecord } from "../../contracts/energy.js";
import { xyPlot } from "../../plot/index.js";

/** Several entries as one. What no entry knows is undefined. */
export interface EnergySummary {
  /** End of the first and of the last window. */
  from: string;
  to: string;
  seconds: number;
  frames: number;
  fps: number;
  watts: number | undefined;
  joules: number | undefined;
  joulesPerFrame: number | undefined;
  fpsPerWatt: number | undefined;
  /** The highest. */
  temperatureCelsius: number | undefined;
  throttled: boolean | undefined;
  /** Every power mode and matcher that occurs. */
  modes: string[];
  matchers: string[];
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const distinct = (values: readonly unknown[]) =>
  [...new Set(values)].filter((value): value is string => typeof value === "string");

/** Energy and frames are added up over the entries that have both; a mean of means would weigh short windows too much. */
export function summarise(records: readonly EnergyRecord[]): EnergySummary {
  const seconds = sum(records.map((record) => record.seconds));
  const frames = sum(records.map((record) => record.frames));
  const measured = records.filter((record) => typeof record.joules === "number");
  const joules = sum(measured.map((record) => record.joules as number));
  const measuredSeconds = sum(measured.map((record) => record.seconds));
  const measuredFrames = sum(measured.map((record) => record.frames));
  const isKnown = measured.length > 0 && joules > 0;
  const temperatures = records.map((one) => one.temperatureCelsius).filter((one) => typeof one === "number");
  const throttled = records.map((one) => one.throttled).filter((one) => typeof one === "boolean");
  return {
    from: records[0]!.time,
    to: records.at(-1)!.time,
    seconds,
    frames,
    fps: frames / seconds,
    watts: isKnown ? joules / measuredSeconds : undefined,
    joules: isKnown ? joules : undefined,
    joulesPerFrame: isKnown && measuredFrames > 0 ? joules / measuredFrames : undefined,
    fpsPerWatt: isKnown ? measuredFrames / joules : undefined,
    temperatureCelsius: temperatures.length > 0 ? Math.max(...temperatures) : undefined,
    throttled: throttled.length > 0 ? throttled.includes(true) : undefined,
    modes: distinct(records.map((record) => record.mode)),
    matchers: distinct(records.map((record) => record.matcher)),
  };
}

/** Equal numbers of entries to a group, at most `groups` of them. */
export function grouped(records: readonly EnergyRecord[], groups: number): EnergySummary[] {
  const size = Math.ceil(records.length / groups);
  const starts = Array.from({ length: Math.ceil(records.length / size) }, (_, index) => index * size);
  return starts.map((start) => summarise(records.slice(start, start + size)));
}

const BARS = "▁▂▃▄▅▆▇█";

/** One character a value, from 0 to the largest; a space where there is none. */
export function sparkline(values: readonly (number | undefined)[]): string {
  const largest = Math.max(...values.map((value) => value ?? 0));
  return values
    .map((value) => {
      if (value === undefined) return " ";
      const level = largest > 0 ? Math.round((value / largest) * (BARS.length - 1)) : 0;
      return BARS[level];
    })
    .join("");
}

const figure = (value: number | undefined, digits: number) =>
  value === undefined ? "-" : value.toFixed(digits);
const yesNo = (value: boolean | undefined) => (value === undefined ? "-" : value ? "yes" : "no");

export const HEAD = ["until (UTC)", "fps", "W", "J/frame", "fps/W", "°C", "throttled", "mode"];

export function row(summary: EnergySummary): string[] {
  return [
    summary.to.slice(0, 19).replace("T", " "),
    figure(summary.fps, 1),
    figure(summary.watts, 2),
    figure(summary.joulesPerFrame, 4),
    figure(summary.fpsPerWatt, 2),
    figure(summary.temperatureCelsius, 0),
    yesNo(summary.throttled),
    summary.modes.join(", ") || "-",
  ];
}

/** Watts and joules per frame over time as an SVG file; undefined if no entry has them. */
export function energyPlot(records: readonly EnergyRecord[]): string | undefined {
  const startMs = Date.parse(records[0]!.time);
  const points = (key: "watts" | "joulesPerFrame") =>
    records
      .filter((record) => typeof record[key] === "number")
      .map((record) => [(Date.parse(record.time) - startMs) / 60_000, record[key] as number] as const);
  const series = [
    { name: "watts", points: points("watts"), only: "line" as const },
    { name: "J a frame", points: points("joulesPerFrame"), only: "line" as const },
  ].filter((one) => one.points.length > 0);
  if (series.length === 0) return undefined;
  return xyPlot({
    title: `Energy from ${records[0]!.time}`,
    x: "minutes",
    y: "watts, joules per frame",
    series,
    yScale: "log",
  });
}
