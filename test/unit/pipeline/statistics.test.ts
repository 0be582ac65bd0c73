// SPDX-License-Identifier: Apache-2.0
// Percentiles, rates and counts, against values worked out by hand.
import { expect, test } from "vitest";
import { Histogram } from "../../../core/index.js";
import { CountsByCause, Rate, RecentValues, RunValues } from "../../../edge/contracts/statistics.js";

test("percentiles by nearest rank", () => {
  const values = new RecentValues();
  expect(values.percentiles()).toBeUndefined();
  for (let value = 100; value >= 1; --value) values.add(value);
  expect(values.percentiles()).toEqual({ p50: 50, p95: 95, p99: 99 });
});

test("one value is every percentile", () => {
  const values = new RecentValues();
  values.add(7);
  expect(values.percentiles()).toEqual({ p50: 7, p95: 7, p99: 7 });
});

test("only the newest values count", () => {
  const values = new RecentValues(4);
  for (const value of [900, 900, 1, 2, 3, 4]) values.add(value);
  expect(values.percentiles()).toEqual({ p50: 2, p95: 4, p99: 4 });
  expect(values.count).toBe(6);
});

test("counts by cause are snapshots", () => {
  const counts = new CountsByCause();
  counts.add("late");
  const before = counts.snapshot();
  counts.add("late", 2);
  expect(before).toEqual({ late: 1 });
  expect(counts.snapshot()).toEqual({ late: 3 });
});

test("a steady rate is found, a stream that stopped fades to 0", () => {
  const rate = new Rate();
  for (let ms = 0; ms <= 3000; ms += 40) rate.add(ms);
  expect(rate.perSecond(3000)).toBeCloseTo(25, 1);
  expect(rate.perSecond(4000)).toBeLessThan(20);
  expect(rate.perSecond(5100)).toBe(0);
});

test("a rate faster than the memory is long is still found", () => {
  const rate = new Rate();
  for (let ms = 0; ms <= 2000; ms += 2) rate.add(ms);
  expect(rate.perSecond(2000)).toBeCloseTo(500, 0);
});

test("a histogram gives percentiles of any number of values within half a per cent", () => {
  const histogram = new Histogram();
  expect(histogram.percentiles()).toBeUndefined();
  for (let i = 1; i <= 100_000; i++) histogram.add(i / 1000);
  const { p50, p95, p99 } = histogram.percentiles()!;
  for (const [found, exact] of [
    [p50, 50],
    [p95, 95],
    [p99, 99],
  ] as const)
    expect(Math.abs(found / exact - 1)).toBeLessThan(0.0051);
  const one = new Histogram();
  for (const value of [7, 7, 7]) one.add(value);
  expect(one.percentiles()).toEqual({ p50: 7, p95: 7, p99: 7 });
  for (const odd of [0, -3, 1e300, Number.MIN_VALUE]) one.add(odd);
  expect(one.count).toBe(7);
});

test("a run's percentiles are those of all its values, the recent ones of the newest", () => {
  const values = new RunValues();
  for (let i = 0; i < 1000; i++) values.add(100);
  expect(values.percentiles("run")).toEqual({ p50: 100, p95: 100, p99: 100 });
  for (let i = 0; i < 3000; i++) values.add(10);
  for (let i = 0; i < 1024; i++) values.add(1);
  expect(values.percentiles("recent")).toEqual({ p50: 1, p95: 1, p99: 1 });
  const { p50, p95 } = values.percentiles("run")!;
  expect(p50).toBeCloseTo(10, 0);
  expect(p95).toBe(100);
});
