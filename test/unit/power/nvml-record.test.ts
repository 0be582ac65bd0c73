// SPDX-License-Identifier: Apache-2.0
// Records of real GPUs (bench/results/<machine>/*-nvml-samples.csv): the meter on power samples alone stays within 2 % of
// the GPU's own energy counter over a minute.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { integrateRecord } from "../../doubles/nvml-record.js";

const results = join(import.meta.dirname, "../../../bench/results");
const records = existsSync(results)
  ? readdirSync(results, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("-nvml-samples.csv"),
    )
  : [];

describe.skipIf(records.length === 0)(
  "the meter against the counter of a real GPU (no record has been committed)",
  () => {
    test.each(records.length > 0 ? records : ["no record has been committed"])("%s", (name) => {
      const { powerJoules, counterJoules, seconds } = integrateRecord(join(results, name));
      expect(seconds).toBeGreaterThan(55);
      expect(counterJoules).toBeGreaterThan(0);
      expect(Math.abs(powerJoules / counterJoules - 1)).toBeLessThan(0.02);
    });
  },
);
