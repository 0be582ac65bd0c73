// SPDX-License-Identifier: Apache-2.0
// Totals, rows, bars and the plot of an energy log by hand, also where figures are not known.
import { expect, test } from "vitest";
import {
  energyPlot,
  grouped,
  HEAD,
  row,
  sparkline,
  summarise,
} from "../../../../../edge/commands/energy/summary.js";
import type { EnergyRecord } from "../../../../../edge/contracts/energy.js";
import { svgElements } from "../../../../doubles/svg-elements.js";

const UNKNOWN = { available: false as const, reason: "no sensor" };
const record = (minute: number, more: Partial<EnergyRecord> = {}) =>
  ({
    time: new Date(Date.UTC(2026, 0, 31, 8, minute)).toISOString(),
    seconds: 60,
    frames: 600,
    matcher: "sgm",
    joules: 300,
    temperatureCelsius: 40,
    throttled: false,
    mode: "15W",
    ...more,
  }) as EnergyRecord;
const BLIND = { joules: UNKNOWN, temperatureCelsius: UNKNOWN, throttled: UNKNOWN, mode: UNKNOWN };

test("joules per frame and watts are those of the entries that have both; the rest counts by its frames", () => {
  const total = summarise([
    record(1, { frames: 300, joules: 600, seconds: 30 }),
    record(2, BLIND),
    record(3, { temperatureCelsius: 51.5, throttled: true, mode: "MAXN", matcher: "cbca" }),
  ]);
  expect(total).toEqual({
    from: "2026-01-31T08:01:00.000Z",
    to: "2026-01-31T08:03:00.000Z",
    seconds: 150,
    frames: 1500,
    fps: 10,
    watts: 10,
    joules: 900,
    joulesPerFrame: 1,
    fpsPerWatt: 1,
    temperatureCelsius: 51.5,
    throttled: true,
    modes: ["15W", "MAXN"],
    matchers: ["sgm", "cbca"],
  });
  expect(row(total)).toEqual([
    "2026-01-31 08:03:00",
    "10.0",
    "10.00",
    "1.0000",
    "1.00",
    "52",
    "yes",
    "15W, MAXN",
  ]);
  expect(row(total)).toHaveLength(HEAD.length);
});

test("what no entry knows is a dash", () => {
  const none = summarise([record(1, BLIND)]);
  expect(row(none)).toEqual(["2026-01-31 08:01:00", "10.0", "-", "-", "-", "-", "-", "-"]);
  expect(none.joules).toBeUndefined();
  // A sensor that read 0 J measured nothing; joules without a frame are not divided.
  expect(summarise([record(1, { joules: 0 })]).watts).toBeUndefined();
  expect(summarise([record(1, { frames: 0 })])).toMatchObject({
    watts: 5,
    joulesPerFrame: undefined,
    fpsPerWatt: 0,
  });
  expect(row(summarise([record(1, { frames: 1, joules: 0.5 })]))).toContain("0.5000");
  expect(row(summarise([record(1)]))[6]).toBe("no");
});

test("groups of equal size but the last", () => {
  const records = Array.from({ length: 7 }, (_, minute) => record(minute));
  const sizes = (groups: number) =>
    grouped(records, groups).map(({ frames, to }) => [frames / 600, to.slice(14, 16)]);
  expect(sizes(3)).toEqual([
    [3, "02"],
    [3, "05"],
    [1, "06"],
  ]);
  expect(sizes(7)).toHaveLength(7);
  expect(sizes(20)).toHaveLength(7);
});

test("bars from 0 to the largest value", () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe("▁▂▃▄▅▆▇█");
  expect(sparkline([0, 0])).toBe("▁▁");
  expect(sparkline([0.5, undefined, 0.25])).toBe("█ ▅");
});

test("the plot: minutes since the first entry, watts and joules per frame as lines", () => {
  const watts = (minute: number, value: number, perFrame: number) =>
    record(minute, { watts: value, joulesPerFrame: perFrame });
  const elements = svgElements(
    energyPlot([watts(0, 10, 1), watts(4, 1, UNKNOWN as never), watts(8, 10, 1)])!,
  );
  // 0 to 8 minutes are 64 to 550 pixels, 1 to 10 W are 384 to 64.
  expect(elements.filter((element) => element.startsWith("path"))).toEqual([
    "path M64.0 64.0L307.0 384.0L550.0 64.0 line0",
    "path M64.0 384.0L550.0 384.0 line1",
  ]);
  expect(elements.filter((element) => / title | axis /.test(element))).toEqual([
    "text 64.0 24.0 title start Energy from 2026-01-31T08:00:00.000Z",
    "text 550.0 422.0 axis end minutes",
    "text 56.0 52.0 axis start watts, joules per frame",
  ]);
  const alone = svgElements(energyPlot([record(0, { watts: 2, joulesPerFrame: UNKNOWN })])!);
  expect(alone.filter((element) => element.startsWith("path"))).toHaveLength(1);
});
