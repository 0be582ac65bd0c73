// SPDX-License-Identifier: Apache-2.0
// Tests the floor with vectors by hand, with rendered rooms, and every fast form against the reference.
import { describe, expect, test } from "vitest";
import { SCENE_BASELINE_METRES, type ScenePose, sceneView } from "../../camera/index.js";
import { floorFigures } from "../../edge/outputs/derived/floor/plane.js";
import { native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.floor as unknown as (call: object) => string;
const NAMES = ["outcome", "a", "b", "c", "known", "on", "below", "under", "squares"] as const;
type Found = Record<(typeof NAMES)[number], number>;

interface View {
  width: number;
  height: number;
  focalPixels: number;
  baselineMetres: number;
  cx: number;
  cy: number;
}

interface Call extends View {
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  before?: Float64Array;
  onlyBefore?: boolean;
}

function find(variant: string, call: Call): Found {
  const floor = new Float64Array(NAMES.length);
  expect(stage({ variant, disparityOffsetPixels: 0, ...call, floor })).toBe(variant);
  return Object.fromEntries(NAMES.map((name, at) => [name, floor[at]!])) as Found;
}

const view: View = { width: 320, height: 240, focalPixels: 250, baselineMetres: 0.2, cx: 160, cy: 120 };

/** The disparity of a floor, and of a wall 6 m ahead. */
function plane(pose: ScenePose, { width, height, focalPixels, baselineMetres, cx, cy }: View = view): Call {
  const [pitch, roll] = [pose.pitchDegrees, pose.rollDegrees].map((angle) => (angle * Math.PI) / 180);
  const [nx, ny, nz] = [
    Math.sin(roll!) * Math.cos(pitch!),
    Math.cos(roll!) * Math.cos(pitch!),
    Math.sin(pitch!),
  ];
  const disparityQ4 = Int16Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [(i % width) - cx, Math.floor(i / width) - cy];
    const floor = (baselineMetres / pose.heightMetres) * (nx * x + ny * y + nz * focalPixels);
    return Math.round(16 * Math.max((focalPixels * baselineMetres) / 6, floor));
  });
  const confidence = new Uint8Array(width * height).fill(200);
  return { width, height, focalPixels, baselineMetres, cx, cy, disparityQ4, confidence };
}

/** Puts one disparity on a rectangle. */
function put({ disparityQ4, width }: Call, x: number, y: number, w: number, h: number, pixels: number): void {
  for (let row = y; row < y + h; row++) disparityQ4.fill(16 * pixels, row * width + x, row * width + x + w);
}

const forms = ["reference", ...variants];
const poseOf = (found: Found, of: View) => floorFigures(found, { ...of, disparityOffsetPixels: 0 });

describe.each(forms)("floor, %s: by hand", (variant) => {
  test("the plane of the README: 0.1 px of disparity a row", () => {
    const small = { width: 64, height: 96, focalPixels: 64, baselineMetres: 0.1, cx: 32, cy: 10 };
    const call = plane({ heightMetres: 1, pitchDegrees: 0, rollDegrees: 0 }, small);
    expect(call.disparityQ4[42 * 64]).toBe(Math.round(16 * 3.2));
    const found = find(variant, call);
    expect(found.outcome).toBe(0);
    expect(found.b / 2 ** 20).toBeCloseTo(0.1, 3);
    expect(found.a / 2 ** 20).toBeCloseTo(0, 3);
  });

  test.each([
    { heightMetres: 1.3, pitchDegrees: 11, rollDegrees: 0 },
    { heightMetres: 0.25, pitchDegrees: 0, rollDegrees: 0 },
    { heightMetres: 2, pitchDegrees: 40, rollDegrees: -12 },
    { heightMetres: 0.7, pitchDegrees: -5, rollDegrees: 9 },
  ])("height, pitch and roll of %j, with a person and two boxes on it", (pose) => {
    const call = plane(pose);
    put(call, 125, 30, 45, 165, 30);
    put(call, 30, 165, 60, 35, 28);
    put(call, 235, 190, 45, 30, 60);
    const figures = poseOf(find(variant, call), view);
    expect(Math.abs(figures.heightMetres - pose.heightMetres)).toBeLessThan(0.02);
    expect(Math.abs(figures.pitchDegrees - pose.pitchDegrees)).toBeLessThan(0.3);
    expect(Math.abs(figures.rollDegrees - pose.rollDegrees)).toBeLessThan(0.3);
  });

  test("without matches, with a wall alone, or in front of a lower level there is no floor", () => {
    const call = plane({ heightMetres: 1, pitchDegrees: 10, rollDegrees: 0 });
    expect(find(variant, { ...call, confidence: new Uint8Array(320 * 240) })).toMatchObject({
      outcome: 1,
      known: 0,
    });
    const wall = { ...call, disparityQ4: new Int16Array(320 * 240).fill(400) };
    expect(find(variant, wall).outcome).toBe(2);
    // A table top covers the lower rows.
    put(call, 0, 205, 320, 35, 60);
    expect(find(variant, call).outcome).toBe(5);
  });

  test("a floor that was set is counted and not fitted; a floor from before stays", () => {
    const call = plane({ heightMetres: 1, pitchDegrees: 10, rollDegrees: 0 });
    const { a, b, c } = find(variant, call);
    const set = Float64Array.of(a, b, c);
    expect(find(variant, { ...call, before: set, onlyBefore: true })).toMatchObject({ outcome: 0, a, b, c });
    const wrong = Float64Array.of(a, 3 * b, c);
    expect(find(variant, { ...call, before: wrong, onlyBefore: true }).outcome).not.toBe(0);
    put(call, 0, 205, 320, 35, 60);
    const kept = find(variant, { ...call, before: set });
    expect(kept.outcome).toBe(0);
    expect(Math.abs(poseOf(kept, view).heightMetres - 1)).toBeLessThan(0.01);
  });
});

