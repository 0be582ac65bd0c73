// SPDX-License-Identifier: Apache-2.0
// Tests flags that name boards, lengths and numbers: values that are taken, and the sentence for each that is not.
import { describe, expect, test } from "vitest";
import { DICTIONARIES, LENS_MODELS } from "../../../../../camera/index.js";
import {
  numberBetween,
  positiveNumber,
  secondsUpTo,
  wholeNumber,
  wholeNumberFrom,
} from "../../../../../edge/cli/numbers.js";
import {
  type CalibrateFlags,
  checkFlags,
  parseBoard,
  parseMetres,
  parseOthers,
  parseSeconds,
} from "../../../../../edge/commands/calibrate/flags.js";

/** The result, or the message of the error. */
function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as Error).message;
  }
}

const metres = (text: string) => () => parseMetres("--square", text);
const notLength = (text: string) =>
  `expected --square to be a length such as 0.025 (metres) or 25mm, got "${text}"`;
const between = "expected --x to be a number from -1 to 5, got";
const whole = "expected --x to be a whole number from 2 to 5, got";
const above = "expected a number above 0 for --x, got";

test.each<[string, () => unknown, unknown]>([
  ["metres", metres("0.025"), 0.025],
  ["millimetres", metres(" 25 MM "), 0.025],
  ["centimetres", metres("2.5cm"), 0.025],
  ["an exponent", metres("2e-2m"), 0.02],
  ["another unit", metres("1in"), notLength("1in")],
  ["no length", metres("0"), notLength("0")],
  ["a hundred metres", metres("100"), notLength("100")],
  ["--interval", () => parseSeconds("0"), 0],
  ["--interval at its end", () => parseSeconds("3600"), 3600],
  ...["", "-1", "3601", "x"].map((text): [string, () => unknown, unknown] => [
    `--interval "${text}"`,
    () => parseSeconds(text),
    "expected seconds, 0 to 3600",
  ]),
  ["a whole number", () => wholeNumber("--x", "5", 2, 5), 5],
  ["a fraction", () => wholeNumber("--x", "2.5", 2, 5), `${whole} "2.5"`],
  ["less", () => wholeNumber("--x", "1", 2, 5), `${whole} "1"`],
  ["more", () => wholeNumber("--x", "6", 2, 5), `${whole} "6"`],
  ["a number", () => numberBetween("--x", "-1", -1, 5), -1],
  ["no number", () => numberBetween("--x", " ", -1, 5), `${between} " "`],
  ["a smaller number", () => numberBetween("--x", "-2", -1, 5), `${between} "-2"`],
  ["a larger number", () => numberBetween("--x", "5.1", -1, 5), `${between} "5.1"`],
  ["a positive number", () => positiveNumber("--x", "0.5"), 0.5],
  ["nothing", () => positiveNumber("--x", ""), `${above} ""`],
  ["zero", () => positiveNumber("--x", "0"), `${above} "0"`],
  ["infinity", () => positiveNumber("--x", "Infinity"), `${above} "Infinity"`],
  ["seconds", () => secondsUpTo(9)("9"), 9],
  ["no seconds", () => secondsUpTo(9)("0"), "expected seconds, above 0 and up to 9"],
  ["too many seconds", () => secondsUpTo(9)("9.1"), "expected seconds, above 0 and up to 9"],
  ["a count", () => wholeNumberFrom(1)("1"), 1],
  ...["", "0", "1.5"].map((text): [string, () => unknown, unknown] => [
    `a count of "${text}"`,
    () => wholeNumberFrom(1)(text),
    "expected a whole number of 1 or more",
  ]),
])("%s", (_what, run, expected) => expect(outcome(run)).toEqual(expected));

