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
/** A twelfth of the contrast, under a lamp on one side. */
const dim = ({ data, width, height }: Picture): Picture => ({
  data: data.map((value, i) => 90 + Math.round(value / 12 + (i % width) / 9)),
  width,
  height,
});
/** Turned by atan(3/4) about the middle, and smaller. */
const turned = ({ data, width, height }: Picture): Picture => ({
  data: data.map((_, i) => {
    const [x, y] = [(i % width) - width / 2, Math.floor(i / width) - height / 2];
    const [u, v] = [
      Math.round(1.12 * x - 0.84 * y) + width / 2,
      Math.round(0.84 * x + 1.12 * y) + height / 2,
    ];
    return u < 0 || v < 0 || u >= width || v >= height ? 100 : data[v * width + u]!;
  }),
  width,
  height,
});
/** The same board twice, one above the other. */
const twice = ({ data, width, height }: Picture): Picture => ({
  data: Uint8Array.from({ length: 2 * data.length }, (_, i) => data[i % data.length]!),
  width,
  height: 2 * height,
});
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
// They pin the results of the code whose points are within the limits above, so that no change of any step is overlooked.
const DETECTIONS: [Board, (picture: Picture) => Picture, Board, string, string][] = [
  [
    chess,
    whole,
    chess,
    "none 9x6 54 0",
    "7280.624002 5245.480333 195491.4389 167818.009 0.5400071463 0.5279873126 190.0610209",
  ],
  [
    chess,
    half,
    chess,
    "none 9x6 54 0",
    "9945.375997 7660.519666 260997.5611 174190.991 0.5339231987 0.5329785416 190.0610218",
  ],
  [
    chess,
    quarter,
    chess,
    "none 9x6 54 0",
    "5245.480334 9945.375998 167818.009 260997.5611 0.5400071635 0.52798731 190.0610218",
  ],
  [
    chess,
    mirror,
    any,
    "none 9x6 54 0",
    "9945.375971 5245.480351 252273.8816 112664.8567 0.5339254358 0.5279865451 190.0610228",
  ],
  [
    chess,
    large,
    chess,
    "none 9x6 54 0",
    "21896.9381 15790.73947 587942.3545 504860.9437 1.439832872 1.460641947 189.965519",
  ],
  [
    chess,
    small,
    chess,
    "none 9x6 54 0",
    "3626.808787 2609.275317 97392.57004 83554.4036 0.5701627654 0.563129384 189.9715157",
  ],
  [chess, hidden, chess, "incomplete 9x6 0 1", ""],
  [
    chess,
    hidden,
    any,
    "none 6x5 30 0",
    "5194.999056 3119.88561 82721.83108 44785.65852 0.5329800518 0.5400101676 190.0610228",
  ],
  [
    chess,
    blurred,
    part,
    "none 7x5 35 0",
    "4760.936279 3061.888069 82118.95738 62169.50635 1.087686986 1.105573109 189.9860382",
  ],
  [
    even,
    whole,
    even,
    "none 8x6 48 0",
    "6003.875897 4579.25631 142588.5088 130217.3401 0.5755581813 0.5327458875 190.0610209",
  ],
  [
    even,
    half,
    even,
    "none 8x6 48 0",
    "9308.124102 6892.743689 220238.3416 184584.2935 0.5733172958 0.5339231987 190.0610218",
  ],
  [
    even,
    quarter,
    any,
    "none 8x6 48 0",
    "4579.256311 9308.124103 130217.3401 217243.4912 0.5733172864 0.5339231417 190.0610218",
  ],
  [
    square,
    quarter,
    square,
    "none 6x6 36 0",
    "3310.378148 7673.815935 57837.69685 146467.4186 0.5715276348 0.5063144465 189.9660482",
  ],
  [circles, whole, circles, "none 4x7 28 0", "3425.532232 2926.860521 46282.67074 48356.4345"],
  [circles, half, circles, "none 4x7 28 0", "5506.467768 3765.139479 74299.32926 41985.5655"],
  [circles, quarter, circles, "none 4x7 28 0", "2926.860521 5506.467768 48356.4345 74299.32926"],
  [circles, large, circles, "none 4x7 28 0", "10304.46503 8808.800454 139224.6017 145454.8282"],
  [circles, hidden, circles, "incomplete 4x7 0 2", ""],
  [
    charuco,
    whole,
    charuco,
    "none 7x5 24 0",
    "2959.643672 2046.187809 35120.54429 28556.05596 0.3107965133 0.301501091 111.6303883",
  ],
  [
    charuco,
    quarter,
    charuco,
    "none 7x5 24 0",
    "2046.18781 4696.356328 28556.05596 52923.45572 0.3107964911 0.3015011106 111.6303854",
  ],
  [
    charuco,
    large,
    charuco,
    "none 7x5 24 0",
    "8902.694206 6161.306877 105630.876 85922.71734 0.3159183531 0.2790291117 26.28374195",
  ],
  [
    charuco,
    hidden,
    charuco,
    "none 7x5 23 1",
    "2851.391131 1950.01592 33605.00872 27209.6495 0.303555762 0.301501091 109.9139404",
  ],
  [
    six,
    half,
    six,
    "none 6x6 25 0",
    "5260.64017 3583.97612 62788.63009 36353.50023 0.2628830156 0.3646564972 77.30632496",
  ],
  [six, small, six, "nothing 6x6 0 25", ""],
  [
    chess,
    dim,
    chess,
    "none 9x6 54 0",
    "7280.643594 5245.627851 195488.3793 167825.955 0.5409880484 0.5307467258 16",
  ],
  [
    chess,
    turned,
    chess,
    "none 9x6 54 0",
    "7333.292925 6358.222592 208150.0852 183855.1262 0.530414469 0.5377588011 190.1307354",
  ],
  [
    chess,
    turned,
    any,
    "none 9x6 54 0",
    "7333.368835 6358.204883 208152.6001 183854.4981 0.5304144287 0.537758605 190.1355324",
  ],
  [
    chess,
    twice,
    chess,
    "none 9x6 54 0",
    "7280.624002 5245.480333 195491.4389 167818.009 0.5400071463 0.5279873126 190.0610209",
  ],
  [even, dim, chess, "incomplete 9x6 0 6", ""],
  [circles, dim, circles, "incomplete 4x7 0 18", ""],
  [circles, turned, circles, "none 4x7 28 0", "3691.934106 3564.553946 53656.2327 53158.66013"],
  [circles, twice, circles, "none 4x7 28 0", "3425.550521 2926.862996 46283.17615 48356.49177"],
  [
    charuco,
    dim,
    charuco,
    "none 7x5 24 0",
    "2959.73033 2046.383432 35122.22454 28559.24751 0.3669408489 0.400430629 9.320228577",
  ],
  [
    charuco,
    turned,
    charuco,
    "none 7x5 19 5",
    "2502.392088 2096.366814 30736.43021 26106.59242 0.2956256498 0.3039207992 112.4119358",
  ],
  [charuco, mirror, charuco, "nothing 7x5 0 24", ""],
  [six, whole, charuco, "nothing 7x5 0 24", ""],
  [chess, whole, circles, "none 4x7 28 0", "4275.274291 2800.522876 57617.3401 46792.72486"],
  [circles, whole, any, "incomplete 7x6 0 6", ""],
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
    expect(Math.abs(value - (expected[k] ?? 0)), `figure ${k}: ${value}`).toBeLessThanOrEqual(1e-8 * value);
});