describe.each(forms)("floor, %s: counts and their limits", (variant) => {
  /** An image of one pixel for each cell. The floor of y rows from the middle is 2 y + 60 sixteenths: 32 and more from row 10 on. */
  const small = { width: 64, height: 48, focalPixels: 64, baselineMetres: 0.1, cx: 32, cy: 24 };
  const before = Float64Array.of(0, 2 * 65536, 60 * 65536);
  const onFloor = (at: number) => 2 * (Math.floor(at / 64) - 24) + 60;
  /** Cells by how far they are from the floor; undefined: no disparity. */
  const mapOf = (apart: (at: number) => number | undefined): Call => ({
    ...small,
    disparityQ4: Int16Array.from({ length: 3072 }, (_, at) => onFloor(at) + (apart(at) ?? 0)),
    confidence: Uint8Array.from({ length: 3072 }, (_, at) => (apart(at) === undefined ? 0 : 1)),
  });
  const set = (call: Call) => find(variant, { ...call, before, onlyBefore: true });

  test("of cells on the floor, next to it, below it and unknown", () => {
    // Twenty cells each from row 20 on.
    const apart = [16, -16, 17, -17, -32, -33, undefined];
    const call = mapOf((at) => {
      const part = Math.floor((at - 20 * 64) / 20);
      return part >= 0 && part < apart.length ? apart[part] : 0;
    });
    call.disparityQ4[3071] = INVALID;
    const under = 38 * 64 - 21;
    expect(set(call)).toEqual({
      outcome: 0,
      a: 0,
      b: before[1],
      c: before[2],
      known: 3072 - 21,
      on: under - 80,
      below: 20,
      under,
      squares: 40 * 64 ** 2,
    });
  });

  test("154 cells make a floor", () => {
    const lowest = (count: number, other?: number) => mapOf((at) => (at >= 3072 - count ? 0 : other));
    expect(set(lowest(154))).toMatchObject({ outcome: 0, known: 154, on: 154 });
    expect(set(lowest(153))).toMatchObject({ outcome: 1, known: 153 });
    expect(set(lowest(154, 17))).toMatchObject({ outcome: 0, on: 154 });
    expect(set(lowest(153, 17))).toMatchObject({ outcome: 3, on: 153 });
  });

  test("no more cells below it than on it", () => {
    const below = (count: number) => mapOf((at) => (at >= 2900 ? 0 : at >= 2900 - count ? -33 : undefined));
    expect(set(below(172))).toMatchObject({ outcome: 0, on: 172, below: 172 });
    expect(set(below(173))).toMatchObject({ outcome: 4, on: 172, below: 173 });
  });

  test("a quarter of the six lowest rows, unless it was there before", () => {
    const inFront = (count: number) => mapOf((at) => (at >= 42 * 64 + count ? 200 : 0));
    expect(find(variant, inFront(96))).toMatchObject({ outcome: 0, a: 0, b: before[1], c: before[2] });
    expect(find(variant, inFront(95))).toMatchObject({ outcome: 5, a: 0, b: before[1], c: before[2] });
    expect(find(variant, { ...inFront(95), before })).toMatchObject({ outcome: 0, c: before[2] });
  });
});

