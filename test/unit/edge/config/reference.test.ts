// SPDX-License-Identifier: Apache-2.0
// Every setting keeps what its page promises: the default, when it takes effect, and both ends of its range.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SETTINGS } from "../../../../edge/config/index.js";

interface Row {
  key: string;
  /** As docs/reference/config.md words it. */
  accepts: string;
  fallback: string;
  takesEffect: string;
}

const rows: Row[] = readFileSync("docs/reference/config.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => {
    const [, key, accepts, fallback, takesEffect] = line.split(/ ?\| ?/).map((cell) => cell.trim());
    return {
      key: key!.replaceAll("`", ""),
      accepts: accepts!,
      fallback: fallback!,
      takesEffect: takesEffect!,
    };
  })
  .filter(({ takesEffect }) => takesEffect === "live" || takesEffect === "restart");

const settings = new Map(SETTINGS.map((setting) => [setting.key, setting]));

/** A little beyond a number: the smallest step that a whole number, or another one, can take. */
const beyond = (value: number, isWhole: boolean) => (isWhole ? 1 : Math.max(Math.abs(value), 1) * 1e-9);

/** The values at the border of what a page's words promise: those that are accepted, and those that are not. */
function borders(accepts: string): { within: unknown[]; outside: unknown[] } {
  const words = accepts.replace(/ \([^)]*\)$/, "");
  if (words === "true or false") return { within: [true, false], outside: [0, "true", null] };
  const within: unknown[] = [...words.matchAll(/"([^"]*)"/g)].map(([, word]) => word);
  const outside: unknown[] = within.length > 0 ? ["no-such-word", true, null] : [];
  const plain = words.replaceAll(/"[^"]*"/g, "");
  if (/true or false/.test(plain)) {
    outside.splice(outside.indexOf(true), 1);
    within.push(true, false);
  }
  const range = /a (whole )?number(?: (from|above) (\S+))?(?: (?:to|and up to) (\S+))?/.exec(plain);
  if (range !== null) {
    const isWhole = range[1] !== undefined;
    const [low, high] = [range[3], range[4]].map((text) => (text === undefined ? undefined : Number(text)));
    outside.push("1", null, Number.NaN);
    if (low !== undefined) {
      outside.push(range[2] === "above" ? low : low - beyond(low, isWhole));
      within.push(range[2] === "above" ? low + beyond(low, isWhole) : low);
    }
    if (high !== undefined) {
      within.push(high);
      outside.push(high + beyond(high, isWhole));
    }
    if (isWhole && low !== undefined) outside.push(low + 0.5);
  } else if (/^\d+(, \d+)* or \d+$/.test(words)) {
    const numbers = words.split(/, | or /).map(Number);
    within.push(...numbers);
    outside.push(...numbers.map((number) => number + 1).filter((number) => !numbers.includes(number)));
    outside.push(numbers[0]! - 1, numbers[0]! + 0.5);
  }
  return { within, outside };
}

test("the page has every setting, once", () => {
  expect(rows.map(({ key }) => key).sort()).toEqual([...settings.keys()].sort());
  // Most settings have borders that can be tried; the others take text.
  const tried = rows.filter(({ accepts }) => borders(accepts).within.length > 0);
  expect(tried.length).toBeGreaterThan(250);
});

test.each(rows)("$key: $accepts", ({ key, accepts, fallback, takesEffect }) => {
  const { schema, facts, takesEffect: effect } = settings.get(key)!;
  const accept = (value: unknown) => schema.safeParse(value).success;
  const { within, outside } = borders(accepts);
  expect(within.filter((value) => !accept(value))).toEqual([]);
  expect(outside.filter(accept)).toEqual([]);
  expect(effect).toBe(takesEffect);
  const known = typeof facts.default === "function" ? "made when it is asked for" : facts.default;
  if (typeof facts.default !== "function")
    expect(known === undefined ? "none" : `\`${known}\``).toBe(fallback);
  if (known === undefined) expect(accept(undefined)).toBe(true);
  // Text may have one letter, but not none.
  if (accepts === "text" && !key.startsWith("outputs."))
    expect([accept("a"), accept("")]).toEqual([true, false]);
});
