// SPDX-License-Identifier: Apache-2.0
// The record of a real GPU: the meter on power samples alone stays within 2 % of the GPU's own energy counter over a minute.
import { join } from "node:path";
import { expect, test } from "vitest";
import { integrateRecord } from "../../doubles/nvml-record.js";

test("the meter against the counter of an H200", () => {
  const record = join(import.meta.dirname, "../../data/h200-nvml-samples.csv.gz");
  const { powerJoules, counterJoules, seconds } = integrateRecord(record);
  expect(seconds).toBeGreaterThan(55);
  expect(counterJoules).toBeGreaterThan(0);
  expect(Math.abs(powerJoules / counterJoules - 1)).toBeLessThan(0.02);
});
