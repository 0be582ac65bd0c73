// SPDX-License-Identifier: Apache-2.0
// Looks at images that are drawn pixel by pixel, so that every number follows from a formula: sharpness from ramps of known
// width, corners and features from single bright pixels.
import { afterEach, describe, expect, test } from "vitest";
import { greyPairLayout, turnMap } from "../../../../camera/index.js";
import { PairAligner } from "../../../../camera/rig/alignment/index.js";
import type { PairAlignerOptions } from "../../../../camera/rig/alignment/native.js";
import { Random } from "../../../doubles/random.js";
import { createTexture } from "../../../doubles/texture.js";

const open: PairAligner[] = [];
afterEach(() => {
  for (const aligner of open.splice(0)) aligner.close();
});

function alignerOf(width: number, height: number, changes: Partial<PairAlignerOptions> = {}): PairAligner {
  const aligner = new PairAligner({
    ...greyPairLayout(width, height),
    inputWidth: width,
    inputHeight: height,
    focalPixels: 100,
    cx: width / 2,
    cy: height / 2,
    maxWidth: 0,
    rows: 4,
    minDisparity: 0,
    maxDisparity: 32,
    ...changes,
  });
  open.push(aligner);
  return aligner;
}

type Pixel = (x: number, y: number) => number;
const drawn = (width: number, height: number, pixel: Pixel): Uint8Array =>
  Uint8Array.from({ length: width * height }, (_, i) => pixel(i % width, Math.floor(i / width)));

describe("sharpness", () => {
  interface Tile {
    contrast?: number;
    /** Pixels that its edge is wide. */
    ramp?: number;
    base?: number;
  }

  /** Tiles of 16 x 16 pixels that begin at (1, 0). Each has a vertical edge, and its neighbours in the row are mirrored. */
  function sharpness(width: number, height: number, tileAt: (column: number, row: number) => Tile): number {
    const image = drawn(width, height, (x, y) => {
      const column = Math.floor(Math.min(Math.max(x - 1, 0), 63) / 16);
      const { contrast = 48, ramp = 4, base = 80 } = tileAt(column, Math.floor(y / 16));
      const inside = Math.min(Math.max(x - 1, 0), 63) - 16 * column;
      const height = (contrast * Math.min(Math.max(inside - 4, 0), ramp)) / ramp;
      return column % 2 === 0 ? base + height : base + 48 - height;
    });
    const flat = drawn(width, height, () => 80);
    const { leftSharpness, rightSharpness } = alignerOf(width, height).look(image, flat);
    expect(rightSharpness).toBe(0);
    return leftSharpness;
  }

  test.each([
    [1, 1],
    [2, 1],
    [3, Math.floor(256 * (2 / 3)) / 256],
    [4, 1 / 2],
    [8, 1 / 4],
  ])("an edge that is %i pixels wide has the sharpness %f", (ramp, expected) => {
    expect(sharpness(66, 48, () => ({ ramp }))).toBe(expected);
  });

  test("it takes twelve whole tiles with a contrast of 48", () => {
    expect(sharpness(66, 48, () => ({}))).toBe(0.5);
    expect(sharpness(66, 48, (column, row) => ({ contrast: column === 3 && row === 2 ? 47 : 48 }))).toBe(0);
    expect(sharpness(66, 47, () => ({}))).toBe(0);
    expect(sharpness(65, 48, () => ({}))).toBe(0);
  });

  test("it is the median of the tiles, and at most 1", () => {
    const soft = (count: number) => sharpness(66, 48, (x, y) => ({ ramp: 4 * y + x < count ? 4 : 2 }));
    expect([5, 6].map(soft)).toEqual([1, 0.5]);
    // Neighbours of another brightness: the step to them is larger than the contrast of the tile.
    expect(sharpness(66, 48, (column) => ({ base: column % 2 === 0 ? 0 : 150, ramp: 8 }))).toBe(1);
  });
});

