// SPDX-License-Identifier: Apache-2.0
// Tests the search for the board in all pairs: its size as given or guessed, doubts about it, image sizes, further cameras.
import { describe, expect, test } from "vitest";
import type { CalibrateExports, Detection, GreyImage } from "../../../../camera/index.js";
import { lookForBoard, lookForOthers, type WantedBoard } from "../../../../edge/rig/calibrate/look.js";
import type { NamedPair } from "../../../../edge/rig/calibrate/read-pairs.js";

/** The first pixel of an image says what it shows: 96 is a board of 9x6, 0 nothing. */
const shows = (value: number, width = 20, height = 16): GreyImage => ({
  data: new Uint8Array(width * height).fill(value),
  width,
  height,
});

const detection = (absence: Detection["absence"], columns: number, rows: number): Detection => ({
  absence,
  columns,
  rows,
  missing: 0,
  ids: new Int32Array(),
  points: new Float64Array(),
  blurAlongRows: 0,
  blurAlongColumns: 0,
  contrast: 0,
});

/** Detects what the first pixel says, and lists what was looked for in which image: "96 as 0x0" is a guess. */
function scriptedNative() {
  const calls: string[] = [];
  const native = {
    detectBoard: async ({ image, columns, rows }: Parameters<CalibrateExports["detectBoard"]>[0]) => {
      calls.push(`${image[0]} as ${columns}x${rows}`);
      const [c, r] = [Math.floor(image[0]! / 10), image[0]! % 10];
      if (c === 0) return detection("nothing", 0, 0);
      return detection(columns === 0 || (c === columns && r === rows) ? "none" : "otherSize", c, r);
    },
  } as unknown as CalibrateExports;
  return { native, calls };
}

const pairOf = (left: GreyImage, right: GreyImage, at: number): NamedPair => ({
  name: `${at}.png`,
  read: async () => ({ left, right }),
});
const pairsOf = (values: readonly (readonly [number, number])[]) =>
  values.map(([left, right], at) => pairOf(shows(left), shows(right), at));

const CHESSBOARD: WantedBoard = { pattern: "chessboard", squareMetres: 0.03 };

async function look(values: readonly (readonly [number, number])[], wanted: WantedBoard) {
  const { native, calls } = scriptedNative();
  const progress: [number, number][] = [];
  const looked = await lookForBoard(native, pairsOf(values), wanted, (done, of) => progress.push([done, of]));
  const found = looked.seen.map(({ name, left, right }) => `${name} ${left.absence} ${right.absence}`);
  return { ...looked, seen: found, progress, calls: calls.sort() };
}

test("a named board is looked for once in every image", async () => {
  const wanted = { ...CHESSBOARD, columns: 9, rows: 6 };
  const rounds: [number, number][] = [
    [96, 96],
    [0, 75],
  ];
  expect(await look(rounds, wanted)).toEqual({
    board: wanted,
    imageSize: { width: 20, height: 16 },
    seen: ["0.png none none", "1.png nothing otherSize"],
    notes: [],
    progress: [
      [1, 2],
      [2, 2],
    ],
    calls: ["0 as 9x6", "75 as 9x6", "96 as 9x6", "96 as 9x6"],
  });
});

test("the size of a board is guessed, and images that showed another one are looked at again", async () => {
  // 9x6 in four images; 7x5 in two, and 9x5 and 8x6 in one each. Three of eight images fit at once on their side.
  const values = [
    [96, 96],
    [96, 75],
    [75, 96],
    [95, 86],
    [0, 0],
  ] as const;
  const guesses = values.flat().map((value) => `${value} as 0x0`);
  const again = [75, 75, 95, 86, 0, 0].map((value) => `${value} as 9x6`);
  expect(await look(values, CHESSBOARD)).toEqual({
    board: { ...CHESSBOARD, columns: 9, rows: 6 },
    imageSize: { width: 20, height: 16 },
    seen: [
      "0.png none none",
      "1.png none otherSize",
      "2.png otherSize none",
      "3.png otherSize otherSize",
      "4.png nothing nothing",
    ],
    notes: ["the board has 9x6 inner corners, found in 4 of 8 images"],
    progress: [1, 2, 3, 4, 5].map((done) => [done, 5]),
    calls: [...guesses, ...again].sort(),
  });
});

test.each([{ columns: 4 }, { rows: 4 }])("with %j alone the size is guessed", async (half) => {
  const { board, calls } = await look([[96, 96]], { ...CHESSBOARD, ...half });
  expect([board, calls]).toEqual([{ ...CHESSBOARD, columns: 9, rows: 6 }, ["96 as 0x0", "96 as 0x0"]]);
});

