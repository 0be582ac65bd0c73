// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the average over time: frames worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.average as unknown as (call: object) => string;
const forms = ["reference", ...variants];
const LIMIT = 216;

/** One image's stream through one form of the stage. */
class Average {
  state: Int16Array;

  constructor(
    readonly variant: string,
    readonly width: number,
    readonly height: number,
  ) {
    this.state = new Int16Array(width * height);
  }

  next(image: Uint8Array, { limit = LIMIT, filtered = image } = {}): Uint8Array {
    const { variant, width, height, state: before } = this;
    this.state = new Int16Array(image.length);
    const averaged = new Uint8Array(image.length);
    const call = { variant, width, height, image, filtered, before, after: this.state, averaged, limit };
    expect(stage(call), "the form that was asked for is the form that ran").toBe(variant);
    return averaged;
  }

  /** A frame whose pixels are all alike. */
  alike(grey: number, options?: { limit?: number; filtered?: Uint8Array }): number {
    const [first, ...others] = this.next(new Uint8Array(this.state.length).fill(grey), options);
    expect(others.every((value) => value === first)).toBe(true);
    return first!;
  }

  /** Mean in 1/16 grey values and weight of the first pixel. */
  get first(): [number, number] {
    return [this.state[0]! & 4095, this.state[0]! >> 12];
  }
}

describe.each(forms)("average over time, %s: by hand", (variant) => {
  test("a frame weighs a half, a quarter, a quarter, then an eighth", () => {
    const average = new Average(variant, 5, 4);
    average.alike(100);
    expect(average.first).toEqual([1600, 1]);
    // 1600 + floor((1632 - 1600 + 1) / 2)
    average.alike(102);
    expect(average.first).toEqual([1616, 2]);
    // 1616 + floor((1584 - 1616 + 2) / 4), which is -7.5
    average.alike(99);
    expect(average.first).toEqual([1608, 3]);
    // 1608 + floor((1648 - 1608 + 2) / 4)
    average.alike(103);
    expect(average.first).toEqual([1618, 4]);
    // 1618 + floor((1584 - 1618 + 4) / 8), which is -3.75
    expect(average.alike(99)).toBe(101);
    expect(average.first).toEqual([1614, 4]);
    // 1614 + floor((1600 - 1614 + 4) / 8), which is -1.25
    expect(average.alike(100)).toBe(101);
    expect(average.first).toEqual([1612, 4]);
  });

  test("the filtered pixel is given until three frames are in the mean", () => {
    const average = new Average(variant, 17, 3);
    const filtered = new Uint8Array(17 * 3).fill(7);
    expect([1, 2, 3, 4].map(() => average.alike(50, { filtered }))).toEqual([7, 7, 50, 50]);
    // A jump begins again.
    expect(average.alike(90, { filtered })).toBe(7);
    expect(average.first).toEqual([1440, 1]);
  });

  test("a change of three grey values is averaged, one more is not", () => {
    // Nine times 3 grey values are 216 eighths.
    for (const [change, mean] of [
      [3, 1624],
      [-3, 1576],
      [4, 1664],
      [-4, 1536],
    ] as const) {
      const average = new Average(variant, 9, 9);
      average.alike(100);
      average.alike(100 + change);
      expect(average.first[0], `change ${change}`).toBe(mean);
    }
  });

  test("one pixel moves by more than 12 grey values, or its surroundings by more than 27 in sum", () => {
    const [width, height, middle] = [21, 9, 4 * 21 + 10];
    const weights = (change: number) => {
      const average = new Average(variant, width, height);
      average.alike(100);
      const image = new Uint8Array(width * height).fill(100);
      image[middle] = 100 + change;
      average.next(image);
      return average.state.map((state) => state >> 12);
    };
    const around = (distance: number) =>
      new Int16Array(width * height).map((_, i) => {
        const [x, y] = [i % width, Math.floor(i / width)];
        return Math.max(Math.abs(x - 10), Math.abs(y - 4)) <= distance ? 1 : 2;
      });
    expect(weights(12)).toEqual(around(-1));
    expect(weights(13)).toEqual(around(0));
    expect(weights(-13)).toEqual(around(0));
    expect(weights(27)).toEqual(around(0));
    expect(weights(28)).toEqual(around(1));
    expect(weights(-28)).toEqual(around(1));
  });

  test("the limit is the caller's, and at a border the replicated pixels count", () => {
    const average = new Average(variant, 1, 1);
    average.alike(100);
    average.alike(111, { limit: 216 + 22 * 36 });
    expect(average.first).toEqual([1688, 2]);
    // 9 x 5 x 8 = 360 eighths.
    const corner = new Average(variant, 2, 2);
    corner.alike(100);
    corner.alike(105, { limit: 360 });
    expect(corner.first[1]).toBe(2);
    corner.alike(98, { limit: 359 });
    expect(corner.first[1]).toBe(3);
    corner.alike(107, { limit: 359 });
    expect(corner.first[1]).toBe(1);
  });

  test("black and white are reached from everywhere", () => {
    const average = new Average(variant, 8, 1);
    for (const grey of [0, 255, 0]) {
      for (let frame = 0; frame < 6; ++frame) average.alike(grey);
      expect(average.first).toEqual([16 * grey, 4]);
    }
  });
});

