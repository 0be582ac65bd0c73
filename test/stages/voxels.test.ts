// SPDX-License-Identifier: Apache-2.0
// Voxels: worked out by hand, properties, and the fast form against the definition.
import { describe, expect, test } from "vitest";
import { mergedVoxels, sortedVoxels, voxelMiddles } from "../../core/frame/voxels.js";
import { listedVoxels } from "../../cuda/index.js";
import { AWKWARD_WIDTHS, expectIs, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32_768;
const stage = native.stages.voxels as unknown as (call: object) => string;

interface Call {
  width: number;
  disparityQ4: Int16Array;
  frame?: "camera" | "robot";
  sizeMillimetres?: number;
  uncertaintyPixels?: number;
  disparityOffsetPixels?: number;
  cx?: number;
  cy?: number;
  focalPixels?: number;
  threads?: number;
}

/** f B = 50 m px: 50 px is 1 m. */
const RIG = { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0, cx: 0, cy: 0 };
const FORM = { frame: "camera", sizeMillimetres: 100, uncertaintyPixels: 0 };

/** Returns x, y, z and level of each voxel. */
function listed(variant: string, call: Call): Int16Array {
  const voxels = new Int16Array(4 * (call.disparityQ4.length + 1)).fill(7);
  const height = call.disparityQ4.length / call.width;
  expect(stage({ variant, ...RIG, ...FORM, ...call, height, voxels })).toBe(variant);
  return listedVoxels({ voxels }).slice();
}
const rows = (list: Int16Array) =>
  Array.from({ length: list.length / 4 }, (_, i) => [...list.subarray(4 * i, 4 * i + 4)]);

const forms = ["reference", variants[0]!];
describe.each(forms)("voxels, %s: by hand", (variant) => {
  test("pixels of one voxel are one voxel, in the order of first pixels; no disparity is none", () => {
    // 50 px: 1 m, cell 10. 49 px: 1.020 m, cell 10. 25 px: 2 m. 0 and invalid: none.
    const list = listed(variant, {
      width: 6,
      disparityQ4: Int16Array.of(400, INVALID, 800, 784, 0, 400),
    });
    // Columns 0 to 5 are at most 5/500 x 2 m = 2 cm to the right.
    expect(rows(list)).toEqual([
      [0, 0, 20, 0],
      [0, 0, 10, 0],
    ]);
  });

  test("cells are rounded down, also left of and above the axis", () => {
    const list = listed(variant, { width: 2, disparityQ4: Int16Array.of(800, 800, 800, 800), cx: 1, cy: 1 });
    expect(rows(list)).toEqual([
      [-1, -1, 10, 0],
      [0, -1, 10, 0],
      [-1, 0, 10, 0],
      [0, 0, 10, 0],
    ]);
  });

  test("the robot's frame is ahead, left from the middle of the baseline, up", () => {
    // 1 m ahead, 5 cm left of the left camera's axis by half the baseline; the row below the axis is under it.
    const list = listed(variant, { width: 1, disparityQ4: Int16Array.of(800, 800), frame: "robot" });
    expect(rows(list)).toEqual([
      [10, 0, 0, 0],
      [10, 0, -1, 0],
    ]);
  });

  test("far voxels are as large as the error of the disparity", () => {
    // Z^2 / 50 per pixel: 1 m 2 cm, 2 m 8 cm, 4 m 32 cm, 50 m 50 m: beyond 128 x 0.1 m the largest stays.
    const list = listed(variant, {
      width: 4,
      disparityQ4: Int16Array.of(800, 400, 200, 16),
      uncertaintyPixels: 1,
    });
    expect(rows(list)).toEqual([
      [0, 0, 10, 0],
      [0, 0, 20, 0],
      [0, 0, 10, 2],
      [0, 0, 3, 7],
    ]);
  });

  test("a voxel as large as the error is large enough", () => {
    // f B = 64 m px: 32 px is 2 m, where two pixels are 2 x 4 / 64 = 0.125 m.
    const rig = { focalPixels: 640, sizeMillimetres: 125, uncertaintyPixels: 2 };
    const at = (disparity: number) =>
      rows(listed(variant, { width: 1, disparityQ4: Int16Array.of(disparity), ...rig }));
    expect([at(512), at(511)]).toEqual([[[0, 0, 16, 0]], [[0, 0, 8, 1]]]);
  });

  test("a cell that does not fit 16 bits is none, and an offset moves all", () => {
    // 1/16 px is 800 m: cell 160 000 of 5 mm.
    const far = { width: 1, disparityQ4: Int16Array.of(1), sizeMillimetres: 5 };
    expect(rows(listed(variant, far))).toEqual([]);
    // 1 m ahead, 200 m to one side, down or up: cell 40 000 on one axis alone.
    for (const aside of [{ cx: -100_000 }, { cx: 100_000 }, { cy: -100_000 }, { cy: 100_000 }]) {
      const near = { width: 1, disparityQ4: Int16Array.of(800), sizeMillimetres: 5, ...aside };
      expect(rows(listed(variant, near)), JSON.stringify(aside)).toEqual([]);
    }
    const moved = { width: 1, disparityQ4: Int16Array.of(-160), disparityOffsetPixels: 60 };
    expect(rows(listed(variant, moved))).toEqual([[0, 0, 10, 0]]);
  });
});

/** A slope with steps, noise and holes. */
function anyMap(random: Random, width: number, height: number): Int16Array {
  const [low, high] = random.pick([
    [INVALID, 32_767],
    [600, 700],
    [80, 2000],
  ] as const);
  const map = random.fill(new Int16Array(width * height), low, high);
  for (let i = 0; i < map.length; i += random.whole(2, 9)) map[i] = INVALID;
  return map;
}

const anyForm = (random: Random) => ({
  frame: random.pick(["camera", "robot"] as const),
  sizeMillimetres: random.whole(5, 300),
  uncertaintyPixels: random.whole(0, 32) / 16,
  disparityOffsetPixels: random.whole(0, 1) * 0.37,
  cx: random.whole(-20, 300) / 7,
  cy: random.whole(-20, 300) / 7,
});

test("no voxel twice; each point within half an edge of a voxel's middle, along each axis", () => {
  const random = new Random(48);
  for (let round = 0; round < 30; round++) {
    const [width, height] = [random.whole(1, 90), random.whole(1, 30)];
    const form = { ...anyForm(random), frame: "camera" as const };
    const disparityQ4 = random.fill(new Int16Array(width * height), 100, 1600);
    const list = listed("reference", { width, disparityQ4, ...form });
    const keys = rows(list).map(String);
    expect(new Set(keys).size).toBe(keys.length);
    const there = new Set(keys);
    for (let i = 0; i < disparityQ4.length; i++) {
      const z = 50 / (disparityQ4[i]! / 16 + form.disparityOffsetPixels);
      const point = [((i % width) - form.cx) / 500, (Math.floor(i / width) - form.cy) / 500, 1].map(
        (u) => u * z,
      );
      const level = [0, 1, 2, 3, 4, 5, 6, 7].find(
        (l) => l === 7 || (form.sizeMillimetres / 1000) * 2 ** l >= (form.uncertaintyPixels * z * z) / 50,
      )!;
      const edge = (form.sizeMillimetres / 1000) * 2 ** level;
      const slack = (z / 2 ** 17 + edge / 2 ** 13) / edge;
      const near = point.map((metres) => [
        ...new Set([-slack, slack].map((by) => Math.floor(metres / edge + by))),
      ]);
      const found = near[0]!.some((x) =>
        near[1]!.some((y) => near[2]!.some((cell) => there.has([x, y, cell, level].join()))),
      );
      expectIs(found, true, `pixel ${i} of ${width}x${height} at ${point}`);
    }
  }
});

test("merged voxels are those that hold the middles of the small ones", () => {
  const random = new Random(49);
  const list = listed("reference", { width: 80, disparityQ4: anyMap(random, 80, 40), ...anyForm(random) });
  const halves = new Set(rows(list).map(([x, y, z, level]) => [x! >> 1, y! >> 1, z! >> 1, level].join()));
  const expected = sortedVoxels(Int16Array.from([...halves].flatMap((key) => key.split(",").map(Number))));
  expect([...mergedVoxels(sortedVoxels(list))]).toEqual([...expected]);
  expect(halves.size).toBeLessThan(list.length / 4);
  expect(voxelMiddles(Int16Array.of(-1, 0, 3, 1), 0.1)).toEqual(Float32Array.of(-0.1, 0.1, 0.7));
});

describe.each(variants)("voxels, %s: the definition's bits", (variant) => {
  test("of any disparities and forms, on any number of threads", () => {
    const random = new Random(50);
    for (const width of [...AWKWARD_WIDTHS, ...AWKWARD_WIDTHS]) {
      const height = random.whole(1, 40);
      const call = { width, disparityQ4: anyMap(random, width, height), ...anyForm(random) };
      const expected = listed("reference", call);
      for (const threads of [1, 2, 5])
        expectSameImage(listed(variant, { ...call, threads }), expected, 4, `${width}x${height}`);
    }
  });
});

test("no disparity gives no voxel", () => {
  for (const variant of forms)
    expect(
      listed(variant, { width: 70, disparityQ4: new Int16Array(210).fill(INVALID), threads: 3 }),
    ).toHaveLength(0);
});

test("numbers that are no rig are refused", () => {
  const voxels = new Int16Array(8);
  const call = { variant: "reference", width: 1, height: 1, disparityQ4: Int16Array.of(16), voxels };
  const refused = (changes: object) => expect(() => stage({ ...call, ...RIG, ...FORM, ...changes }));
  refused({ focalPixels: 0 }).toThrow("above 0");
  refused({ uncertaintyPixels: -1 }).toThrow("of 0 or more");
  refused({ frame: "left" }).toThrow("Expected camera or robot for the frame of voxels, got 'left'");
  refused({ voxels: new Int16Array(7) }).toThrow("voxels");
});
