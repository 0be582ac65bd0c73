// SPDX-License-Identifier: Apache-2.0
// Tests the data of the plots: ten minutes of each device, with any documents.
import { expect, test } from "vitest";
import { chartsFrom } from "../../../clients/page/figures/charts.js";
import { perSecond, recent, remember } from "../../../clients/page/figures/history.js";
import { S } from "../../../clients/page/strings.js";

test("ten minutes are kept, of each device its own, and a window takes the newest of them", () => {
  for (let second = 0; second < 2000; second++) remember("long", { fps: second }, second);
  remember("other", { fps: -1 }, 1999);
  const all = recent("long", 600);
  expect(all.length).toBe(601);
  expect([all[0]!.fps, all.at(-1)!.fps]).toEqual([1399, 1999]);
  expect(recent("long", 10).map(({ fps }) => fps)).toEqual([
    1989,
    ...Array.from({ length: 10 }, (_, i) => 1990 + i),
  ]);
  // Hours are not.
  expect(recent("long", 10_000).length).toBeLessThan(700);
  expect(recent("other", 600).map(({ fps }) => fps)).toEqual([-1]);
  expect(recent("nobody", 600)).toEqual([]);
});

test("metrics ten times a second stay bounded", () => {
  for (let i = 0; i < 20_000; i++) remember("fast", { fps: i }, i / 20);
  expect(recent("fast", 1e9).length).toBeLessThanOrEqual(6000);
});

test("drops a second are differences, and a program that began anew has none", () => {
  for (const [second, late] of [
    [1, 5],
    [2, 25],
    [4, 35],
    [5, 3],
    [6, 4],
  ] as const)
    remember("drops", { drops: { late } }, second);
  expect(perSecond(recent("drops", 60), "late")).toEqual([undefined, 20, 5, undefined, 1]);
});

test("documents of another program are no figures", () => {
  for (const document of [null, 7, "x", [], { fps: "30", power: [], drops: { late: "many", b: Number.NaN } }])
    remember("odd", document, 1);
  for (const sample of recent("odd", 60)) {
    expect(sample.fps).toBeUndefined();
    expect([sample.watts.size, sample.drops.size, sample.latency.size, sample.temperatures.size]).toEqual([
      0, 0, 0, 0,
    ]);
  }
});

test("a rig that drifts is a curve of each axis, and a missing value leaves a gap", () => {
  const health = (roll: number, yaw: unknown) => ({
    alignment: { rows: { p95: 0.1 + roll }, rotationDegrees: { total: roll, pitch: 0.01, yaw, roll } },
  });
  const unknown = { available: false, reason: "too few features: the standard deviation is 0.5 degrees" };
  for (const [second, roll] of [0, -0.01, -0.02, -0.03].entries())
    remember("warm", { health: health(roll, second === 1 ? unknown : 0.02) }, second);
  remember("warm", { health: { alignment: unknown } }, 4);
  const charts = chartsFrom(recent("warm", 60));
  expect(charts.map(({ key }) => key)).toEqual(["rotation", "rows"]);
  expect(charts[0]!.signed).toBe(true);
  expect(charts[0]!.lines).toEqual([
    { name: "pitch", values: [0.01, 0.01, 0.01, 0.01, undefined] },
    { name: "yaw", values: [0.02, undefined, 0.02, 0.02, undefined] },
    { name: "roll", values: [0, -0.01, -0.02, -0.03, undefined] },
  ]);
  expect(charts[1]!.lines[0]!.values[2]).toBeCloseTo(0.08, 9);
});

test("a drift of a hundredth of a degree a minute is a slope over the ten minutes of the widest window", () => {
  const widest = Math.max(...Object.keys(S.plots.windows).map(Number));
  expect(widest).toBe(600);
  // Fifteen minutes: what a rig does that warms up, with the noise of its looks.
  const pitchAt = (second: number) => (0.01 * second) / 60 + 0.003 * Math.sin(second);
  for (let second = 0; second <= 900; second++) {
    const pitch = pitchAt(second);
    const alignment = { rows: { p95: 9 * pitch }, rotationDegrees: { total: pitch, pitch, yaw: 0, roll: 0 } };
    remember("drifting", { health: { alignment } }, second);
  }
  const samples = recent("drifting", widest);
  expect(samples.at(-1)!.seconds - samples[0]!.seconds).toBe(600);
  const charts = chartsFrom(samples);
  const line = (key: string, name: string) =>
    charts.find((chart) => chart.key === key)!.lines.find((one) => one.name === name)!.values as number[];
  const rise = (values: number[]) => values.at(-1)! - values[0]!;
  expect(Math.abs(rise(line("rotation", "pitch")) - 0.1)).toBeLessThan(0.01);
  expect(Math.abs(rise(line("rows", "p95")) - 0.9)).toBeLessThan(0.09);
  // Minute by minute it goes up: a curve, not a step at its end.
  const minutes = Array.from({ length: 11 }, (_, minute) => line("rotation", "pitch")[60 * minute]!);
  for (const [minute, pitch] of minutes.entries())
    if (minute > 0) expect(pitch).toBeGreaterThan(minutes[minute - 1]!);
  expect(rise(line("rotation", "roll"))).toBe(0);
});
