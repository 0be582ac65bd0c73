// SPDX-License-Identifier: Apache-2.0
// Mean, median and quantiles of measured values.
import { describe, expect, test } from "vitest";
import { mean, median, quantile } from "../../core/index.js";

describe("quantile", () => {
  test.each([
    [[3, 1, 2], 0.5, 2],
    [[3, 1, 2], 0, 1],
    [[3, 1, 2], 1, 3],
    [[4, 1, 2, 3], 0.95, 4],
    [[Number.NaN, 5], 0.5, 5],
  ])("%j at %d is %d", (values, share, expected) => expect(quantile(values, share)).toBe(expected));

  test("no values give NaN", () => expect(quantile([], 0.5)).toBeNaN());
});

test("the median of an even count is the upper of the two middle values; the argument keeps its order", () => {
  const values = [4, 1, 3, 2];
  expect(median(values)).toBe(3);
  expect(values).toEqual([4, 1, 3, 2]);
});

test("the mean of a typed array; no values give NaN", () => {
  expect(mean(Uint8Array.of(1, 2, 6))).toBe(3);
  expect(mean([])).toBeNaN();
});
