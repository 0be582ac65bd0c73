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

test("a line of each second: five times, then after 10 s and twice as long each time, up to an hour", () => {
  let now = 0;
  const limit = new RepeatLimit(() => now);
  const logged: [second: number, leftOut: number][] = [];
  for (let second = 0; second <= 12_314; second++) {
    now = 1000 * second;
    const line = limit.admit("x");
    if (line !== undefined)
      logged.push([second, Number(/^x(?: \((\d+) such lines were left out\))?$/.exec(line)![1] ?? 0)]);
  }
  const pauses = [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600];
  const seconds = [14, 34, 74, 154, 314, 634, 1274, 2554, 5114, 8714, 12_314];
  expect(logged).toEqual([
    ...[0, 1, 2, 3, 4].map((second) => [second, 0]),
    ...pauses.map((pause, i) => [seconds[i], pause - 1]),
  ]);
});

test("a line counts as new after more than two hours without it", () => {
  for (const [pause, expected] of [
    [7_200_000, "x (1 such lines were left out)"],
    [7_200_001, "x"],
  ] as const) {
    let now = 0;
    const limit = new RepeatLimit(() => now);
    for (let count = 0; count < 6; count++) limit.admit("x");
    now = pause;
    expect(limit.admit("x")).toBe(expected);
  }
});

test("a hundred kinds of lines are remembered, and beyond them the oldest kind is forgotten", () => {
  let now = 0;
  const limit = new RepeatLimit(() => now);
  const repeat = (line: string) => {
    for (let count = 0; count < 5; count++) expect(limit.admit(line)).toBe(line);
    expect(limit.admit(line)).toBeUndefined();
  };
  repeat("first");
  const others = Array.from({ length: 99 }, (_, i) => `other ${"i".repeat(i)}`);
  for (const line of others) limit.admit(line);
  expect(limit.admit("first")).toBeUndefined();
  // It begins again, after all others.
  now = 8_000_000;
  repeat("first");
  limit.admit("one more");
  expect(limit.admit("first")).toBeUndefined();
  for (const line of others.slice(1)) limit.admit(`new ${line}`);
  expect(limit.admit("first")).toBeUndefined();
  limit.admit("the hundredth after it");
  expect(limit.admit("first")).toBe("first");
});