/** A board of 9 x 6 corners that faces the camera. Lengths are in pixels. */
interface FacingBoard {
  /** The first corner. */
  readonly x: number;
  readonly y: number;
  readonly pitch: number;
  /** Scale of the logistic curve across an edge. */
  readonly edge: number;
  /** Half of the step from dark to bright, grey levels. */
  readonly amplitude: number;
}

/** Dark and bright fields as 1 and -1, with edges as soft as a logistic curve; 0 beyond the board's fields. */
function stripes(at: number, { pitch, edge }: FacingBoard, corners: number): number {
  let sum = 0;
  for (let field = -1; field < corners; field++) {
    const [from, to] = [field, field + 1].map((side) => 1 / (1 + Math.exp((side * pitch - at) / edge)));
    sum += (field % 2 === 0 ? 1 : -1) * (from! - to!);
  }
  return sum;
}

function facingPicture(boards: readonly FacingBoard[]): Picture {
  const [width, height] = [640, 480];
  const sums = new Float64Array(width * height).fill(128);
  for (const board of boards) {
    const across = Array.from({ length: width }, (_, x) => stripes(x - board.x, board, 9));
    const down = Array.from({ length: height }, (_, y) => stripes(y - board.y, board, 6));
    for (const [i, sum] of sums.entries())
      sums[i] = sum - board.amplitude * across[i % width]! * down[Math.floor(i / width)]!;
  }
  return { data: Uint8Array.from(sums, Math.round), width, height };
}

