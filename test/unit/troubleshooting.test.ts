// SPDX-License-Identifier: Apache-2.0
// The page of troubleshooting: its codes are those of the catalogue, its sentences the program's, its settings exist.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CATALOGUE } from "../../core/index.js";
import { SETTING_BY_KEY } from "../../edge/config/index.js";

const page = readFileSync("docs/start/troubleshooting.md", "utf8");
const program = ["core", "edge", "camera", "cuda", "power", "clients/javascript/src"]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  )
  .filter((file) => /\.(ts|cc|cu)$/.test(file))
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| symptom") && !line.startsWith("| ---"));
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, words]) => words!);

test("every row has a symptom, a cause and what to do", () => {
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows)
    expect(
      row
        .split("|")
        .map((cell) => cell.trim())
        .filter((cell) => cell !== "").length,
      row,
    ).toBe(3);
});

test("every code is one of the catalogue, and no few of them are named", () => {
  const codes = quoted(page).filter((words) => /^[A-Z]+(_[A-Z]+)+$/.test(words));
  expect(codes.length).toBeGreaterThanOrEqual(8);
  for (const code of codes) expect(Object.keys(ERROR_CATALOGUE)).toContain(code);
});

test.each(rows.flatMap((row) => quoted(row.split("|")[1]!)).filter((words) => !/^[A-Z_]+$/.test(words)))(
  "the program says: %s",
  (sentence) => expect(program).toContain(sentence),
);

test("every setting is one", () => {
  const keys = quoted(page)
    .map((words) => /(?:^|--set )((?:[a-z]\w*\.)+\w+)(?:=.*)?$/.exec(words)?.[1])
    .filter((key) => key !== undefined);
  expect(keys.length).toBeGreaterThanOrEqual(6);
  for (const key of keys) expect([...SETTING_BY_KEY.keys()]).toContain(key);
});

test("every setting that an error's hint names is one", () => {
  const groups = new Set([...SETTING_BY_KEY.keys()].flatMap((key) => key.split(".").slice(0, -1)));
  const named = Object.values(ERROR_CATALOGUE).flatMap(({ hint }) =>
    [...hint.matchAll(/(?<![\w/.])([a-z]\w*)(?:\.\w+)+/g)].filter(([, group]) => groups.has(group!)),
  );
  expect(named.length).toBeGreaterThanOrEqual(4);
  for (const [key] of named) expect([...SETTING_BY_KEY.keys()]).toContain(key);
});