test("a floor in rendered rooms is found within 1 cm and 0.2 degrees", async () => {
  const { SceneRenderer } = await import("../../camera/index.js");
  const size = sceneView(640, 480);
  for (const pose of [{ heightMetres: 0.6, pitchDegrees: 20, rollDegrees: 5 }]) {
    const renderer = new SceneRenderer(native, {
      width: 320,
      height: 240,
      view: "ideal",
      room: "bare",
      pose,
    });
    const { disparity } = renderer.truth(0, "left", size);
    renderer.close();
    const call = {
      ...size,
      baselineMetres: SCENE_BASELINE_METRES,
      disparityQ4: Int16Array.from(disparity.data, (d) => Math.round(16 * d)),
      confidence: new Uint8Array(640 * 480).fill(200),
    };
    const figures = poseOf(find(variants[0]!, call), call);
    expect(Math.abs(figures.heightMetres - pose.heightMetres)).toBeLessThan(0.01);
    expect(Math.abs(figures.pitchDegrees - pose.pitchDegrees)).toBeLessThan(0.2);
    expect(Math.abs(figures.rollDegrees - pose.rollDegrees)).toBeLessThan(0.2);
  }
});

describe.each(variants)("floor, %s: twin of the reference", (variant) => {
  test.each([
    [1, 1],
    [63, 47],
    [130, 97],
    [320, 240],
  ])("%i x %i", (width, height) => {
    const random = new Random();
    for (let round = 0; round < 4; round++) {
      const focalPixels = random.whole(width, 2 * width);
      const small = { width, height, focalPixels, baselineMetres: 0.1, cx: width / 2, cy: height / 3 };
      const call = plane(
        {
          heightMetres: random.whole(2, 30) / 10,
          pitchDegrees: random.whole(-10, 50),
          rollDegrees: random.whole(-20, 20),
        },
        small,
      );
      const invalidIn = random.pick([2, 3, 50]);
      for (let i = 0; i < width * height; i++) {
        if (round === 3) call.disparityQ4[i] = random.whole(-32768, 32767);
        else call.disparityQ4[i] = call.disparityQ4[i]! + random.whole(-6, 6);
        if (random.whole(1, invalidIn) === 1) call.disparityQ4[i] = INVALID;
        if (random.whole(1, 9) === 1) call.confidence[i] = 0;
      }
      const before = Float64Array.of(
        random.whole(-9999, 9999),
        random.whole(-99_999, 999_999),
        random.whole(0, 1e9),
      );
      for (const more of [{}, { before }, { before, onlyBefore: true }])
        expect(find(variant, { ...call, ...more }), `seed ${random.seed}`).toEqual(
          find("reference", { ...call, ...more }),
        );
    }
  });
});

describe.each(variants)("floor, %s: votes", (variant) => {
  const score = native.stages.floorScore as unknown as (call: object) => number;
  const UNKNOWN = 32767;

  test("cells on the plane, next to it and below it, each band with its weight", () => {
    const random = new Random();
    for (let round = 0; round < 20; round++) {
      const columns = random.fill(new Int16Array(64), -20, 20);
      const rows = random.fill(new Int16Array(48), 20, 90);
      const cells = Int16Array.from({ length: 64 * 48 }, (_, at) => {
        const apart = random.pick([-400, -34, -33, -32, -17, -16, -1, 0, 16, 17, 300, UNKNOWN]);
        return apart === UNKNOWN ? UNKNOWN : columns[at % 64]! + rows[Math.floor(at / 64)]! + apart;
      });
      let expected = 0;
      for (const [at, d] of cells.entries()) {
        const [i, j] = [at % 64, Math.floor(at / 64)];
        const p = columns[i]! + rows[j]!;
        if (d === UNKNOWN || p < 32) continue;
        const weight = (Math.floor(j / 6) + 1) ** 2;
        if (Math.abs(d - p) <= 16) expected += 4 * weight;
        if (d - p < -32) expected -= weight;
      }
      expect(score({ variant, cells, columns, rows }), `seed ${random.seed}`).toBe(expected);
    }
  });

  test("all cells on the plane, and all below it, at the ends of a disparity", () => {
    const weights = Array.from({ length: 48 }, (_, j) => (Math.floor(j / 6) + 1) ** 2);
    const all = 64 * weights.reduce((sum, weight) => sum + weight);
    const columns = new Int16Array(64).fill(16000);
    const rows = new Int16Array(48).fill(16000);
    expect(score({ variant, cells: new Int16Array(3072).fill(32000), columns, rows })).toBe(4 * all);
    expect(score({ variant, cells: new Int16Array(3072).fill(-32000), columns, rows })).toBe(-all);
  });
});

