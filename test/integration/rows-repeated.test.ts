// SPDX-License-Identifier: Apache-2.0
// Where an offset of rows moves the right image out of its captured picture, both images repeat the nearest row that both have: by hand,
// against maps that a plain definition makes, and with fewer errors at the border than a border row that is in for them.
import { describe, expect, test } from "vitest";
import { createEngine, type EngineOptions } from "../../cuda/index.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { expectSameImage, Random, variants } from "../doubles/stages.js";
import { bentMap } from "../golden/engine-cases.mjs";

/** Grey value 10 y + x % 10: the value in the rectified left image identifies the row that it was read from. */
const numbered = (width: number, height: number) =>
  Uint8Array.from({ length: width * height }, (_, i) => 10 * Math.floor(i / width) + ((i % width) % 10));

async function leftRows(height: number, changes: Partial<EngineOptions>): Promise<number[]> {
  const [width, image] = [64, numbered(64, height)];
  const pair = { width, height, left: image, right: image };
  const { left } = await computeFrame(pair, engineOptions(pair, changes));
  const rows = Array.from({ length: height }, (_, y) => Math.floor(left[y * width]! / 10));
  const expected = Uint8Array.from(
    left,
    (_, i) => image[rows[Math.floor(i / width)]! * width + (i % width)]!,
  );
  expectSameImage(left, expected, width, "whole rows");
  return rows;
}

describe.each([1, 3])("by hand, with %i threads", (threads) => {
  test.each([
    [0, [0, 1, 2, 3, 4, 5, 6, 7]],
    [0.5, [0, 1, 2, 3, 4, 5, 6, 7]],
    [0.75, [0, 1, 2, 3, 4, 5, 6, 6]],
    [1, [0, 1, 2, 3, 4, 5, 6, 6]],
    [1.5, [0, 1, 2, 3, 4, 5, 6, 6]],
    [2.25, [0, 1, 2, 3, 4, 5, 5, 5]],
    [-0.5, [0, 1, 2, 3, 4, 5, 6, 7]],
    [-1, [1, 1, 2, 3, 4, 5, 6, 7]],
    [-3, [3, 3, 3, 3, 4, 5, 6, 7]],
    [7, [0, 0, 0, 0, 0, 0, 0, 0]],
    // No row of the right image is left: there is nothing to repeat.
    [-16, [0, 1, 2, 3, 4, 5, 6, 7]],
  ])("%f rows: the left image shows rows %j", async (verticalOffset, rows) => {
    expect(await leftRows(8, { verticalOffset, threads })).toEqual(rows);
  });
});

/** Blocks of constant disparity in random patches; what the left camera sees at row y, the right one sees `rows(x)` lower. */
function shiftedPair(width: number, height: number, rows: (x: number) => number, seed = 4) {
  const random = new Random(seed);
  const [wide, high] = [width + 40, height + 40];
  const picture = random.fill(new Uint8Array(wide * high), 20, 235);
  for (let i = wide + 1; i < picture.length; ++i)
    picture[i] = (picture[i - 1]! + picture[i - wide]! + 2 * picture[i]!) >> 2;
  const at = (x: number, y: number) => picture[(y + 20) * wide + x + 20]!;
  const left = Uint8Array.from({ length: width * height }, (_, i) => at(i % width, Math.floor(i / width)));
  const right = left.map((_, i) => {
    const from = Math.floor(i / width) - rows(i % width);
    const [x, above] = [(i % width) + 9, Math.floor(from)];
    return Math.round(at(x, above) + (from - above) * (at(x, above + 1) - at(x, above)));
  });
  return { width, height, left, right };
}

interface Moved {
  leftMap: Int32Array;
  rightMap: Int32Array;
  repeated: number;
}

/** Changes maps like the engine, column by column and without any of its shortcuts. */
function movedByHand(
  size: { width: number; height: number },
  quarterRows: number,
  quarterRowsOverWidth: number,
  maps?: { leftMap: Int32Array; rightMap: Int32Array },
): Moved {
  const { width, height } = size;
  const captured = Int32Array.from(
    { length: 2 * width * height },
    (_, i) => 32 * (i % 2 === 0 ? (i >> 1) % width : Math.floor((i >> 1) / width)),
  );
  const opened = maps ?? { leftMap: captured, rightMap: captured };
  const [leftMap, rightMap] = [opened.leftMap.slice(), opened.rightMap.slice()];
  const seen = (place: number) => place >= -16 && place <= 32 * height - 16;
  let repeated = 0;
  for (let x = 0; x < width; ++x) {
    const down =
      8 * quarterRows + Math.floor((8 * quarterRowsOverWidth * (2 * x + 1 - width)) / (2 * width) + 0.5);
    const before = Array.from({ length: height }, (_, y) => opened.rightMap[2 * (y * width + x) + 1]!);
    const inside = [...before.keys()].filter((y) => seen(before[y]! + down));
    for (let y = 0; y < height; ++y) {
      const lost = seen(before[y]!) && !seen(before[y]! + down) && inside.length > 0;
      const from = lost
        ? inside.reduce((best, row) => (Math.abs(row - y) < Math.abs(best - y) ? row : best))
        : y;
      if (lost) ++repeated;
      for (const axis of [0, 1]) {
        const [to, of] = [2 * (y * width + x) + axis, 2 * (from * width + x) + axis];
        leftMap[to] = opened.leftMap[of]!;
        rightMap[to] = opened.rightMap[of]! + axis * down;
      }
    }
  }
  return { leftMap, rightMap, repeated };
}

