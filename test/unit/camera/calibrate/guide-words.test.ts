// SPDX-License-Identifier: Apache-2.0
// A guide followed from the first pair to the last one: each place, tilt and sentence, worked out from cells on paper.
import { expect, test } from "vitest";
import { type Board, CaptureGuide, type Detection, type SeenPair } from "../../../../camera/index.js";
import type { TiltSide } from "../../../../camera/rig/calibrate/guide.js";
import { sameOrder } from "../../../../camera/rig/calibrate/pairs.js";
import type { CalibrationResult } from "../../../../camera/rig/calibrate/result.js";

const board: Board = { pattern: "chessboard", columns: 4, rows: 3, squareMetres: 0.03 };
/** 5 x 4 cells of 128 x 120 pixels; the diagonal is 800 pixels. */
const imageSize = { width: 640, height: 480 };

/** Upper left, upper right, lower left and lower right. */
type Quad = readonly [Corner, Corner, Corner, Corner];
type Corner = readonly [x: number, y: number];
type Area = readonly [column: number, row: number, lastColumn: number, lastRow: number];

/** A board between its upper left, upper right, lower left and lower right corner. */
function shown(corners: Quad, shift = 0): Detection {
  const [a, b, c, d] = corners;
  const points = Array.from({ length: 12 }, (_, id) => {
    const [s, t] = [(id % 4) / 3, Math.floor(id / 4) / 2];
    return [0, 1].map(
      (axis) => (1 - t) * ((1 - s) * a[axis]! + s * b[axis]!) + t * ((1 - s) * c[axis]! + s * d[axis]!),
    );
  });
  return {
    absence: "none",
    columns: 4,
    rows: 3,
    missing: 0,
    blurAlongRows: 1,
    blurAlongColumns: 1,
    contrast: 100,
    ids: Int32Array.from({ length: 12 }, (_, id) => id),
    points: Float64Array.from(points.flatMap(([x, y]) => [x! + shift, y!])),
  };
}

/** The right image shows everything one cell further to the left. */
const pairOf = (corners: Quad, name = "pair"): SeenPair => ({
  name,
  left: shown(corners),
  right: shown(corners, -128),
});
const rectangle = (x0: number, y0: number, x1: number, y1: number): Quad => [
  [x0, y0],
  [x1, y0],
  [x0, y1],
  [x1, y1],
];
/** A board over whole cells of the left image. */
const cells = (column: number, row: number, lastColumn: number, lastRow: number) =>
  rectangle(128 * column + 20, 120 * row + 20, 128 * lastColumn + 108, 120 * lastRow + 100);

/** 160 px wide, a quarter of the image: a ratio r of opposite sides is a tilt of 6.4 r; here 6.4 x 10 / 210 = 0.30. */
const TILTED: Record<TiltSide, (x: number, y: number) => Quad> = {
  left: (x: number, y: number) => [
    [x, y - 55],
    [x + 160, y - 50],
    [x, y + 55],
    [x + 160, y + 50],
  ],
  right: (x: number, y: number) => [
    [x, y - 50],
    [x + 160, y - 55],
    [x, y + 50],
    [x + 160, y + 55],
  ],
  // The longer side is 160 px: (160 - 144) / 304 x 6.4 = 0.34.
  upper: (x: number, y: number) => [
    [x, y - 50],
    [x + 160, y - 50],
    [x + 8, y + 50],
    [x + 152, y + 50],
  ],
  lower: (x: number, y: number) => [
    [x + 8, y - 50],
    [x + 152, y - 50],
    [x, y + 50],
    [x + 160, y + 50],
  ],
};

let ms = 0;
/** Two looks at a still board, after one at none. */
function hold(guide: CaptureGuide, pair: SeenPair) {
  ms += 5000;
  guide.look({ ...pair, left: { ...pair.left, absence: "nothing" } }, ms - 100);
  guide.look(pair, ms);
  return guide.look(pair, ms + 100);
}
const solution = (changes: object = {}) =>
  ({
    pairs: [],
    deviations: {},
    depthErrors: [
      { depthMetres: 1, calibrationMetres: 9, matchingMetres: 1 },
      { depthMetres: 3, calibrationMetres: 1, matchingMetres: 1 },
      { depthMetres: 10, calibrationMetres: 9, matchingMetres: 1 },
    ],
    ...changes,
  }) as unknown as CalibrationResult;