describe("corners", () => {
  const [width, height] = [60, 52];
  const looker = (places: readonly (readonly [number, number])[], grey: number) => {
    const image = drawn(width, height, (x, y) =>
      places.some(([column, row]) => x === column && y === row) ? 100 + grey : 100,
    );
    const { leftCorners, rightCorners } = alignerOf(width, height).look(image, image);
    return [leftCorners, rightCorners];
  };

  // A bright pixel of contrast D has the response 4 D^4 / (4 D^2 + 1) at itself and its eight neighbours; further away, two
  // thirds of it at most. So with D = 30, the nine pixels alone are above 800.
  test("the least response is 800", () => {
    expect(looker([[20, 20]], 28)).toEqual([0, 0]);
    expect(looker([[20, 20]], 29)).toEqual([1, 1]);
  });

  test("each tile of 20 pixels has one corner at most in the left image, each of 10 pixels in the right one", () => {
    /** Tiles that the nine pixels around a place reach, inside a border of 8 pixels. */
    const tiles = (at: number, side: number, tile: number) =>
      new Set(
        [at - 9, at - 8, at - 7].filter((p) => p >= 0 && p < side - 16).map((p) => Math.floor(p / tile)),
      ).size;
    const places = Array.from({ length: width - 10 }, (_, i) => [
      [i + 5, 21] as const,
      [32, Math.min(i + 5, height - 6)] as const,
      [i + 5, Math.min(i + 5, height - 6)] as const,
    ]).flat();
    expect(places.map((place) => looker([place], 30))).toEqual(
      places.map(([x, y]) => [20, 10].map((tile) => tiles(x, width, tile) * tiles(y, height, tile))),
    );
    expect(
      looker(
        [
          [12, 12],
          [22, 22],
        ],
        30,
      ),
    ).toEqual([1, 2]);
  });
});

describe("features", () => {
  const [width, height, focalPixels] = [240, 280, 200];
  const view = { focalPixels, cx: 110.5, cy: 130.25 };
  /** A bright pixel in each of `count` rows of tiles; its disparity grows from 4, and `rows` is how much lower it is on the right. */
  function look(count: number, rows: (k: number) => number) {
    const rightX = (k: number) => 33 + 20 * ((5 * k) % 8);
    const places = Array.from({ length: count }, (_, k) => ({
      x: rightX(k),
      y: 13 + 20 * k,
      disparity: 4 + (k % 8),
    }));
    const image = (right: boolean) => {
      const pixels = new Uint8Array(width * height).fill(100);
      for (const [k, { x, y, disparity }] of places.entries())
        pixels[(y + (right ? rows(k) : 0)) * width + x + (right ? 0 : disparity)] = 220;
      return pixels;
    };
    const { cpuMs, ...numbers } = alignerOf(width, height, view).look(image(false), image(true));
    // The corner is the first of the nine pixels around the bright one.
    return { numbers, places: places.map((place) => ({ ...place, x: place.x - 1, y: place.y - 1 })) };
  }

  test("a rig as it was calibrated: the sums are those of the terms of the fit, and every feature has the weight 1", () => {
    const { numbers, places } = look(8, () => 0);
    const terms = places.map(({ x, y, disparity }) => {
      const [u, v, q] = [(x - view.cx) / focalPixels, (y - view.cy) / focalPixels, disparity / focalPixels];
      return [-(1 + v * v), u, v, u * v, q, v * q];
    });
    const products = [0, 1, 2, 3, 4, 5].flatMap((i) =>
      [0, 1, 2, 3, 4, 5].slice(i).map((j) => terms.reduce((sum, term) => sum + term[i]! * term[j]!, 0)),
    );
    expect(numbers).toMatchObject({ leftCorners: 8, rightCorners: 8, features: 8, kept: 8, weight: 8 });
    expect(numbers).toMatchObject({ medianDisparity: 8, smallestDisparity: 4, squares: 0 });
    expect([numbers.meanRows, numbers.p95Rows].map(Math.abs)).toEqual([0, 0]);
    expect(numbers.targets.map(Math.abs)).toEqual([0, 0, 0, 0, 0, 0]);
    for (const [i, product] of products.entries()) expect(numbers.products[i]).toBeCloseTo(product, 12);
  });

  test("seven features are too few for a fit", () => {
    const { numbers } = look(7, () => 0);
    expect(numbers).toMatchObject({
      features: 7,
      kept: 0,
      weight: 0,
      medianDisparity: 0,
      meanRows: 0,
      p95Rows: 0,
    });
    expect([...numbers.products, ...numbers.targets]).toEqual(new Array(27).fill(0));
  });

  test.each([-1, 1])(
    "rows that are all off by %i are reported, and a feature that is off by more is left out",
    (row) => {
      const { numbers } = look(13, (k) => (k === 6 ? -2 * row : row));
      expect(numbers).toMatchObject({ features: 13, kept: 12 });
      expect(Math.abs(numbers.meanRows - row)).toBeLessThan(0.01);
      expect(Math.abs(numbers.p95Rows - 1)).toBeLessThan(0.15);
    },
  );
});

