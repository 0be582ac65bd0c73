// SPDX-License-Identifier: Apache-2.0
// YAML that is nested too deeply, and keys that a mapping has twice: their places, and texts that look like them.
import { describe, expect, test } from "vitest";
import { parseYamlDocument } from "../../../core/yaml.js";

const problems = (text: string) =>
  parseYamlDocument(text).document.errors.map(({ message, linePos }) => ({
    message: message.replace(/ at line[\s\S]*/, ""),
    at: linePos?.[0],
  }));
const tooDeep = (line: number, col: number) => [
  { message: "nesting of more than 100 levels", at: { line, col } },
];

describe("nesting", () => {
  test("of 100 flow collections is read, and the first bracket beyond is named", () => {
    const text = (count: number) => `a: 'x'\nb: ${"[".repeat(count)}${"]".repeat(count)}\n`;
    expect(problems(text(100))).toEqual([]);
    // "b: ", then 100 brackets.
    expect(problems(text(101))).toEqual(tooDeep(2, 104));
    expect(problems(`${"{a: ".repeat(101)}1${"}".repeat(101)}`)).toEqual(tooDeep(1, 401));
    const closed = `[${`${"[".repeat(98)}${"]".repeat(98)},`.repeat(2)}]`;
    expect(problems(closed)).toEqual([]);
    const maps = `[${`${"{a: ".repeat(98)}1${"}".repeat(98)},`.repeat(2)}]`;
    expect(problems(maps)).toEqual([]);
  });

  test.each(["- ", "? "])("of 100 indicators %j in a line is read", (indicator) => {
    expect(problems(`${indicator.repeat(100)}x`)).toEqual([]);
    expect(problems(`${indicator.repeat(101)}x`)).toEqual(tooDeep(1, 201));
  });

  test("of 101 tags or anchors is refused at the last", () => {
    // The colon counts, too: the hundredth tag is the 101st.
    expect(problems(`a:\n  ${"!t ".repeat(101)}x`)).toContainEqual(tooDeep(2, 3 + 297)[0]);
    expect(problems(`${"&b ".repeat(101)}x`)).toContainEqual(tooDeep(1, 301)[0]);
  });

  test("many keys and items, one after the other, are not nested", () => {
    expect(problems("a: 1\n".concat(Array.from({ length: 300 }, (_, i) => `k${i}: 1\n`).join("")))).toEqual(
      [],
    );
    const { document } = parseYamlDocument("- x\n".repeat(300));
    expect(document.errors).toEqual([]);
    expect(document.toJS()).toHaveLength(300);
  });
});

test.each<[text: string, at: number | undefined]>([
  ["a: 1\nb: 2\na: 3\n", 10],
  ["a: 1\na: 2\nb: 3\nb: 4\n", 5],
  ["x:\n  k: 1\n  k: 2\n", 12],
  ["- k: 1\n- k: 2\n", undefined],
  ["k:\n  k: 1\n", undefined],
  ["1: a\n'1': b\n", undefined],
  ["? [a]\n: 1\n? [a]\n: 2\n", undefined],
  ["", undefined],
])("the first repeated key of %j is at %s", (text, at) => {
  const { document, repeatedAt } = parseYamlDocument(text);
  expect(document.errors).toEqual([]);
  expect(repeatedAt).toBe(at);
});

test("a text with an error has no repeated key", () => {
  const { document, repeatedAt } = parseYamlDocument("a: 1\na: 2\nb: [\n");
  expect(document.errors.length).toBeGreaterThan(0);
  expect(repeatedAt).toBeUndefined();
});
