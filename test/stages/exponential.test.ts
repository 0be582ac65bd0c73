// SPDX-License-Identifier: Apache-2.0
// Three witnesses for exponential-step aggregation: vectors worked out by hand, properties, and twins against the definition.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.exponential as unknown as (call: object) => string;
const esaw = { steps: 9, basePercent: 190, gammaColour: 17, gammaDistance: 36, truncation: 12, cost: 5461 };
const esmp = { steps: 8, basePercent: 280, gammaColour: 18, gammaDistance: 29, truncation: 17, cost: 3000 };
const messages = { ...esmp, slope: 20000, cap: 750 * 15 };

interface Call {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
  leftRgb?: Uint8Array;
  minDisparity?: number;
  numDisparities?: number;
  slope?: number;
  cap?: number;
  threads?: number;
  [key: string]: unknown;
}

function exponential(variant: string, call: Call) {
  const pixels = call.width * call.height;
  const images = () => new Int16Array(pixels);
  const maps = { disparityQ4: images(), disparity: images(), rightDisparity: images() };
  const confidence = new Uint8Array(pixels);
  const leftRgb =
    call.leftRgb ?? Uint8Array.from({ length: 3 * pixels }, (_, i) => call.left[Math.trunc(i / 3)]!);
  const defaults = { minDisparity: 0, numDisparities: 16, ...esaw, slope: 0, cap: 0, subpixel: true };
  const ran = stage({ variant, ...defaults, ...call, leftRgb, ...maps, confidence });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return { ...maps, confidence };
}

const forms = ["reference", ...variants];

function shifted(random: Random, width: number, height: number, shift: number) {
  const left = random.fill(new Uint8Array(width * height), 0, 255);
  const right = random.fill(new Uint8Array(width * height), 0, 255);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x + shift < width; ++x) right[y * width + x] = left[y * width + x + shift]!;
  }
  return { width, height, left, right };
}

describe("exponential: the committed tables", () => {
  test("light is round(65535 l(v)) of sRGB, and the rows of the matrix add up to 65536", () => {
    const text = readFileSync(new URL("../../cuda/match/exponential/lab.h", import.meta.url), "utf8");
    const [light] = text.slice(text.indexOf("kLinearLight[256] = {")).split("};");
    const linear = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    expect(light!.split("{")[1]!.match(/\d+/g)!.map(Number)).toEqual(
      Array.from({ length: 256 }, (_, v) => Math.round(65535 * linear(v / 255))),
    );
    const rows = text.match(/kLabWeights\[3\]\[3\] = \{(.*)\};/)![1]!.split("}, {");
    // X, Y and Z of sRGB's primaries under D65.
    const primaries = [
      [0.412453, 0.35758, 0.180423],
      [0.212671, 0.71516, 0.072169],
      [0.019334, 0.119193, 0.950227],
    ];
    rows.forEach((row, i) => {
      const weights = row.match(/\d+/g)!.map(Number);
      const white = primaries[i]!.reduce((sum, part) => sum + part);
      expect(weights.reduce((sum, weight) => sum + weight)).toBe(65536);
      weights.forEach((weight, c) => {
        expect(Math.abs(weight - (65536 * primaries[i]![c]!) / white)).toBeLessThan(1);
      });
    });
  });

  test("is round(4096 exp(-i / 256)) until that is 0", () => {
    const text = readFileSync(
      new URL("../../cuda/match/exponential/exponential_table.h", import.meta.url),
      "utf8",
    );
    const values = text.slice(text.lastIndexOf("{\n    4096"), text.indexOf("};")).match(/\d+/g)!.map(Number);
    expect(values).toEqual(values.map((_, i) => Math.round(4096 * Math.exp(-i / 256))));
    expect(Math.round(4096 * Math.exp(-values.length / 256))).toBe(0);
    expect(text).toContain(`kExponentials = ${values.length};`);
  });
});

