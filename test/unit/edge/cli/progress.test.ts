// SPDX-License-Identifier: Apache-2.0
// The text of the progress bar, and that it is drawn on a terminal only.
import { expect, test } from "vitest";
import { Progress, progressLine } from "../../../../edge/cli/progress.js";

test("the bar has the share, the rate and the remaining time", () => {
  expect(progressLine(20, 30, 2)).toBe("[################--------] 66 % 20/30, 10.0/s, 0:01 left");
  expect(progressLine(7, undefined, 0)).toBe("7");
  expect(progressLine(7, undefined, 2, "n")).toBe("7, 3.5/s, n");
  expect(progressLine(7, 6, 2)).toBe("7, 3.5/s");
  expect(progressLine(0, 0, 1)).toBe("[########################] 100 % 0/0");
  expect(progressLine(1, 121, 6)).toBe("[------------------------] 0 % 1/121, 0.2/s, 12:00 left");
  expect(progressLine(30, 30, 3, "engine 97 %")).toBe(
    "[########################] 100 % 30/30, 10.0/s, engine 97 %",
  );
  expect(progressLine(0, 4, 0, "idle power", 125)).toBe(
    "[------------------------] 0 % 0/4, 2:05 left, idle power",
  );
});

test.each([true, false])("on a terminal: %s", (isTTY) => {
  const written: string[] = [];
  const stream = { isTTY, columns: 40, write: (text: string) => written.push(text) };
  const progress = new Progress(stream as never);
  progress.show(0, 2, "a note that does not fit into forty columns");
  progress.show(2, 2);
  progress.clear();
  progress.clear();
  if (!isTTY) return expect(written).toEqual([]);
  const [first, last, ...rest] = written.map((text) => text.replace("\r\u001b[K", ""));
  expect(first).toMatch(/^\[-{24}\] 0 % 0\/2, .*…$/);
  expect(first!.length).toBeLessThan(40);
  expect(last).toMatch(/^\[#{24}\] 100 %/);
  expect(rest).toEqual([""]);
});
