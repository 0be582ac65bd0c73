// SPDX-License-Identifier: Apache-2.0
// The page of bad days: each line of its table has a test, and that test is there under the name that the page gives it.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/guides/failures.md", "utf8");

function rowsOf(heading: string): string[][] {
  const from = page.indexOf(heading);
  const rows = page.slice(from).split("\n").slice(1);
  const first = rows.findIndex((line) => line.startsWith("| "));
  const table = rows.slice(first, first + rows.slice(first).findIndex((line) => !line.startsWith("|")));
  return table.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim()),
  );
}

const days = rowsOf("# Bad days");
const tests = rowsOf("## Tests");

test("every bad day has its test, or several, in the same order", () => {
  expect(days.length).toBeGreaterThan(20);
  const tested = tests.map(([day]) => day).filter((day, index, all) => day !== all[index - 1]);
  expect(tested).toEqual(days.map(([day]) => day));
  for (const cells of days) expect(cells.length, cells[0]).toBe(4);
});

test.each(tests)("%s: %s has the test", (_, file, name) => {
  const path = file!.replaceAll("`", "");
  expect(existsSync(path), path).toBe(true);
  expect(readFileSync(path, "utf8"), path).toContain(name);
});
