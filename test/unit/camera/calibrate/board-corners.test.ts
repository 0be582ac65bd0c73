// SPDX-License-Identifier: Apache-2.0
// One picture of each kind of board, with the places of its points known: the quick part of pictures.test.ts.
import { expect, test } from "vitest";
import { type Board, detectIn } from "../../../../camera/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { boardPicture, printedBoard } from "../../../doubles/board-pictures.js";
import { createPoses, createRig, projectCorners } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const BOARDS: [Board, number][] = [
  [{ pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 }, 0.15],
  [{ pattern: "circles", columns: 4, rows: 11, squareMetres: 0.03 }, 0.4],
  [
    {
      pattern: "charuco",
      columns: 7,
      rows: 5,
      squareMetres: 0.04,
      markerMetres: 0.03,
      dictionary: 0,
    },
    0.2,
  ],
];

test.each(BOARDS)("%j: points within %f pixels of their places", async (board, limit) => {
  const rig = createRig("radtan", { width: 480, height: 360 });
  const random = new Random(17);
  const [pose] = createPoses(rig, board, 1, random, 0.6);
  const picture = boardPicture(rig, board, pose!, "left", { noise: 2, random });
  const { absence, ids, points } = await detectIn(loadNative(), picture, board);
  expect(absence).toBe("none");
  const truth = projectCorners(rig, board, pose!, "left");
  expect(ids.length).toBeGreaterThan(0.5 * truth.length);
  const squares = [...ids].map(
    (id, i) => (points[2 * i]! - truth[id]![0]) ** 2 + (points[2 * i + 1]! - truth[id]![1]) ** 2,
  );
  expect(Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)).toBeLessThan(limit);
});

type Picture = { data: Uint8Array; width: number; height: number };

/** A board in a flat perspective view with a little noise: `view` maps a pixel to squares of the board. */
function flatPicture(board: Board, view: readonly number[]): Picture {
  const [a, b, c, d, e, f, g, h] = view as [number, number, number, number, number, number, number, number];
  const [width, height] = [320, 240];
  const printed = printedBoard(board);
  const data = Uint8Array.from({ length: width * height }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < 4; k++) {
      const [x, y] = [(i % width) + (k % 2) / 2 - 0.25, Math.floor(i / width) + (k >> 1) / 2 - 0.25];
      const s = board.squareMetres / (g * x + h * y + 1);
      const value = printed((a * x + b * y + c) * s, (d * x + e * y + f) * s);
      sum += value === undefined ? 100 : 30 + 190 * value;
    }
    return Math.round(sum / 4 + (((Math.imul(i ^ (i >>> 7), 0x9e3779b1) >>> 16) & 0xff) / 255 - 0.5) * 6);
  });
  return { data, width, height };
}

const half = (picture: Picture): Picture => ({ ...picture, data: picture.data.slice().reverse() });
const quarter = ({ data, width, height }: Picture): Picture => ({
  data: Uint8Array.from(data, (_, i) => data[(i % height) * width + width - 1 - Math.floor(i / height)]!),
  width: height,
  height: width,
});
const mirror = (picture: Picture): Picture => {
  const { data, width } = picture;
  return { ...picture, data: data.map((_, i) => data[i + width - 1 - 2 * (i % width)]!) };
};
const hidden = (picture: Picture): Picture => {
  const data = picture.data.slice();
  for (let y = 90; y < 110; y++) data.fill(100, y * picture.width + 100, y * picture.width + 130);
  return { ...picture, data };
};
/** Bilinear. */
function scaled({ data, width, height }: Picture, factor: number): Picture {
  const [w, h] = [width * factor, height * factor];
  const place = (at: number, side: number) => Math.min(Math.max((at + 0.5) / factor - 0.5, 0), side - 1.001);
  const out = Uint8Array.from({ length: w * h }, (_, i) => {
    const [x, y] = [place(i % w, width), place(Math.floor(i / w), height)];
    const [u, v] = [x % 1, y % 1];
    const at = Math.floor(y) * width + Math.floor(x);
    const top = data[at]! * (1 - u) + data[at + 1]! * u;
    return Math.round(top * (1 - v) + (data[at + width]! * (1 - u) + data[at + width + 1]! * u) * v);
  });
  return { data: out, width: w, height: h };
}

const whole = (picture: Picture): Picture => picture;
const large = (picture: Picture) => scaled(picture, 3);
const small = (picture: Picture) => scaled(picture, 0.5);
const blurred = (picture: Picture) => scaled(small(picture), 2);
const chess: Board = { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.03 };
const even: Board = { ...chess, columns: 8 };
const square: Board = { ...chess, columns: 6 };
const circles: Board = { pattern: "circles", columns: 4, rows: 7, squareMetres: 0.03 };
const charuco = { pattern: "charuco", columns: 7, rows: 5, squareMetres: 0.04, markerMetres: 0.03 } as const;
const six = { ...charuco, columns: 6, rows: 6, markerMetres: 0.028, dictionary: 2 } as const;
/** Any chessboard, and one of another size. */
const any: Board = { ...chess, columns: 0, rows: 0 };
const part: Board = { ...chess, columns: 7, rows: 5 };