describe.each(forms)("exponential, %s: by hand", (variant) => {
  test("one step of 1 over three pixels of one colour", () => {
    // README.md, "By hand".
    const row = { width: 3, height: 1, left: Uint8Array.of(10, 20, 30), right: Uint8Array.of(20, 30, 30) };
    const reported = {
      steps: 1,
      gammaDistance: 1,
      cost: 1000,
      numDisparities: 3,
      leftRgb: new Uint8Array(9),
    };
    const got = exponential(variant, { ...row, ...reported });
    expect([...got.disparity]).toEqual([1, 1, 1]);
    expect([...got.disparityQ4]).toEqual([24, 20, 12]);
    expect([...got.rightDisparity]).toEqual([1, 1, 0]);
    expect([...got.confidence]).toEqual([0, 0, 0]);
  });

  test.each([
    // L of white is 100; red is (53, 80, 67) and blue (32.5, 79, -108), 176 apart.
    ["black and white", [0, 0, 0], [255, 255, 255], 100],
    ["red and blue", [255, 0, 0], [0, 0, 255], 176],
  ])("CIELab: a neighbour gammaColour away weighs 1/e, %s", (_, own, other, gammaColour) => {
    // The weights of the test above, by colour instead of distance.
    const row = { width: 3, height: 1, left: Uint8Array.of(10, 20, 30), right: Uint8Array.of(20, 30, 30) };
    const reported = { steps: 1, gammaDistance: 1000, cost: 1000, numDisparities: 3, colourDistance: 1 };
    const leftRgb = Uint8Array.of(...own, ...other, ...own);
    const got = exponential(variant, { ...row, ...reported, leftRgb, gammaColour });
    expect([...got.disparityQ4]).toEqual([24, 20, 12]);
    const nearer = exponential(variant, { ...row, ...reported, leftRgb, gammaColour: 2 * gammaColour });
    expect([...nearer.disparityQ4]).not.toEqual([24, 20, 12]);
  });

  test("CIELab is compared in halves of a unit", () => {
    // L of grey 128 and 129 is 53.6 and 54.0: 107 and 108 halves.
    const random = new Random();
    const pair = shifted(random, 40, 9, 3);
    const greys = Uint8Array.from({ length: 3 * 360 }, (_, i) => 128 + (Math.trunc(i / 3) % 2));
    const lab = exponential(variant, { ...pair, leftRgb: greys, colourDistance: 1, gammaColour: 1 });
    const rgb = exponential(variant, { ...pair, leftRgb: greys, gammaColour: 2 });
    for (const key of ["disparityQ4", "rightDisparity", "confidence"] as const) {
      expectSameImage(lab[key], rgb[key], 40, `seed ${random.seed}, ${key}`);
    }
  });

  test("gradients next to grey", () => {
    // Grey differs by 20 and more everywhere, which is cut to 5: all costs are equal, and 0 wins as the lower.
    const row = {
      width: 4,
      height: 1,
      left: Uint8Array.of(10, 10, 40, 40),
      right: Uint8Array.of(60, 90, 90, 90),
    };
    const reported = {
      steps: 1,
      gammaDistance: 1,
      truncation: 5,
      cost: 1000,
      numDisparities: 2,
      leftRgb: new Uint8Array(12),
    };
    expect([...exponential(variant, { ...row, ...reported }).disparity]).toEqual([0, 0, 0, 0]);
    // G_L = 127 142 142 127, G_R = 142 142 127 127. |G_L(x) - G_R(x - d)|: d = 0: 15 0 15 0; d = 1: 15 0 0 0.
    // At x = 2 that decides, at x = 1 and 3 their neighbour's cost.
    const got = exponential(variant, { ...row, ...reported, gradientTruncation: 20, gradientCost: 100 });
    expect([...got.disparity]).toEqual([0, 1, 1, 1]);
  });

  test.each([
    [5000, 145],
    [3000, 127],
  ])("messages with a cap of %i: confidence with a competitor three disparities away", (cap, confidence) => {
    // Neighbours of another colour weigh nothing. Costs of x = 3: 12000, 3000, 12000, 12000.
    const leftRgb = Uint8Array.from({ length: 12 }, (_, i) => (Math.trunc(i / 3) % 2 === 0 ? 0 : 255));
    const got = exponential(variant, {
      width: 4,
      height: 1,
      left: new Uint8Array(4),
      right: Uint8Array.of(50, 50, 3, 50),
      leftRgb,
      steps: 1,
      gammaColour: 1,
      gammaDistance: 1,
      cost: 1000,
      numDisparities: 4,
      slope: 2000,
      cap,
    });
    // Messages 5000, 3000, 5000, min(7000, 3000 + cap), each less 1 by the weight of 65535 / 65536.
    expect(got.disparity[3]).toBe(1);
    expect(got.confidence[3]).toBe(confidence);
  });

  test("confidence by a second best of 2", () => {
    // Neighbours of another colour weigh nothing, and a weight of 65535 / 65536 takes 1 from a cost: 8 2 0 at x = 2 and
    // 1 8 2 at x = 3.
    const leftRgb = Uint8Array.from({ length: 12 }, (_, i) => (Math.trunc(i / 3) % 2 === 0 ? 0 : 255));
    const row = { width: 4, height: 1, left: new Uint8Array(4), right: Uint8Array.of(0, 3, 9, 2), leftRgb };
    const reported = { steps: 1, gammaColour: 1, gammaDistance: 1, cost: 1, truncation: 255 };
    const got = exponential(variant, { ...row, ...reported, numDisparities: 3 });
    expect([...got.disparity]).toEqual([0, 1, 2, 0]);
    expect([...got.confidence]).toEqual([0, 0, 255, 127]);
    const next = { ...row, right: Uint8Array.of(3, 3, 9, 1), ...reported, numDisparities: 3 };
    expect([...exponential(variant, next).confidence].slice(3)).toEqual([255]);
  });

  test("one pixel has no neighbour: its own cost decides; a range wider than the image is the first column's", () => {
    const pixel = { width: 1, height: 1, left: Uint8Array.of(9), right: Uint8Array.of(200) };
    const got = exponential(variant, { ...pixel, minDisparity: 4, numDisparities: 8 });
    expect([...got.disparityQ4, ...got.rightDisparity, ...got.confidence]).toEqual([64, INVALID, 0]);
    const flat = { width: 5, height: 2, left: new Uint8Array(10).fill(7), right: new Uint8Array(10).fill(7) };
    const wide = exponential(variant, { ...flat, minDisparity: 2, numDisparities: 64 });
    expect([...wide.disparity]).toEqual(Array(10).fill(2));
    expect([...wide.rightDisparity]).toEqual([2, 2, 2, INVALID, INVALID, 2, 2, 2, INVALID, INVALID]);
  });
});