describe("the maps are those of the definition", () => {
  const images = ["left", "disparityQ4", "confidence"] as const;

  test.each(variants)("of captured images, %s", async (instructionSet) => {
    const pair = shiftedPair(113, 61, () => 2);
    for (const verticalOffset of [2, -1.75]) {
      const { repeated, ...maps } = movedByHand(pair, 4 * verticalOffset, 0);
      expect(repeated).toBe(2 * 113);
      const expected = await computeFrame(pair, engineOptions(pair, maps));
      const got = await computeFrame(pair, engineOptions(pair, { verticalOffset, instructionSet }));
      for (const image of images) expectSameImage(got[image], expected[image], pair.width, image);
    }
  });

  test.each(variants)(
    "of rectified images, some rows of which were outside before, %s",
    async (instructionSet) => {
      const pair = shiftedPair(113, 61, () => 1);
      const leftMap = bentMap(113, 61);
      const rightMap = leftMap.map((place, i) => (i % 2 === 0 ? place : place + 64));
      const { repeated, ...maps } = movedByHand(pair, 6, 0, { leftMap, rightMap });
      // Rows 59 and 60 were outside, but for what the bent map reads above them; 58 and 57 are lost with 1.5 rows.
      expect(repeated).toBeGreaterThan(113);
      expect(repeated).toBeLessThan(3 * 113);
      const expected = await computeFrame(pair, engineOptions(pair, maps));
      const options = { leftMap, rightMap, verticalOffset: 1.5, instructionSet };
      const got = await computeFrame(pair, engineOptions(pair, options));
      for (const image of images) expectSameImage(got[image], expected[image], pair.width, image);
    },
  );

  test.each(variants)("along a line, at both ends of it, %s", async (instructionSet) => {
    const pair = shiftedPair(240, 120, (x) => 4 * ((x + 0.5) / 240 - 0.5), 31);
    // Bands of columns hold enough samples with a search of 24 pixels.
    const match = { ...engineOptions(pair).match, numDisparities: 24 };
    const auto = { match, verticalOffset: "auto", instructionSet } as const;
    const got = await computeFrame(pair, engineOptions(pair, auto));
    const { appliedRows, appliedRowsOverWidth } = got.info.verticalOffset;
    expect(Math.abs(appliedRowsOverWidth - 4)).toBeLessThanOrEqual(1);
    const { repeated, ...maps } = movedByHand(pair, 4 * appliedRows, 4 * appliedRowsOverWidth);
    expect(repeated).toBeGreaterThan(240 / 2);
    const expected = await computeFrame(pair, engineOptions(pair, { ...maps, match }));
    for (const image of images) expectSameImage(got[image], expected[image], pair.width, image);
  });

  // Where the captured image has the rectified column x and row y, and which of its directions is down.
  const [turnedWidth, turnedHeight] = [37, 23];
  const TURNS: [string, (x: number, y: number) => [number, number], 0 | 1, 1 | -1][] = [
    ["upright", (x, y) => [x, y], 1, 1],
    ["on its left side", (x, y) => [y, turnedWidth - 1 - x], 0, 1],
    ["upside down", (x, y) => [turnedWidth - 1 - x, turnedHeight - 1 - y], 1, -1],
    ["on its right side", (x, y) => [turnedHeight - 1 - y, x], 0, -1],
  ];
  test.each(TURNS)("of a camera that is mounted %s", async (_, place, axis, sign) => {
    const [width, height] = [turnedWidth, turnedHeight];
    const [inputWidth, inputHeight] = axis === 0 ? [height, width] : [width, height];
    const random = new Random(17);
    const image = () => random.fill(new Uint8Array(width * height), 0, 255);
    const pair = { width, height, left: image(), right: image() };
    const opened = new Int32Array(2 * width * height);
    for (let y = 0; y < height; ++y)
      for (let x = 0; x < width; ++x)
        opened.set(
          place(x, y).map((at) => 32 * at),
          2 * (y * width + x),
        );
    const layout = { inputWidth, inputHeight, leftStrideBytes: inputWidth, rightStrideBytes: inputWidth };
    const results = async (changes: Partial<EngineOptions>) => {
      const engine = createEngine(engineOptions(pair, { ...layout, rightGrey: true, ...changes }));
      await engine.compute(pair.left, pair.right);
      const { left, right, disparityQ4 } = engine.slots[0]!;
      const kept = { left: left.slice(), right: right.slice(), disparityQ4: disparityQ4.slice() };
      engine.close();
      return kept;
    };
    for (const verticalOffset of [2, -1.75]) {
      const [leftMap, rightMap] = [opened.slice(), opened.slice()];
      const moved = (at: number) => opened[2 * at + axis]! + sign * 32 * verticalOffset;
      const isLost = (at: number) => moved(at) < -16 || moved(at) > 32 * (height - 1) + 16;
      let lost = 0;
      for (let at = 0; at < width * height; ++at) {
        // The rows that are lost are all at one border, so the nearest other row is the first or the last that is not.
        let from = at;
        while (isLost(from)) from += verticalOffset > 0 ? -width : width;
        if (from !== at) ++lost;
        for (const map of [leftMap, rightMap]) map.set(opened.subarray(2 * from, 2 * from + 2), 2 * at);
        rightMap[2 * at + axis] = moved(from);
      }
      expect(lost).toBe(2 * width);
      const expected = await results({ leftMap, rightMap });
      const got = await results({ leftMap: opened, rightMap: opened, verticalOffset });
      for (const name of ["left", "right", "disparityQ4"] as const)
        expectSameImage(got[name], expected[name], width, `${name}, ${verticalOffset} rows`);
    }
  });

  test("colours of the left image and of points are read by them too", async () => {
    const [width, height] = [33, 21];
    const bytes = new Random(8).fill(new Uint8Array(3 * width * height), 0, 255);
    const layout = {
      leftFormat: "RGB8",
      rightFormat: "RGB8",
      leftStrideBytes: 99,
      rightStrideBytes: 99,
    } as const;
    const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };
    const points = { frame: "camera", element: "float32", colours: true, cx: 16, cy: 10 } as const;
    const pair = { width, height, left: bytes, right: bytes };
    const { repeated, ...maps } = movedByHand(pair, 8, 0);
    expect(repeated).toBe(2 * width);
    for (const leftRgb of [true, false]) {
      const common = engineOptions(pair, { ...layout, geometry, points, leftRgb });
      const [declared, opened] = [
        createEngine({ ...common, verticalOffset: 2 }),
        createEngine({ ...common, ...maps }),
      ];
      for (const engine of [declared, opened]) await engine.compute(bytes, bytes);
      expect(Buffer.compare(declared.slots[0]!.points, opened.slots[0]!.points)).toBe(0);
      if (leftRgb) expect(Buffer.compare(declared.slots[0]!.leftRgb, opened.slots[0]!.leftRgb)).toBe(0);
      for (const engine of [declared, opened]) engine.close();
    }
  });
});