/** Each row has the cells of the board, the emptiest places after it, and how many of 16 cells are covered. */
const PLACES: readonly [where: Area, wanted: string, covered: number][] = [
  [[3, 1, 4, 2], "the upper right of the left image, the left side of the right image, ", 4],
  [[1, 1, 2, 2], "the upper right of the left image, the upper left of the right image, ", 8],
  [[3, 0, 4, 0], "the lower right of the left image, the upper left of the right image, ", 10],
  [[3, 3, 4, 3], "the upper left of the left image, the upper left of the right image, ", 12],
  [[1, 0, 2, 0], "", 14],
];
const SIDES: readonly TiltSide[] = ["left", "right", "upper", "lower"];
/** Two tilts to each side. */
const TILTS = SIDES.flatMap((side, at) => [130, 290].map((x) => pairOf(TILTED[side](x, 180 + 30 * at))));
/** A guide that has taken these pairs. */
function guideAfter(pairs: readonly SeenPair[]): CaptureGuide {
  const guide = new CaptureGuide(board, imageSize);
  for (const pair of pairs) hold(guide, pair);
  return guide;
}
const placed = () => PLACES.map(([where]) => pairOf(cells(...where)));

test("the emptiest places, one after the other", () => {
  const guide = new CaptureGuide(board, imageSize);
  const tilts = "its left side nearer, its right side nearer, its upper side nearer, its lower side nearer";
  const nothing = { counts: Array<number>(20).fill(0), share: 0 };
  // Columns 1 to 4 of the left image are within reach. Its right side has 4 empty cells, other places 2 or fewer.
  expect(guide.look(pairOf(cells(3, 1, 4, 2)), 0)).toEqual({
    verdict: "moving",
    text: "the board is seen: hold it still",
    wanted: `the right side of the left image, the left side of the right image, ${tilts}`,
    progress: {
      pairs: 0,
      wantedPairs: 15,
      left: nothing,
      right: nothing,
      covered: { left: 0, right: 0 },
      tilts: { left: 0, right: 0, upper: 0, lower: 0 },
      precise: undefined,
      share: 0,
    },
    enough: false,
  });
  for (const [at, [where, wanted, covered]] of PLACES.entries()) {
    const taken = hold(guide, pairOf(cells(...where)));
    const next = wanted === "" ? "tilt it" : `hold it into ${wanted.split(", ")[0]}`;
    expect(taken).toMatchObject({
      verdict: "taken",
      text: `taken: pair ${at + 1}; ${next}, its left side nearer`,
      wanted: wanted + tilts,
    });
    expect(taken.progress.covered).toEqual({ left: covered / 16, right: covered / 16 });
    // A quarter for each goal: 15 pairs, 0.8 of the cells, two tilts to each side, and precision.
    const share = ((at + 1) / 15 + Math.min(1, covered / 16 / 0.8)) / 4;
    expect(taken.progress.share).toBeCloseTo(share, 12);
  }
});

test("two tilts to each side, and other places until there are 15 pairs", () => {
  const guide = guideAfter(placed());
  const said = TILTS.map((pair) => hold(guide, pair).text.replace(/^taken: pair \d+; /, ""));
  expect(said).toEqual([
    ...["left", "right", "right", "upper", "upper", "lower", "lower"].map(
      (side) => `tilt it, its ${side} side nearer`,
    ),
    "show it in other places and distances",
  ]);
  expect(guide.progress()).toMatchObject({ pairs: 13, tilts: { left: 2, right: 2, upper: 2, lower: 2 } });
  expect(guide.progress().share).toBeCloseTo((13 / 15 + 1 + 1) / 4, 12);
});

/** Two pairs that fill up the fifteen. */
const LAST = [pairOf(rectangle(200, 300, 330, 400)), pairOf(rectangle(300, 300, 430, 400))] as const;

test("enough, and what serves a goal after it", () => {
  const guide = guideAfter([...placed(), ...TILTS]);
  expect(hold(guide, LAST[0]).text).toBe("taken: pair 14; show it in other places and distances");
  const last = hold(guide, LAST[1]);
  expect(last).toMatchObject({ text: "taken: pair 15; this is enough", wanted: "", enough: false });
  expect(last.progress.share).toBe(0.75);

  // From here on, only what serves a goal is taken.
  const spare = pairOf(rectangle(400, 300, 530, 400));
  expect(hold(guide, spare)).toMatchObject({ verdict: "known", text: "this adds nothing: this is enough" });
  const imprecise = { depthErrors: [{ depthMetres: 3, calibrationMetres: 1.1, matchingMetres: 1 }] };
  for (const changes of [imprecise, { deviations: undefined }, { depthErrors: [] }]) {
    guide.solved(solution());
    expect(guide.progress()).toMatchObject({ precise: true, share: 1 });
    guide.solved(solution(changes));
    expect(guide.progress()).toMatchObject({ precise: false, share: 0.75 });
  }
  expect(hold(guide, spare)).toMatchObject({
    verdict: "taken",
    wanted: "more tilt, near the cameras",
    enough: false,
    text: "taken: pair 16; show it with more tilt, near the cameras",
  });
  guide.solved(solution());
  const done = hold(guide, pairOf(rectangle(460, 270, 590, 370)));
  expect(done).toMatchObject({
    verdict: "known",
    text: "this adds nothing: this is enough",
    wanted: "",
    enough: true,
  });
  // Cells that were not seen yet, though no goal needs them: the first column of the left image.
  expect(hold(guide, pairOf(cells(0, 1, 0, 2))).verdict).toBe("taken");
});