describe("the board", () => {
  const board = (flags: Partial<CalibrateFlags>) => () =>
    parseBoard({ pattern: "chessboard", dictionary: DICTIONARIES[1]!, ...flags } as CalibrateFlags);
  const charuco = { pattern: "charuco", board: "8x5", square: "30mm" } as const;
  const size = (text: string) =>
    `expected --board to be COLUMNSxROWS of 3 to 64 each, such as 9x6, got "${text}"`;
  const marker = "expected --marker to be 0.3 to 0.95 of --square (0.03 m), got";

  test.each<[string, () => unknown, unknown]>([
    [
      "a chessboard that is guessed",
      board({ square: "25mm" }),
      { pattern: "chessboard", squareMetres: 0.025 },
    ],
    [
      "a chessboard of known size",
      board({ square: "25mm", board: "9 x 6" }),
      { pattern: "chessboard", squareMetres: 0.025, columns: 9, rows: 6 },
    ],
    [
      "a baseline in place of the square",
      board({ baseline: "0.12", board: "9×6" }),
      { pattern: "chessboard", squareMetres: 1, columns: 9, rows: 6 },
    ],
    [
      "no length at all",
      board({}),
      "expected --square, the side of a square of the printed board, got nothing",
    ],
    [
      "the smallest and the largest size",
      board({ square: "1cm", board: "3x64" }),
      { pattern: "chessboard", squareMetres: 0.01, columns: 3, rows: 64 },
    ],
    ["two columns", board({ square: "1cm", board: "2x6" }), size("2x6")],
    ["65 rows", board({ square: "1cm", board: "9x65" }), size("9x65")],
    ["no size", board({ square: "1cm", board: "large" }), size("large")],
    [
      "circles of unknown size",
      board({ square: "1cm", pattern: "circles" }),
      "expected --board COLUMNSxROWS: a board of circles cannot be guessed",
    ],
    [
      "a board of markers",
      board({ ...charuco, marker: "22mm" }),
      { pattern: "charuco", columns: 8, rows: 5, squareMetres: 0.03, markerMetres: 0.022, dictionary: 1 },
    ],
    ["no marker", board(charuco), "expected --square and --marker, the sides of a square and of a marker"],
    [
      "markers without a square",
      board({ pattern: "charuco", board: "8x5", baseline: "0.1", marker: "22mm" }),
      "expected --square and --marker, the sides of a square and of a marker",
    ],
    ...["0.95", "0.3"].map((side): [string, () => unknown, unknown] => [
      `a marker of ${side} of the square`,
      board({ ...charuco, square: "1", marker: side }),
      { pattern: "charuco", columns: 8, rows: 5, squareMetres: 1, markerMetres: Number(side), dictionary: 1 },
    ]),
    ["a large marker", board({ ...charuco, marker: "29mm" }), `${marker} 0.029 m`],
    ["a small marker", board({ ...charuco, marker: "8mm" }), `${marker} 0.008 m`],
  ])("%s", (_what, run, expected) => expect(outcome(run)).toEqual(expected));
});

const KALIBR =
  "expected --kalibr with a lens that a camchain can hold (radtan of k1 k2 p1 p2, or equidistant), got";
test.each<[Partial<CalibrateFlags>, unknown]>([
  [{ lens: "rational" }, undefined],
  [{ kalibr: "a.yaml", lens: "fisheye" }, undefined],
  [{ kalibr: "a.yaml", lens: "radtan", k3: false }, undefined],
  [{ kalibr: "a.yaml", lens: "radtan", k3: true }, `${KALIBR} --lens radtan with k3`],
  [{ kalibr: "a.yaml", lens: "rational", k3: false }, `${KALIBR} --lens rational`],
  [{ baseline: "wide" }, 'expected --baseline to be a length such as 0.025 (metres) or 25mm, got "wide"'],
])("flags %j", (flags, expected) => {
  expect(outcome(() => checkFlags(flags as CalibrateFlags))).toEqual(expected);
});

describe("further cameras", () => {
  const others = (...other: string[]) =>
    outcome(() => parseOthers({ other, lens: "radtan" } as CalibrateFlags));
  const camera = (name: string, place: string, lens = "radtan") => ({ name, lens, place });
  const form = (text: string) => `expected --other to be NAME=IMAGES or NAME:LENS=IMAGES, got "${text}"`;
  const lenses = LENS_MODELS.join(", ");
  const numbered = (count: number) => Array.from({ length: count }, (_, i) => `c${i}=images`);
  const [longest, tooLong] = ["n".repeat(32), "n".repeat(33)];

  test.each<[string[], unknown]>([
    [[], []],
    [["rgb=stills/rgb"], [camera("rgb", "stills/rgb")]],
    [["T-1_x:fisheye=a=b:c"], [camera("T-1_x", "a=b:c", "fisheye")]],
    [[`${longest}=x`], [camera(longest, "x")]],
    [
      ["a=1", "b:rational=2"],
      [camera("a", "1"), camera("b", "2", "rational")],
    ],
    [[`${tooLong}=x`], form(`${tooLong}=x`)],
    ...["rgb", "rgb=", "=x", "-a=x", "a b=x", "rgb:=x"].map((text): [string[], string] => [
      [text],
      form(text),
    ]),
    [["t:wide=x"], `camera t: expected a lens of ${lenses}, got wide`],
    [["a=1", "a=2"], "expected every camera to have its own name, got a twice"],
    [["right=1"], "expected every camera to have its own name, got right twice"],
    [numbered(16), numbered(16).map((_, i) => camera(`c${i}`, "images"))],
    [numbered(17), "expected at most 16 --other, got 17"],
  ])("--other %j", (given, expected) => expect(others(...given)).toEqual(expected));

  test("none at all, and what to write in place of an unknown lens", () => {
    expect(parseOthers({ lens: "radtan" } as CalibrateFlags)).toEqual([]);
    expect(() => parseOthers({ other: ["t:wide=x"], lens: "fisheye" } as CalibrateFlags)).toThrow(
      expect.objectContaining({ hint: "For example --other t:fisheye=x." }),
    );
  });
});