describe("the search for features", () => {
  /** Eight bright places of step x step pixels in as many rows of tiles, on the right one further left and lower. */
  function features(step: number, disparity: number, down: number, changes: Partial<PairAlignerOptions>) {
    const [width, height] = [120 * step, 190 * step];
    const image = (right: boolean) =>
      drawn(width, height, (column, row) => {
        const [x, y] = [Math.floor(column / step), Math.floor(row / step)];
        const k = Math.floor((y - 8 - (right ? down : 0)) / 20);
        const isBright =
          k >= 0 && k < 8 && x === (right ? 33 : 33 + disparity) && y === 13 + 20 * k + (right ? down : 0);
        return isBright ? 220 : 100;
      });
    const limits = { minDisparity: 0, maxDisparity: 48, rows: 8, maxWidth: 120, ...changes };
    const look = alignerOf(width, height, limits).look(image(false), image(true));
    expect([look.leftCorners, look.rightCorners]).toEqual([8, 8]);
    return look.features;
  }

  // In pixels of the reduced images; a disparity one pixel outside the limits is still found.
  test.each<[number, number, number, Partial<PairAlignerOptions>, Partial<PairAlignerOptions>]>([
    [1, 12, 0, { minDisparity: 13 }, { minDisparity: 14 }],
    [1, 12, 0, { maxDisparity: 11 }, { maxDisparity: 10 }],
    [1, -2, 0, { minDisparity: -1 }, { minDisparity: 0 }],
    [1, 12, 2, { rows: 2 }, { rows: 1 }],
    [1, 12, -2, { rows: 2 }, { rows: 1 }],
    [2, 12, 0, { minDisparity: 27 }, { minDisparity: 28 }],
    [2, 12, 0, { maxDisparity: 22 }, { maxDisparity: 21 }],
    [2, 12, 2, { rows: 3 }, { rows: 2 }],
    [3, 12, -2, { rows: 4 }, { rows: 3 }],
  ])(
    "at 1/%i of the size a disparity of %i and %i rows are within %j, not within %j",
    (step, disparity, down, inside, outside) => {
      expect(features(step, disparity, down, inside)).toBe(8);
      expect(features(step, disparity, down, outside)).toBe(0);
    },
  );

  const [width, height] = [160, 120];
  const texture = createTexture(width + 64, height);
  const image = (right: number) => drawn(width, height, (x, y) => texture(x + right, y));

  test("a look does not depend on the looks before it", () => {
    const first = alignerOf(width, height, { maxDisparity: 40 });
    const second = alignerOf(width, height, { maxDisparity: 40 });
    const pairs = [
      [image(0), image(12)],
      [image(12), image(30)],
    ] as const;
    first.look(...pairs[0]);
    const { cpuMs: _, ...after } = first.look(...pairs[1]);
    const { cpuMs: __, ...alone } = second.look(...pairs[1]);
    expect(alone.kept).toBeGreaterThan(20);
    expect(after).toEqual(alone);
  });
});