// Result, points and missing points; sums over the points of x, y, id x and id y; blur along rows and columns; contrast.
// Measured with the code whose points are within the limits above.
const DETECTIONS: [Board, (picture: Picture) => Picture, Board, string, string][] = [
  [chess, whole, chess, "none 9x6 54 0", "7280.62 5245.48 195491.44 167818.01 0.54 0.528 190.061"],
  [chess, half, chess, "none 9x6 54 0", "9945.38 7660.52 260997.56 174190.99 0.534 0.533 190.061"],
  [chess, quarter, chess, "none 9x6 54 0", "5245.48 9945.38 167818.01 260997.56 0.54 0.528 190.061"],
  [chess, mirror, any, "none 9x6 54 0", "9945.38 5245.48 252273.88 112664.86 0.534 0.528 190.061"],
  [chess, large, chess, "none 9x6 54 0", "21896.94 15790.74 587942.35 504860.94 1.44 1.461 189.965"],
  [chess, small, chess, "none 9x6 54 0", "3626.81 2609.28 97392.57 83554.4 0.57 0.563 189.971"],
  [chess, hidden, chess, "incomplete 9x6 0 1", ""],
  [chess, hidden, any, "none 6x5 30 0", "5195 3119.89 82721.83 44785.66 0.533 0.54 190.061"],
  [chess, blurred, part, "none 7x5 35 0", "4760.94 3061.89 82118.96 62169.51 1.088 1.106 189.986"],
  [even, whole, even, "none 8x6 48 0", "6003.88 4579.26 142588.51 130217.34 0.576 0.533 190.061"],
  [even, half, even, "none 8x6 48 0", "9308.12 6892.74 220238.34 184584.29 0.573 0.534 190.061"],
  [even, quarter, any, "none 8x6 48 0", "4579.26 9308.12 130217.34 217243.49 0.573 0.534 190.061"],
  [square, quarter, square, "none 6x6 36 0", "3310.38 7673.82 57837.7 146467.42 0.572 0.506 189.966"],
  [circles, whole, circles, "none 4x7 28 0", "3425.53 2926.86 46282.67 48356.43"],
  [circles, half, circles, "none 4x7 28 0", "5506.47 3765.14 74299.33 41985.57"],
  [circles, quarter, circles, "none 4x7 28 0", "2926.86 5506.47 48356.43 74299.33"],
  [circles, large, circles, "none 4x7 28 0", "10304.47 8808.8 139224.6 145454.83"],
  [circles, hidden, circles, "incomplete 4x7 0 2", ""],
  [charuco, whole, charuco, "none 7x5 24 0", "2959.64 2046.19 35120.54 28556.06 0.311 0.301 111.63"],
  [charuco, quarter, charuco, "none 7x5 24 0", "2046.19 4696.36 28556.06 52923.46 0.311 0.301 111.63"],
  [charuco, large, charuco, "none 7x5 24 0", "8902.69 6161.31 105630.88 85922.72 0.316 0.279 26.284"],
  [charuco, hidden, charuco, "none 7x5 23 1", "2851.39 1950.02 33605.01 27209.65 0.304 0.301 109.914"],
  [six, half, six, "none 6x6 25 0", "5260.64 3583.98 62788.63 36353.5 0.263 0.365 77.306"],
  [six, small, six, "nothing 6x6 0 25", ""],
];

const pictures = new Map<Board, Picture>();

test.each(DETECTIONS)("%#: %j, changed: %s", async (board, change, wanted, found, figures) => {
  const size = board.pattern === "charuco" ? 80 / 3 : 20;
  const view = [1.05, 0.12, -72, -0.16, 0.98, -24].map((value) => value / size);
  if (!pictures.has(board)) pictures.set(board, flatPicture(board, [...view, 0.0004, -0.0005]));
  const detection = await detectIn(loadNative(), change(pictures.get(board)!), wanted);
  const { absence, columns, rows, missing, ids, points } = detection;
  expect(`${absence} ${columns}x${rows} ${ids.length} ${missing}`).toBe(found);
  const sums = [0, 0, 0, 0];
  ids.forEach((id, i) => {
    const [x, y] = [points[2 * i]!, points[2 * i + 1]!];
    for (const [k, value] of [x, y, id * x, id * y].entries()) sums[k]! += value;
  });
  const expected = figures.split(" ").map(Number);
  const { blurAlongRows, blurAlongColumns, contrast } = detection;
  for (const [k, value] of [...sums, blurAlongRows, blurAlongColumns, contrast].entries())
    expect(Math.abs(value - (expected[k] ?? 0))).toBeLessThan(k < 4 ? 0.02 : 0.001);
});
