// SPDX-License-Identifier: Apache-2.0
// Tests the limit of repeated log lines.
import { expect, test } from "vitest";
import { RepeatLimit } from "../../../../edge/cli/run/repeat-limit.js";

test("a camera program that fails for a day is logged some thirty times, not eight thousand", () => {
  let now = 0;
  const limit = new RepeatLimit(() => now);
  const lines: string[] = [];
  let ended = 0;
  for (; now < 86_400_000; now += 10_000, ended++) {
    const line = limit.admit(`gst[${ended}]: ended with exit code 1`);
    if (line !== undefined) lines.push(line);
  }
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.length).toBeLessThan(45);
  expect(lines.slice(0, 5).every((line) => !line.includes("left out"))).toBe(true);
  const leftOut = lines.reduce((sum, line) => sum + Number(/\((\d+) such lines/.exec(line)?.[1] ?? 0), 0);
  expect(leftOut + lines.length).toBeGreaterThan(ended - 400);
});

test("other lines, and the same one after hours without it, are logged at once", () => {
  let now = 0;
  const limit = new RepeatLimit(() => now);
  for (let count = 0; count < 10; count++) limit.admit("left camera lost");
  expect(limit.admit("left camera lost")).toBeUndefined();
  expect(limit.admit("right camera lost")).toBe("right camera lost");
  now += 3 * 3_600_000;
  expect(limit.admit("left camera lost")).toBe("left camera lost");
});