// A board smaller than 2 % of the image does not end the search for a nearer one: corners 12 pixels apart
// span 96 x 60 pixels, 1.9 % of the image, and corners 13 pixels apart 104 x 65, 2.2 %.
test.each([
  [12, "near"],
  [13, "far"],
] as const)("a board of pitch %d and a nearer, paler one: the %s one", async (pitch, expected) => {
  const boards = {
    far: { x: 40, y: 40, pitch, edge: 0.4, amplitude: 90 },
    near: { x: 240, y: 220, pitch: 36, edge: 2, amplitude: 10 },
  };
  const { absence, ids, points } = await detectIn(
    loadNative(),
    facingPicture([boards.far, boards.near]),
    chess,
  );
  expect(absence).toBe("none");
  expect([...ids]).toEqual(Array.from({ length: 54 }, (_, id) => id));
  const board = boards[expected];
  for (const id of ids) {
    expect(points[2 * id]! - (board.x + board.pitch * (id % 9))).toBeCloseTo(0, 1);
    expect(points[2 * id + 1]! - (board.y + board.pitch * Math.floor(id / 9))).toBeCloseTo(0, 1);
  }
});

// Spots of 29 pixels, 14 pixels apart in their row; every other row is shifted by half of that.
const disk = (squaredRadius: number) =>
  Array.from({ length: 121 }, (_, i) => [(i % 11) - 5, Math.floor(i / 11) - 5] as const).filter(
    ([x, y]) => x * x + y * y <= squaredRadius,
  );
const SPOT = disk(9);
const placeOf = (id: number): [number, number] => [
  40 + 14 * (id % 4) + 7 * (Math.floor(id / 4) % 2),
  40 + 7 * Math.floor(id / 4),
];
type Pixels = readonly (readonly [number, number])[];
/** A board of 4 x `rows` spots, of which the ninth is made of other pixels. */
function spotPicture(rows: number, ninth: Pixels = SPOT, background = 200): Picture {
  const [width, height] = [136, 128];
  const data = new Uint8Array(width * height).fill(background);
  for (let id = 0; id < 4 * rows; id++)
    for (const [x, y] of id === 9 ? ninth : SPOT)
      data[(placeOf(id)[1] + y) * width + placeOf(id)[0] + x] = 40;
  return { data, width, height };
}

// A board of an odd number of rows is read from the end that its shifted rows show. One of an even number looks the
// same from both ends: it begins where its first row points to the right.
test.each([
  [7, "as it is", whole, (id: number) => placeOf(id)],
  [7, "upside down", half, (id: number) => placeOf(id).map((at, axis) => [135, 127][axis]! - at)],
  [8, "as it is", whole, (id: number) => placeOf(id)],
  [8, "upside down", half, (id: number) => placeOf(31 - id).map((at, axis) => [135, 127][axis]! - at)],
])("4 x %i circles, %s: every spot has its number", async (rows, _, change, expected) => {
  const { absence, ids, points } = await detectIn(loadNative(), change(spotPicture(rows)), {
    ...circles,
    rows,
  });
  expect(absence).toBe("none");
  expect([...ids]).toEqual(Array.from({ length: 4 * rows }, (__, id) => id));
  expect([...points]).toEqual([...ids].flatMap(expected).map((at) => expect.closeTo(at!, 6)));
});