describe.each(forms)("exponential, %s: properties", (variant) => {
  test.each([0, 3, 11])("shifting the right image by %i moves the disparity by as much", (shift) => {
    const random = new Random();
    const pair = shifted(random, 60, 17, shift);
    // Untruncated differences of noise: no wrong disparity comes near the right one.
    const reported = { ...pair, gammaColour: 200, truncation: 255, cost: 257 };
    for (const kind of [esaw, messages]) {
      const { disparity, rightDisparity } = exponential(variant, { ...kind, ...reported });
      for (let y = 0; y < 17; ++y) {
        for (let x = 20; x < 44; ++x) {
          expect(disparity[y * 60 + x], `seed ${random.seed}, left ${x}, ${y}`).toBe(shift);
          expect(rightDisparity[y * 60 + x - 12], `seed ${random.seed}, right ${x - 12}, ${y}`).toBe(shift);
        }
      }
    }
  });

  test("messages that cannot lower any cost are costs; messages without a cap of more than 0 are all alike", () => {
    const random = new Random();
    const pair = shifted(random, 37, 9, 4);
    const costs = exponential(variant, pair);
    const dear = exponential(variant, { ...pair, slope: 65535, cap: 65535 });
    for (const key of ["disparityQ4", "rightDisparity", "confidence"] as const) {
      expectSameImage(dear[key], costs[key], 37, `seed ${random.seed}, ${key}`);
    }
    const flat = exponential(variant, { ...pair, slope: 1, cap: 0 });
    expect([...flat.disparity]).toEqual(Array(37 * 9).fill(0));
  });

  test("a colour edge keeps costs apart that grey alone would mix", () => {
    // Left half searches 2, right half 7; both halves have the same greys and different colours.
    const random = new Random(5);
    const [width, height] = [64, 24];
    const pair = shifted(random, width, height, 7);
    const leftRgb = Uint8Array.from({ length: 3 * width * height }, (_, i) =>
      i % 3 === 0 && Math.trunc(i / 3) % width < 32 ? 255 : 40,
    );
    const flat = pair.left.map((value, i) => (i % width < 32 ? 128 : value));
    const keeps = exponential(variant, { ...pair, left: flat, leftRgb });
    const mixes = exponential(variant, { ...pair, left: flat, leftRgb: new Uint8Array(leftRgb.length) });
    const columns = (map: Int16Array) => Array.from({ length: height }, (_, y) => map[y * width + 34]);
    expect(columns(keeps.disparity)).toEqual(Array(height).fill(7));
    const decided = (maps: typeof keeps) => maps.confidence[12 * width + 31]!;
    expect(decided(mixes), "without the edge, texture decides beyond it").toBeGreaterThan(decided(keeps));
  });
});

