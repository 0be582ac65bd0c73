// SPDX-License-Identifier: Apache-2.0
// Settings in words: ranges, values that came instead, and which name was meant, each at the border of its rule.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  editDistance,
  either,
  expectedWords,
  foundWords,
  nearestChoice,
  nearestName,
  shortName,
} from "../../../../edge/config/words.js";
import type { Setting, SettingFacts } from "../../../../edge/contracts/setting.js";

test.each([
  [["a"], "a"],
  [["a", "b"], "a or b"],
  [["a", "b", "c"], "a, b or c"],
  [["a", "b", "c", "d"], "a, b, c or d"],
])("one of %j is %s", (words, text) => expect(either(words)).toBe(text));

const setting = (schema: z.ZodType, facts: Partial<SettingFacts> = {}): Setting => ({
  key: "a.b",
  schema,
  facts: { description: "", ...facts },
  takesEffect: "live",
});

test.each<[z.ZodType, string]>([
  [z.number(), "a number"],
  [z.number().min(1), "a number from 1"],
  [z.number().max(5), "a number up to 5"],
  [z.number().min(1).max(5), "a number from 1 to 5"],
  [z.number().gt(0), "a number above 0"],
  [z.number().gt(0).max(5), "a number above 0 and up to 5"],
  [z.number().lt(5), "a number below 5"],
  [z.number().min(1).lt(5), "a number from 1 and below 5"],
  [z.number().gt(0).lt(5), "a number above 0 and below 5"],
  [z.int().min(-3).max(9), "a whole number from -3 to 9"],
  [z.boolean(), "true or false"],
  [z.literal("max"), '"max"'],
  [z.enum(["a", "b", "c"]), '"a", "b" or "c"'],
  [z.union([z.literal("max"), z.number().min(0.5)]), '"max" or a number from 0.5'],
  [z.string().min(1), "text"],
])("what a setting accepts, %#, is: %s", (schema, words) => {
  expect(expectedWords(setting(schema))).toBe(words);
  expect(expectedWords(setting(schema, { unit: "px" }))).toBe(`${words} (px)`);
  expect(expectedWords(setting(schema, { unit: "px", expects: "host names" }))).toBe("host names (px)");
});

test.each<[unknown, string]>([
  [undefined, "nothing"],
  [null, "nothing"],
  [[1], "a list"],
  [{ a: 1 }, "a group of settings"],
  [false, "false"],
  [0, "0"],
  ["", '""'],
  ['a"b', '"a\\"b"'],
  // With its quotes: 80 characters, and 81.
  ["x".repeat(78), `"${"x".repeat(78)}"`],
  ["x".repeat(79), `"${"x".repeat(76)}...`],
])("a value, %#, is shown as %s", (value, words) => expect(foundWords(value)).toBe(words));

test("the password of what was to be a URL is not shown", () => {
  expect(foundWords("mqtt://anna:secret@host:99999")).not.toContain("secret");
});

/** By its definition: the last letters are equal, or one was inserted, deleted or replaced, or two were swapped. */
function slowDistance(a: string, b: string): number {
  if (a === "" || b === "") return a.length + b.length;
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)];
  const replaced = slowDistance(shortA, shortB) + (a.at(-1) === b.at(-1) ? 0 : 1);
  const best = Math.min(slowDistance(shortA, b) + 1, slowDistance(a, shortB) + 1, replaced);
  const isSwapped = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1);
  return isSwapped ? Math.min(best, slowDistance(a.slice(0, -2), b.slice(0, -2)) + 1) : best;
}

test("the distance of all words of up to three letters is that of the definition", () => {
  const words = [""];
  for (let at = 0; words[at]!.length < 3; at++) for (const letter of "abc") words.push(words[at]! + letter);
  expect(words).toHaveLength(1 + 3 + 9 + 27);
  for (const a of words)
    for (const b of words) expect(editDistance(a, b), `${a} ${b}`).toBe(slowDistance(a, b));
  // As Levenshtein and Damerau have it.
  expect(editDistance("kitten", "sitting")).toBe(3);
  expect(editDistance("paths", "pahts")).toBe(1);
});

describe("the name that was meant", () => {
  test.each<[string, string[], string | undefined]>([
    // Up to a third of the letters may differ.
    ["abcdef", ["xycdef"], "xycdef"],
    ["abcde", ["xycde"], undefined],
    ["ab", ["xb"], "xb"],
    ["ab", ["xy"], undefined],
    // Under another group it is half a letter farther: 1.5 is still near for a short name, 2.5 is not.
    ["abc", ["group.xbc"], "group.xbc"],
    ["abc", ["group.xyc"], undefined],
    ["abc", ["group.abc", "xbc"], "group.abc"],
    // Equally far: the same beginning, else the first.
    ["path", ["math", "pats"], "pats"],
    ["path", ["pats", "math"], "pats"],
    ["path", ["patx", "paty"], "patx"],
    ["abc.path", ["abc.math", "abc.patho", "abc.pats"], "abc.patho"],
    // The section that was named comes first, though another has the very name.
    ["a.mode", ["b.mode", "a.node"], "a.node"],
    ["a.mode", ["b.mode", "a.colour"], "b.mode"],
    // Without a dot there is no section.
    ["mode", ["modes.x", "mod"], "mod"],
    ["MODE", ["Mode"], "Mode"],
  ])("%s among %j is %s", (wrong, known, name) => expect(nearestName(wrong, known)).toBe(name));

  test("a name of more than 100 letters is compared with nothing, and cut to 100", () => {
    const [longest, tooLong] = ["k".repeat(100), "k".repeat(101)];
    expect(nearestName(longest, [tooLong])).toBe(tooLong);
    expect(nearestName(tooLong, [longest])).toBeUndefined();
    expect(shortName(longest)).toBe(longest);
    expect(shortName(tooLong)).toBe(`${"k".repeat(97)}...`);
  });

  test("a choice is named if the setting is one of several and the value is text", () => {
    const choices = setting(z.enum(["auto", "left", "right"]));
    expect([nearestChoice(choices, "rigth"), nearestChoice(choices, "zebra")]).toEqual(["right", undefined]);
    expect(nearestChoice(choices, 5)).toBeUndefined();
    expect(nearestChoice(setting(z.string()), "rigth")).toBeUndefined();
  });
});
