// SPDX-License-Identifier: Apache-2.0
// Percentiles at the ends of the range, and by nearest rank.
import { expect, test } from "vitest";
import { Histogram } from "../../../core/index.js";

test.each<[values: number[], p50: number, p95: number, p99: number]>([
  [[0, 0, 0], 0, 0, 0],
  [[-5, -5], -5, -5, -5],
  [[0, 1e-9, 1e-7, 8], 0, 8, 8],
  [[2e9, 5e12], 2e9, 2e9, 2e9],
  // Nearest rank: the 10th, the 19th and the 20th of 20.
  [Array.from({ length: 20 }, (_, i) => 1000 * 2 ** i), 1000 * 2 ** 9, 1000 * 2 ** 18, 1000 * 2 ** 19],
])("percentiles of %j are at most half a per cent off", (values, p50, p95, p99) => {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  expect(histogram.count).toBe(values.length);
  const found = histogram.percentiles()!;
  for (const [got, expected] of [
    [found.p50, p50],
    [found.p95, p95],
    [found.p99, p99],
  ] as const)
    expect(Math.abs(got - expected)).toBeLessThanOrEqual(0.0051 * Math.abs(expected) + 2e-6);
});