test("images of 1 to 16384 pixels a side are accepted, and each side has its own stride", () => {
  for (const [width, height] of [
    [1, 1],
    [16384, 1],
    [1, 16384],
  ] as const) {
    const flat = new Uint8Array(width * height).fill(9);
    expect(alignerOf(width, height).look(flat, flat)).toMatchObject({ leftCorners: 0, features: 0, kept: 0 });
  }
  const uneven = alignerOf(20, 10, { leftStrideBytes: 32, rightStrideBytes: 24 });
  const [left, right] = [new Uint8Array(9 * 32 + 20), new Uint8Array(9 * 24 + 20)];
  expect(uneven.look(left, right)).toMatchObject({ leftContrast: 0, rightContrast: 0 });
  expect(() => uneven.look(left.subarray(1), right)).toThrow(/308 bytes for the left/);
  expect(() => uneven.look(left, right.subarray(1))).toThrow(/236 bytes for the right/);
});

describe("a turned map", () => {
  const [side, inputWidth, inputHeight] = [9, 50, 40];
  const middle = (side - 1) / 2;
  const random = new Random(3);
  const map = Int32Array.from({ length: 2 * side * side }, () => random.whole(0, 32 * inputHeight));
  const turn = (rotation: number[], entries = map) =>
    turnMap({
      width: side,
      height: side,
      inputWidth,
      inputHeight,
      focalPixels: 64,
      cx: middle,
      cy: middle,
      map: entries,
      rotation: Float64Array.from(rotation),
    });
  /** The map at a place between its entries, or beyond them on the line through the last two. */
  const expected = (placeOf: (x: number, y: number) => [number, number]) =>
    Array.from({ length: 2 * side * side }, (_, i) => {
      const [x, y] = placeOf((i >> 1) % side, Math.floor(i / (2 * side)));
      const [left, top] = [x, y].map((at) => Math.min(Math.max(Math.floor(at), 0), side - 2)) as [
        number,
        number,
      ];
      const at = (column: number, row: number) => map[2 * (row * side + column) + (i % 2)]!;
      const line = (row: number) => at(left, row) + (x - left) * (at(left + 1, row) - at(left, row));
      const value = Math.floor(line(top) + (y - top) * (line(top + 1) - line(top)) + 0.5);
      return Math.min(Math.max(value, -32), 32 * (i % 2 === 0 ? inputWidth : inputHeight));
    });

  test("quarter turns about the optical axis permute the entries", async () => {
    expect([...(await turn([1, 0, 0, 0, 1, 0, 0, 0, 1]))]).toEqual([...map]);
    expect([...(await turn([0, -1, 0, 1, 0, 0, 0, 0, 1]))]).toEqual(expected((x, y) => [2 * middle - y, x]));
    expect([...(await turn([0, 1, 0, -1, 0, 0, 0, 0, 1]))]).toEqual(expected((x, y) => [y, 2 * middle - x]));
    expect([...(await turn([-1, 0, 0, 0, -1, 0, 0, 0, 1]))]).toEqual(
      expected((x, y) => [2 * middle - x, 2 * middle - y]),
    );
  });

  test("entries are interpolated, extrapolated by a line, and rounded to the nearest, halves upwards", async () => {
    // Shifts by parts of a pixel, exact in binary numbers, as small angles make them.
    for (const [dx, dy] of [
      [0.5, 0.25],
      [-0.25, 0.75],
      [1.5, -1.25],
    ] as const)
      expect([...(await turn([1, 0, dx / 64, 0, 1, dy / 64, 0, 0, 1]))]).toEqual(
        expected((x, y) => [x + dx, y + dy]),
      );
    // Towards the camera: half the size about the principal point.
    expect([...(await turn([1, 0, 0, 0, 1, 0, 0, 0, 2]))]).toEqual(
      expected((x, y) => [middle + (x - middle) / 2, middle + (y - middle) / 2]),
    );
  });

  test("entries stay within one pixel of the captured image", async () => {
    const far = map.map((_, i) => [-33, -32, 32 * inputWidth, 32 * inputWidth + 1][(i >> 1) % 4]!);
    const limits = [-32, -32, 32 * inputWidth, 32 * inputWidth];
    expect([...(await turn([1, 0, 0, 0, 1, 0, 0, 0, 1], far))]).toEqual(
      [...far].map((_, i) => Math.min(limits[(i >> 1) % 4]!, 32 * (i % 2 === 0 ? inputWidth : inputHeight))),
    );
  });
});