test.each([-4, 4])(
  "%i rows cost less at the border that they leave than a border row that is in",
  async (rows) => {
    const [width, height, disparity, outer] = [240, 120, 9, 8];
    const pair = shiftedPair(width, height, () => rows);
    const wrongAtBorder = async (changes: Partial<EngineOptions>) => {
      // As matched: filling and the median would hide much of it on one plane.
      const { refine } = engineOptions(pair);
      const plain = { ...refine, fill: "off", boundary: false, median: false } as const;
      const { disparityQ4 } = await computeFrame(pair, engineOptions(pair, { refine: plain, ...changes }));
      const first = rows > 0 ? height - outer : 0;
      const border = disparityQ4.subarray(first * width, (first + outer) * width);
      return border.filter((d, i) => i % width > 30 && Math.abs(d / 16 - disparity) > 1).length;
    };
    const standsIn = Int32Array.from({ length: 2 * width * height }, (_, i) =>
      i % 2 === 0 ? 32 * ((i >> 1) % width) : 32 * Math.floor((i >> 1) / width),
    );
    const rightMap = standsIn.map((place, i) => (i % 2 === 0 ? place : place + 32 * rows));
    const [before, now] = [
      await wrongAtBorder({ leftMap: standsIn, rightMap }),
      await wrongAtBorder({ verticalOffset: rows }),
    ];
    expect(before).toBeGreaterThan(20);
    expect(now).toBeLessThan(before / 4);
  },
);