// The same calls are drawn for every variant, and the reference is slow.
const references = new Map<string, ReturnType<typeof exponential>>();

describe.each(variants)("exponential, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 9] as const), [40, 48], [1, 40]] as const;

  test.each(shapes)("%i x %i: all parameters, 1 to 5 threads", (width, height) => {
    const random = new Random();
    for (const kind of ["costs", "messages", "short messages"]) {
      const truncation = random.pick([1, 12, 17, 255]);
      const call = {
        ...shifted(random, width, height, random.whole(0, Math.min(20, width - 1))),
        leftRgb: random.fill(new Uint8Array(3 * width * height), 0, random.pick([3, 40, 255])),
        minDisparity: random.pick([0, 0, 5, width + 3]),
        numDisparities: random.whole(1, 40),
        steps: random.whole(1, 10),
        basePercent: random.pick([100, 190, 260, 400]),
        gammaColour: random.pick([1, 17, 1000]),
        gammaDistance: random.pick([1, 36, 1000]),
        colourDistance: random.pick([0, 1]),
        truncation,
        cost: random.whole(1, Math.floor(65535 / truncation)),
        slope: kind === "costs" ? 0 : random.whole(1, kind === "messages" ? 65535 : 400),
        cap: random.pick([0, 300, 65535]),
        subpixel: random.pick([true, false]),
      };
      const gradientTruncation = random.pick([1, 4, 255]);
      const left65535 = 65535 - call.cost * truncation;
      Object.assign(
        call,
        random.pick([{}, { gradientTruncation, gradientCost: Math.floor(left65535 / gradientTruncation) }]),
      );
      const { left: _, right: __, leftRgb: ___, ...reported } = call;
      const what = `seed ${random.seed}, ${JSON.stringify(reported)}`;
      const expected = references.get(what) ?? exponential("reference", call);
      references.set(what, expected);
      const got = exponential(variant, { ...call, threads: random.whole(1, 5) });
      for (const key of ["disparityQ4", "disparity", "rightDisparity", "confidence"] as const) {
        expectSameImage(got[key], expected[key], width, `${what}, ${key}`);
      }
    }
  });
});

describe("exponential: bad calls", () => {
  const image = { width: 8, height: 8, left: new Uint8Array(64), right: new Uint8Array(64) };
  test.each([
    ["minDisparity", 0, 2046],
    ["numDisparities", 1, 512],
    ["steps", 1, 16],
    ["base", 100, 400],
    ["gammaColour", 1, 1000],
    ["gammaDistance", 1, 1000],
    ["truncation", 1, 255],
    ["cost", 1, 65535 / 15],
    ["gradientTruncation", 0, 255],
    ["gradientCost", 0, Math.floor((65535 - 12 * 1000) / 20)],
    ["slope", 0, 65535],
    ["cap", 0, 65535],
  ])("%s is %i to %i", (name, low, high) => {
    const usual = { truncation: name === "cost" ? 15 : 12, cost: 1000, gradientTruncation: 20 };
    for (const value of [low - 1, high + 1])
      expect(() =>
        exponential("scalar", { ...image, ...usual, [name === "base" ? "basePercent" : name]: value }),
      ).toThrow(`Expected ${name} of ${low} to ${high}, got ${value}.`);
  });

  test.each([
    ["steps", { steps: 17 }],
    ["truncation", { truncation: 0 }],
    ["cost", { truncation: 255, cost: 258 }],
    ["gradientCost", { truncation: 10, cost: 6000, gradientTruncation: 10, gradientCost: 554 }],
    ["numDisparities", { numDisparities: 0 }],
  ])("%s out of its range is refused by name", (name, reported) => {
    expect(() => exponential("scalar", { ...image, ...reported })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(name) }),
    );
  });
});