test.each([
  ["9x6", 75, "expected a board of 9x6 inner corners, the images show one of 7x5"],
  // A board of 9x6 corners has 10x7 squares.
  ["10x7", 96, "expected a board of 10x7 inner corners, the images show one of 9x6: 10x7 are its squares"],
  ["10x6", 96, "expected a board of 10x6 inner corners, the images show one of 9x6"],
  ["9x7", 96, "expected a board of 9x7 inner corners, the images show one of 9x6"],
  ["8x5", 96, "expected a board of 8x5 inner corners, the images show one of 9x6"],
  ["6x8", 96, "expected a board of 6x8 inner corners, the images show one of 9x6"],
  ["7x9", 96, "expected a board of 7x9 inner corners, the images show one of 9x6"],
])("images without any chessboard of %s are asked which they show", async (named, shown, message) => {
  const [columns, rows] = named.split("x").map(Number) as [number, number];
  await expect(look([[shown, shown]], { ...CHESSBOARD, columns, rows })).rejects.toMatchObject({
    code: "BOARD_NOT_FOUND",
    message,
    hint: `Say --board ${Math.floor(shown / 10)}x${shown % 10}, or leave --board out.`,
  });
});

test("no size is doubted that one pair shows, that the images show turned, or of another pattern", async () => {
  const named = { ...CHESSBOARD, columns: 9, rows: 6 };
  const guessed = (calls: readonly string[]) => calls.filter((call) => call.endsWith("0x0")).length;
  const doubts = async (values: readonly (readonly [number, number])[], wanted: WantedBoard) => {
    const { notes, calls } = await look(values, wanted);
    return [notes, guessed(calls)];
  };
  const one = [
    [96, 96],
    [75, 75],
    [75, 75],
  ] as const;
  expect(await doubts(one, named)).toEqual([[], 0]);
  expect(await doubts([[69, 69]], named)).toEqual([[], 2]);
  // The board is in single images, never in both of a pair.
  const single = [
    [96, 0],
    [0, 96],
  ] as const;
  expect(await doubts(single, named)).toEqual([[], 4]);
  for (const pattern of ["circles", "charuco"] as const)
    expect(await doubts([[75, 75]], { ...named, pattern })).toEqual([[], 0]);
});

test("a size is doubted by the first twelve pairs", async () => {
  const values = Array.from({ length: 14 }, (_, at) => (at < 12 ? [75, 75] : [86, 86]) as [number, number]);
  const { native, calls } = scriptedNative();
  const wanted = { ...CHESSBOARD, columns: 9, rows: 6 };
  await expect(lookForBoard(native, pairsOf(values), wanted, () => {})).rejects.toMatchObject({
    code: "BOARD_NOT_FOUND",
  });
  expect(calls.filter((call) => call === "75 as 0x0")).toHaveLength(24);
  expect(calls).not.toContain("86 as 0x0");
});

test.each([
  ["left", shows(96, 21, 16), shows(96), "1.png (left): expected 20x16 as in 0.png (left), found 21x16"],
  ["right", shows(96), shows(96, 20, 17), "1.png (right): expected 20x16 as in 0.png (left), found 20x17"],
])("a %s image of another size than the first is refused", async (_, left, right, message) => {
  const pairs = [pairOf(shows(96), shows(96), 0), pairOf(left, right, 1)];
  await expect(lookForBoard(scriptedNative().native, pairs, CHESSBOARD, () => {})).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message,
  });
});

describe("further cameras", () => {
  const other = (image: GreyImage, name: string) => ({ name, read: async () => image });
  const wanted = { ...CHESSBOARD, columns: 9, rows: 6 };
  async function lookAtOthers(others: NonNullable<NamedPair["others"]>[], names: readonly string[]) {
    const { native, calls } = scriptedNative();
    const pairs = others.map((list, at) => ({ ...pairOf(shows(96), shows(96), at), others: list }));
    const looked = await lookForBoard(native, pairs, wanted, () => {});
    calls.length = 0;
    return { looked, calls, all: await lookForOthers(native, pairs, looked, names) };
  }

  test("show the board in images of another size, or have none of that moment", async () => {
    const { looked, calls, all } = await lookAtOthers(
      [
        [other(shows(96, 30, 20), "a0"), undefined],
        [other(shows(75, 30, 20), "a1"), other(shows(0, 16, 16), "b1")],
      ],
      ["rgb", "thermal"],
    );
    expect(all).toEqual({
      ...looked,
      seen: [
        { ...looked.seen[0], others: [detection("none", 9, 6), undefined] },
        { ...looked.seen[1], others: [detection("otherSize", 7, 5), detection("nothing", 0, 0)] },
      ],
      otherSizes: [
        { width: 30, height: 20 },
        { width: 16, height: 16 },
      ],
    });
    expect(calls.sort()).toEqual(["0 as 9x6", "75 as 9x6", "96 as 9x6"]);
  });

  test("are refused without an image of any pair's moment, or with images of two sizes", async () => {
    const first = other(shows(96), "a0");
    await expect(lookAtOthers([[first, undefined], [first]], ["rgb", "thermal"])).rejects.toMatchObject({
      code: "SOURCE_EMPTY",
      message: "camera thermal: expected images of the pairs' moments, found none",
    });
    const wider = other(shows(96, 21, 16), "a1");
    await expect(lookAtOthers([[first], [wider]], ["rgb"])).rejects.toMatchObject({
      code: "IMAGE_SIZE_MISMATCH",
      message: "a1 (rgb): expected 20x16 as in a0 (rgb), found 21x16",
    });
  });
});
