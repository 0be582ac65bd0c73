// SPDX-License-Identifier: Apache-2.0
// Notices on a terminal break between words; in a file each is one line. Also the limits of numbers on the command line.
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  numberBetween,
  positiveNumber,
  secondsUpTo,
  wholeNumber,
  wholeNumberFrom,
} from "../../../../edge/cli/numbers.js";
import {
  beginOutput,
  columns,
  note,
  paint,
  printJson,
  printJsonError,
  printText,
  terminalWidth,
  wrap,
} from "../../../../edge/cli/output.js";
import { Progress } from "../../../../edge/cli/progress.js";
import { noteSkipped } from "../../../../edge/cli/skipped.js";

afterEach(() => vi.restoreAllMocks());

test.each([
  ["stderr", note],
  ["stdout", printText],
] as const)("%s", (name, print) => {
  const stream = process[name];
  const written: string[] = [];
  vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const sentence = "warning: the two images are 12.5 ms apart on average: moving objects get a wrong depth";
  const was = { isTTY: stream.isTTY, columns: stream.columns };
  try {
    Object.assign(stream, { isTTY: true, columns: 50 });
    print(sentence);
    print("  short");
    Object.assign(stream, { isTTY: false });
    print(sentence);
  } finally {
    Object.assign(stream, was);
  }
  expect(written).toEqual([
    "warning: the two images are 12.5 ms apart on\naverage: moving objects get a wrong depth\n",
    "  short\n",
    `${sentence}\n`,
  ]);
});

const stream = (of: { isTTY?: boolean; columns?: number }) => of as NodeJS.WriteStream;

test.each([
  ["red", "\u001b[31mx\u001b[39m"],
  ["green", "\u001b[32mx\u001b[39m"],
  ["yellow", "\u001b[33mx\u001b[39m"],
  ["dim", "\u001b[2mx\u001b[22m"],
  ["bold", "\u001b[1mx\u001b[22m"],
] as const)("%s on a terminal, unless NO_COLOR is set", (colour, painted) => {
  vi.stubEnv("NO_COLOR", "");
  try {
    expect(paint(colour, "x", stream({ isTTY: true }))).toBe(painted);
    expect(paint(colour, "x", stream({}))).toBe("x");
    vi.stubEnv("NO_COLOR", "1");
    expect(paint(colour, "x", stream({ isTTY: true }))).toBe("x");
  } finally {
    vi.unstubAllEnvs();
  }
});

test("columns are as wide as their widest cell, without blanks at the end", () => {
  expect(columns([["a", "bcd", ""], ["ef"], ["", "g", "h"]])).toEqual(["a   bcd", "ef", "    g    h"]);
  expect(columns([])).toEqual([]);
});

test("lines break where the next word would go over the width", () => {
  expect(wrap("ab cd ef", 5)).toEqual(["ab cd", "ef"]);
  expect(wrap("ab cd ef", 4)).toEqual(["ab", "cd", "ef"]);
  expect(wrap("longer x", 3)).toEqual(["longer", "x"]);
});

test.each([
  [undefined, 80],
  [0, 80],
  [39, 80],
  [40, 40],
  [200, 200],
])("a terminal of %s columns is taken as one of %s", (columns, width) => {
  expect(terminalWidth(stream(columns === undefined ? {} : { columns }))).toBe(width);
});

test("JSON: 64-bit integers as text; an error only if no result was printed", () => {
  const written: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const error = { code: "USAGE", message: "m", hint: "h" };
  beginOutput();
  printJsonError(error);
  beginOutput();
  printJson({ big: 2n ** 63n, none: Number.NaN });
  printJsonError(error);
  expect(written).toEqual([
    '{"error":{"code":"USAGE","message":"m","hint":"h"}}\n',
    '{"big":"9223372036854775808","none":null}\n',
  ]);
});

test("skipped items are printed up to a number, and the last one reports the limit", () => {
  const written: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const skip = noteSkipped(new Progress(stream({ isTTY: false })), 2);
  for (const text of ["a", "b", "c", "d"]) skip(text);
  noteSkipped(new Progress(stream({ isTTY: false })), 9, "failed")("e");
  expect(written).toEqual(["skipped: a\n", "skipped: b; more of them are only counted\n", "failed: e\n"]);
});

describe("numbers on the command line", () => {
  const parsed = (parse: () => number) => {
    try {
      return parse();
    } catch (error) {
      return (error as Error).message;
    }
  };
  test.each([
    [wholeNumberFrom(2), ["2", "9007199254740991"], ["1", "2.5", " ", "x", "9007199254740992"]],
    [secondsUpTo(9), ["0.1", "9"], ["0", "9.1", "x", ""]],
    [(text: string) => wholeNumber("--n", text, 2, 9), ["2", "9"], ["1", "10", "2.0", "+3", "", " 3"]],
    [(text: string) => numberBetween("--n", text, 2, 9), ["2", "9", "2.5"], ["1.9", "9.1", " ", "x"]],
    [(text: string) => positiveNumber("--n", text), ["0.001"], ["0", "-1", "Infinity", " ", "x"]],
  ])("limits of parser %#", (parse, good, bad) => {
    for (const text of good)
      expect(
        parsed(() => parse(text)),
        text,
      ).toBe(Number(text));
    for (const text of bad)
      expect(
        parsed(() => parse(text)),
        text,
      ).toMatch(/^expected /);
  });
  test("the message names the limits", () => {
    expect(parsed(() => numberBetween("--n", "1", 2, 9))).toBe(
      'expected --n to be a number from 2 to 9, got "1"',
    );
  });
});