/** A still scene with noise, a square that moves over it, and now and then another picture. */
function frames(width: number, height: number, count: number, random: Random) {
  const scene = random.fill(new Uint8Array(width * height), 0, 255);
  return Array.from({ length: count }, (_, frame) => {
    if (random.whole(0, 9) === 0) random.fill(scene, 0, 255);
    const noise = random.pick([1, 4, 20]);
    const image = scene.map((value) => Math.max(0, Math.min(255, value + random.whole(-noise, noise))));
    for (let y = 0; y < Math.min(6, height); ++y) {
      for (let x = 3 * frame; x < Math.min(3 * frame + 9, width); ++x) image[y * width + x] = 255 - y;
    }
    return { image, filtered: random.fill(new Uint8Array(width * height), 0, 255) };
  });
}

describe("average over time: twins", () => {
  test.each(variants)("%s equals the definition, frame after frame, state and result", (variant) => {
    const random = new Random();
    for (const width of [...AWKWARD_WIDTHS, 511, 512, 513, 700]) {
      const height = random.pick([1, 2, 3, 8, 17]);
      const expected = new Average("reference", width, height);
      const got = new Average(variant, width, height);
      for (const [i, { image, filtered }] of frames(width, height, 12, random).entries()) {
        const options = { filtered, limit: random.pick([0, 216, 300, 502, 1008]) };
        const what = `seed ${random.seed}, ${width} x ${height}, frame ${i}`;
        expectSameImage(got.next(image, options), expected.next(image, options), width, what);
        expectSameImage(got.state, expected.state, width, `${what}, state`);
      }
    }
  });
});

describe.each(forms)("average over time, %s: properties", (variant) => {
  test("a still scene does not change; noise becomes a fifteenth of its variance", () => {
    const random = new Random();
    const [width, height] = [64, 32];
    const scene = random.fill(new Uint8Array(width * height), 40, 200);
    const average = new Average(variant, width, height);
    for (let frame = 0; frame < 3; ++frame)
      expectSameImage(average.next(scene), scene, width, `frame ${frame}`);
    let last: Uint8Array = scene;
    for (let frame = 0; frame < 40; ++frame)
      last = average.next(scene.map((value) => value + random.whole(-3, 3)));
    const variance = last.reduce((sum, value, i) => sum + (value - scene[i]!) ** 2, 0) / last.length;
    // Uniform over -3..3 has a variance of 4; with weight 1/8 a fifteenth is left, and rounding adds a twelfth.
    expect(variance).toBeLessThan(2 * (4 / 15 + 1 / 12));
  });
});