test("pairs that a solution left out are dropped, and their goals are open again", () => {
  const guide = new CaptureGuide(board, imageSize);
  for (const [name, x] of [
    ["a", 150],
    ["b", 300],
    ["c", 400],
  ] as const)
    hold(guide, pairOf(TILTED.left(x, 200), name));
  expect(guide.progress().tilts.left).toBe(3);
  const pairs = [
    { name: "a", used: false },
    { name: "b", used: true },
    { name: "c", used: false },
  ];
  expect(guide.solved(solution({ pairs }))).toEqual(["a", "c"]);
  expect(guide.pairs.map(({ name }) => name)).toEqual(["b"]);
  expect(guide.progress().tilts.left).toBe(1);
});

test("a tilt of 13 degrees counts, and another tilt of the same place is a new pose", () => {
  const guide = new CaptureGuide(board, imageSize);
  /** The sine is 6.4 (r - l) / (r + l). */
  const tilted = (left: number, right: number) =>
    pairOf([
      [200, 200 - left],
      [360, 200 - right],
      [200, 200 + left],
      [360, 200 + right],
    ]);
  // 6.4 x 3.4 / 100 = 0.2176; 6.4 x 3.5 / 100 = 0.224.
  expect(hold(guide, tilted(48.3, 51.7)).progress.tilts.right).toBe(0);
  // 0.75 x 0.22 = 0.165 further: 6.4 x 5.9 / 100 is 0.16 more, 6.4 x 6 / 100 is 0.1664 more.
  expect(hold(guide, tilted(47.05, 52.95)).verdict).toBe("known");
  expect(hold(guide, tilted(47, 53))).toMatchObject({ verdict: "taken", progress: { tilts: { right: 1 } } });
  const other = new CaptureGuide(board, imageSize);
  expect(hold(other, tilted(48.25, 51.75)).progress.tilts).toEqual({ left: 0, right: 1, upper: 0, lower: 0 });
  expect(hold(other, tilted(51.75, 48.25)).progress.tilts).toEqual({ left: 1, right: 1, upper: 0, lower: 0 });
});

test("a pose is known from either end of the board, and without its outer corners", () => {
  const guide = new CaptureGuide(board, imageSize);
  const pair = pairOf(rectangle(200, 100, 360, 220));
  hold(guide, pair);
  const turned = (one: Detection) => ({ ...one, ids: one.ids.map((id) => 11 - id) });
  expect(hold(guide, { ...pair, left: turned(pair.left), right: turned(pair.right) })).toMatchObject({
    verdict: "known",
    text: expect.stringMatching(/^this pose is known: hold it into /),
  });
  const without = (one: Detection) => ({ ...one, ids: one.ids.slice(1), points: one.points.slice(2) });
  expect(hold(guide, { ...pair, left: without(pair.left), right: without(pair.right) }).verdict).toBe(
    "known",
  );
  // The right image says how the board is tilted, if the left one lacks a corner.
  const right = pairOf(TILTED.right(200, 160));
  expect(hold(guide, { ...right, left: without(right.left) })).toMatchObject({
    verdict: "taken",
    progress: { tilts: { left: 0, right: 1, upper: 0, lower: 0 } },
  });
});

test("a board that was lost for a moment is not still", () => {
  const guide = new CaptureGuide(board, imageSize);
  const pair = pairOf(rectangle(200, 100, 360, 220));
  const lost = { ...pair, left: { ...pair.left, absence: "nothing" as const } };
  expect([pair, lost, pair, pair].map((one, at) => guide.look(one, 100 * at).verdict)).toEqual([
    ...["moving", "noBoard", "moving", "taken"],
  ]);
});

test("the order of corners is compared by shape: place and size of the images do not matter", () => {
  const turned = (one: Detection) => ({ ...one, ids: one.ids.map((id) => 11 - id) });
  const left = shown([
    [50, 40],
    [110, 45],
    [50, 90],
    [120, 100],
  ]);
  const far = shown([
    [300, 240],
    [330, 242.5],
    [300, 265],
    [335, 270],
  ]);
  const straight = { name: "", left, right: far };
  expect(sameOrder(straight, board)).toBe(straight);
  expect(sameOrder({ ...straight, right: turned(far) }, board)).toMatchObject({ cause: "outOfOrder" });
  // A chessboard of 4 x 4 corners looks the same from both ends, one of 4 x 3 does not.
  expect(sameOrder({ ...straight, right: turned(far) }, { ...board, columns: 6, rows: 2 })).toMatchObject({
    right: { ids: far.ids },
  });
});