const block = (width: number, height: number): Pixels =>
  Array.from({ length: width * height }, (_, i) => [
    (i % width) - (width >> 1),
    Math.floor(i / width) - (height >> 1),
  ]);
// The area of a full ellipse or block is 4 pi times the root of its covariance's determinant, within 12 %. A spot has
// at least 12 pixels, its longer axis is at most four times the other, and its radius at most 1.6 times its neighbours'
// radius, or the reverse. A block of a pixels has a variance of a^2 / 12.
test.each<[string, Pixels, number]>([
  ["a block of 4 x 4 pixels", block(4, 4), 0],
  ["a block of 8 x 2 pixels", block(8, 2), 0],
  ["a block of 9 x 2 pixels", block(9, 2), 1],
  ["a block of 4 x 3 pixels", block(4, 3), 0],
  ["a disk of 69 pixels", disk(20), 0],
  ["a disk of 81 pixels", disk(25), 1],
  ["11 pixels", block(4, 3).slice(1), 1],
  ["an open square", block(5, 5).filter(([x, y]) => Math.max(Math.abs(x), Math.abs(y)) === 2), 1],
  ["a corner", block(6, 6).filter(([x, y]) => x < -1 || y < -1), 1],
])("circles of which one is %s", async (_, ninth, missing) => {
  const found = await detectIn(loadNative(), spotPicture(7, ninth), circles);
  expect([found.absence, found.missing]).toEqual([missing === 0 ? "none" : "incomplete", missing]);
});

// The first row, turned by any angle, points to the right.
test.each([30, 60, 120, 150, 210, 240, 300, 330])("4 x 8 circles, turned by %i degrees", async (degrees) => {
  const [width, height] = [136, 128];
  const [sine, cosine] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  const places = Array.from({ length: 32 }, (_, id) => {
    const [x, y] = [placeOf(id)[0] - 64.5, placeOf(id)[1] - 64.5];
    return [Math.round(68 + cosine * x - sine * y), Math.round(64 + sine * x + cosine * y)] as const;
  });
  const data = new Uint8Array(width * height).fill(200);
  for (const [px, py] of places) for (const [x, y] of SPOT) data[(py + y) * width + px + x] = 40;
  const found = await detectIn(loadNative(), { data, width, height }, { ...circles, rows: 8 });
  const expected = (cosine > 0 ? places : places.toReversed()).flat();
  expect([...found.points]).toEqual(expected.map((at) => expect.closeTo(at, 6)));
});

// Spots reach from 37 to 92 in x, in every other row to 85, and from 37 to 85 in y. Half a spot is no spot, at the top
// too.
test.each<[string, number, readonly [number, number, number, number]]>([
  ["left", 4, [37, 0, 136, 128]],
  ["top", 4, [0, 37, 136, 128]],
  ["top", 4, [0, 40, 136, 128]],
  ["right", 3, [0, 0, 93, 128]],
  ["bottom", 4, [0, 0, 136, 86]],
])("spots at the %s border are incomplete: %i are missing", async (side, missing, [x0, y0, x1, y1]) => {
  const picture = spotPicture(7);
  const cut = async (x: number, y: number, right: number, bottom: number) => {
    const [width, height] = [right - x, bottom - y];
    const data = Uint8Array.from(
      { length: width * height },
      (_, i) => picture.data[(y + Math.floor(i / width)) * picture.width + x + (i % width)]!,
    );
    return (await detectIn(loadNative(), { data, width, height }, circles)).missing;
  };
  expect(await cut(x0, y0, x1, y1)).toBe(missing);
  const [left, top] = [side === "left" ? 36 : x0, side === "top" ? 36 : y0];
  expect(await cut(left, top, x1 + (side === "right" ? 1 : 0), y1 + (side === "bottom" ? 1 : 0))).toBe(0);
});