describe("floor: what every form shares, by hand", () => {
  interface Parts {
    parameters: number[];
    columns: number[];
    rows: number[];
    candidates: number[];
    through: number[];
    isFloor: boolean;
  }
  const stageParts = native.stages.floorParts as unknown as (call: object) => Parts;
  const stageFollow = native.stages.followFloor as unknown as (call: object) => Float64Array;
  const settings = { ...view, disparityOffsetPixels: 0 };
  const partsOf = (changes: object = {}, plane = [0, 1, 0], points = [0, 0, 0, 0, 0, 0, 0, 0, 0]) =>
    stageParts({
      ...settings,
      ...changes,
      plane: Float64Array.from(plane),
      points: Float64Array.from(points),
    });

  test("settings are rounded, halves up, and limited", () => {
    // 16 x 65536 x 0.2 m / 10 m, and / 0.05 m, each rounded down and 1 more.
    expect(partsOf().parameters).toEqual([250, 0, 0, 0, 20972, 4194305]);
    const odd = { focalPixels: 250.5, cx: 160.5, cy: 119.49, disparityOffsetPixels: -1.53125, width: 321 };
    expect(partsOf(odd).parameters.slice(0, 4)).toEqual([251, 1, -1, -24]);
    const far = { focalPixels: 1e9, cx: -1e9, cy: 1e9, disparityOffsetPixels: -1e9, width: 320, height: 241 };
    expect(partsOf(far).parameters.slice(0, 4)).toEqual([100_000, -100_160, 99_880, -100_000]);
    const near = { focalPixels: 0.2, cx: 1e9, cy: -1e9, disparityOffsetPixels: 1e9 };
    expect(partsOf(near).parameters.slice(0, 4)).toEqual([1, 99_840, -100_120, 100_000]);
  });

  test("cells are pixels from the middle", () => {
    const { columns, rows } = partsOf({ width: 320, height: 241 });
    // (2 i + 1) 320 / 128 - 160 and (2 j + 1) 241 / 96 - 120.
    expect([columns.length, columns[0], columns[1], columns[63]]).toEqual([64, -158, -153, 157]);
    expect([rows.length, rows[0], rows[1], rows[47]]).toEqual([48, -118, -113, 118]);
  });

  test("candidates are drawn in the order of the definition", () => {
    let state = 1n;
    const step = (end: number) => {
      state = (state * 1664525n + 1013904223n) % 2n ** 32n;
      return Number(state / 65536n) % end;
    };
    const clamp = (value: number, end: number) => Math.min(Math.max(value, 0), end - 1);
    const all = Array.from({ length: 512 }, () => {
      const [i, j] = [step(64), step(48)];
      return [i, j, ...[1, 2].flatMap(() => [clamp(i - 16 + step(33), 64), clamp(j - 12 + step(25), 48)])];
    });
    const area = ([i, j, k, l, m, n]: number[]) =>
      Math.abs((k! - i!) * (n! - j!) - (l! - j!) * (m! - i!)) / 2;
    const kept = all.filter((cells) => area(cells) >= 12);
    expect(all.map(area), "one at the limit").toContain(12);
    expect(partsOf().candidates).toEqual(kept.flat());
  });

  test.each([
    // d = 3 x + 2 y + 7, in sixteenths.
    [[0, 0, 7, 1, 0, 10, 0, 1, 9], [3, 2, 7].map((value) => 65536 * value)],
    // The other way round.
    [[0, 0, 7, 0, 1, 9, 1, 0, 10], [3, 2, 7].map((value) => 65536 * value)],
    // Thirds: 65536 / 3 = 21845.3 and -21845.3; c = 65536 x 5 - 21845 x 2 + 21845 x 4.
    [
      [2, 4, 5, 5, 4, 6, 2, 7, 4],
      [21845, -21845, 327680 - 43690 + 87380],
    ],
    // Halves go up: 65536 / 2^17 and -65536 / 2^17.
    [
      [-8192, 0, 0, 8191, 0, 0, -8192, 1, 1],
      [0, 65536, 0],
    ],
    [[1, 1, 3, 2, 2, 5, 3, 3, 9], []],
  ])("a plane through the points %j", (points, plane) => {
    expect(partsOf({}, undefined, points).through).toEqual(plane);
  });

  test.each([
    // Slopes from 20972 to 4194305.
    [[0, 20971, 0], {}, false],
    [[0, 20972, 0], {}, true],
    [[0, 4194305, 0], {}, true],
    [[0, 4194306, 0], {}, false],
    // A roll of at most 1 in 2, both ways.
    [[50_000, 100_000, 0], {}, true],
    [[50_001, 100_000, 0], {}, false],
    [[-50_000, 100_000, 0], {}, true],
    [[-50_001, 100_000, 0], {}, false],
    // 250 x 100000 = 25000000 at the principal point: from -1/2 to 2 of it.
    [[0, 100_000, 50_000_000], {}, true],
    [[0, 100_000, 50_000_001], {}, false],
    [[0, 100_000, -12_500_000], {}, true],
    [[0, 100_000, -12_500_001], {}, false],
    // The principal point (3, 2) from the middle, and an offset of 1/16 px: c + 3 a + 2 b + 65536.
    [[10_000, 100_000, 49_704_464], { cx: 163, cy: 122, disparityOffsetPixels: 0.0625 }, true],
    [[10_000, 100_000, 49_704_465], { cx: 163, cy: 122, disparityOffsetPixels: 0.0625 }, false],
  ])("the plane %j with %j is a floor: %j", (plane, changes, isFloor) => {
    expect(partsOf(changes, plane).isFloor).toBe(isFloor);
  });

  const FOUND = 0;
  const UNMATCHED = 1;
  const SMALL = 6;
  const follow = (frames: number[][], isSet = false, height = 241) => {
    const numbers = stageFollow({
      height,
      isSet,
      count: frames.length,
      frames: Float64Array.from(frames.flat()),
    });
    return frames.map((_, frame) => [...numbers.subarray(13 * frame, 13 * frame + 13)]);
  };
  // 20 px in the lowest row, 121 below the middle.
  const C = 20 * 16 * 65536;

  test("the first floor is taken whole, a later one by a quarter, halves up", () => {
    const counts = [11, 12, 13, 14, 15];
    expect(
      follow([
        [FOUND, 8, 40, C],
        [FOUND, 14, 34, C + 5],
        [UNMATCHED, 0, 0, 0],
      ]),
    ).toEqual([
      [FOUND, 8, 40, C, ...counts, 1, 8, 40, C],
      // 8 + 6 / 4, 40 - 6 / 4 and C + 5 / 4.
      [FOUND, 14, 34, C + 5, ...counts, 1, 10, 39, C + 1],
      [UNMATCHED, 0, 0, 0, ...counts, 1, 10, 39, C + 1],
    ]);
  });

  test("a floor is small below 20 px of disparity in the lowest row", () => {
    const outcomes = [
      [FOUND, 0, 1, C - 121],
      [FOUND, 0, 1, C - 122],
    ].map((frame) => follow([frame])[0]!);
    expect(outcomes.map(([outcome]) => outcome)).toEqual([FOUND, SMALL]);
    expect(outcomes.map((numbers) => numbers[9])).toEqual([1, 0]);
    expect(follow([[FOUND, 0, 1, 0]], true)[0]![0], "one that was set").toBe(FOUND);
  });

  test("a floor that is not seen is kept for 60 frames, which any other frame begins again", () => {
    const seen = [FOUND, 1, 2, C];
    const unseen = [UNMATCHED, 0, 0, 0];
    const there = follow([seen, ...Array(60).fill(unseen), seen, ...Array(62).fill(unseen), seen]).map(
      (numbers) => numbers[9],
    );
    expect(there).toEqual([...Array(122).fill(1), 0, 0, 1]);
    const lost = follow([seen, ...Array(61).fill(unseen), [FOUND, 400, 2, C]]).at(-1)!;
    expect(lost.slice(9), "a new one is taken whole").toEqual([1, 400, 2, C]);
  });

  test("a floor that was set stays", () => {
    for (const numbers of follow([[FOUND, 9, 9, C], ...Array(70).fill([UNMATCHED, 0, 0, 0])], true))
      expect(numbers.slice(9)).toEqual([1, 1, 2, 3]);
  });
});
