// SPDX-License-Identifier: Apache-2.0
// The threshold: by hand, properties, twins of the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.threshold as unknown as (call: object) => string;

interface Limits {
  minConfidence?: number;
  minMillimetres?: number;
  maxMillimetres?: number;
  focalPixels?: number;
  baselineMetres?: number;
  disparityOffsetPixels?: number;
}

/** f b = 50 m px: 50 px is 1 m, 25 px is 2 m. */
const NO_LIMITS = {
  minConfidence: 0,
  minMillimetres: 0,
  maxMillimetres: 0,
  focalPixels: 500,
  baselineMetres: 0.1,
  disparityOffsetPixels: 0,
};

function threshold(variant: string, limits: Limits, before: Int16Array, sure: Uint8Array, width: number) {
  const call = { ...NO_LIMITS, ...limits };
  const [disparityQ4, confidence, dropped] = [before.slice(), sure.slice(), new Int32Array(4)];
  const height = before.length / width;
  const ran = stage({ variant, width, height, ...call, disparityQ4, confidence, dropped });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  const [filled, lowConfidence, tooNear, tooFar] = dropped;
  return { disparityQ4, confidence, dropped: { filled, lowConfidence, tooNear, tooFar } };
}

const NONE = { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 };
const forms = ["reference", ...variants];

describe.each(forms)("threshold, %s: by hand", (variant) => {
  // 2 m, 1 m, 1 m filled, nothing, 4 m, 0.5 m, infinitely far.
  const disparityQ4 = Int16Array.of(400, 800, 800, INVALID, 200, 1600, 0);
  const confidence = Uint8Array.of(255, 230, 0, 0, 229, 100, 255);
  const apply = (limits: Limits) => threshold(variant, limits, disparityQ4, confidence, 7);

  test("without a limit everything stays", () => {
    const result = apply({});
    expect([...result.disparityQ4]).toEqual([...disparityQ4]);
    expect([...result.confidence]).toEqual([...confidence]);
    expect(result.dropped).toEqual(NONE);
  });

  test("the smallest confidence is kept, and filled pixels are dropped and counted apart", () => {
    const result = apply({ minConfidence: 230 });
    expect([...result.disparityQ4]).toEqual([400, 800, INVALID, INVALID, INVALID, INVALID, 0]);
    expect([...result.confidence]).toEqual([255, 230, 0, 0, 0, 0, 255]);
    expect(result.dropped).toEqual({ ...NONE, filled: 1, lowConfidence: 2 });
    expect(apply({ minConfidence: 1 }).dropped).toEqual({ ...NONE, filled: 1 });
  });

  test("depths at the limits are kept; an infinite depth is too far, and never too near", () => {
    const result = apply({ minMillimetres: 1000, maxMillimetres: 2000 });
    expect([...result.disparityQ4]).toEqual([400, 800, 800, INVALID, INVALID, INVALID, INVALID]);
    expect([...result.confidence]).toEqual([255, 230, 0, 0, 0, 0, 0]);
    expect(result.dropped).toEqual({ ...NONE, tooNear: 1, tooFar: 2 });
    expect(apply({ minMillimetres: 1001 }).dropped).toEqual({ ...NONE, tooNear: 3 });
    expect(apply({ maxMillimetres: 1999 }).dropped).toEqual({ ...NONE, tooFar: 3 });
  });

  test("a pixel of two causes is counted under the first", () => {
    const result = apply({ minConfidence: 230, minMillimetres: 1500, maxMillimetres: 3000 });
    expect([...result.disparityQ4]).toEqual([400, ...new Array(6).fill(INVALID)]);
    expect(result.dropped).toEqual({ filled: 1, lowConfidence: 2, tooNear: 1, tooFar: 1 });
  });

  test("the offset of the principal points shifts the depth limits", () => {
    // 25 px + 25 px = 50 px: 1 m. 0 px + 25 px: 2 m.
    const result = apply({ maxMillimetres: 1000, disparityOffsetPixels: 25 });
    expect([...result.disparityQ4]).toEqual([400, 800, 800, INVALID, INVALID, 1600, INVALID]);
  });

  test("limits that no disparity can meet drop everything", () => {
    const valid = 6;
    expect(apply({ maxMillimetres: 1 }).dropped).toEqual({ ...NONE, tooFar: valid });
    expect(apply({ minMillimetres: 1_000_000, disparityOffsetPixels: 100 }).dropped).toEqual({
      ...NONE,
      tooNear: valid,
    });
  });
});

describe.each(forms)("threshold, %s: properties", (variant) => {
  test("a pixel is kept where its depth in millimetres, as published, is within the limits", () => {
    const random = new Random();
    const every = Int16Array.from({ length: 65_280 }, (_, i) => i - 32_640);
    const sure = new Uint8Array(every.length).fill(200);
    for (let round = 0; round < 20; ++round) {
      const geometry = {
        focalPixels: random.whole(100_000, 3_000_000) / 1000,
        baselineMetres: random.whole(10_000, 1_000_000) / 1e6,
        disparityOffsetPixels: round % 2 === 0 ? 0 : random.whole(-200_000, 200_000) / 1000,
      };
      const [minMillimetres, maxMillimetres] = [random.whole(1, 20_000), random.whole(20_000, 65_535)];
      const depth = new Uint16Array(every.length);
      const size = { variant: "reference", width: 256, height: every.length / 256 };
      (native.stages.depth as unknown as typeof stage)({ ...size, ...geometry, disparityQ4: every, depth });
      const limits = { minMillimetres, maxMillimetres, ...geometry };
      const result = threshold(variant, limits, every, sure, 256);
      const expected = every.map((disparity, i) =>
        depth[i]! >= minMillimetres && depth[i]! <= maxMillimetres ? disparity : INVALID,
      );
      expectSameImage(result.disparityQ4, expected, 256, `seed ${random.seed}, ${JSON.stringify(limits)}`);
    }
  });

  test("applied again it changes and counts nothing", () => {
    const random = new Random();
    const disparityQ4 = random.fill(new Int16Array(150 * 9), -100, 2000);
    const confidence = random.fill(new Uint8Array(150 * 9), 0, 255);
    const limits = { minConfidence: 90, minMillimetres: 500, maxMillimetres: 5000 };
    const once = threshold(variant, limits, disparityQ4, confidence, 150);
    const twice = threshold(variant, limits, once.disparityQ4, once.confidence, 150);
    expectSameImage(twice.disparityQ4, once.disparityQ4, 150, `seed ${random.seed}`);
    expectSameImage(twice.confidence, once.confidence, 150, `seed ${random.seed}`);
    expect(twice.dropped).toEqual(NONE);
    const counted = Object.values(once.dropped).reduce<number>((sum, count) => sum + count!, 0);
    expect(counted).toBe(once.disparityQ4.filter((disparity) => disparity === INVALID).length);
  });
});

describe.each(variants)("threshold, %s: twin of the reference", (variant) => {
  test.each([...AWKWARD_WIDTHS, 16_384])("%i wide", (width) => {
    const random = new Random();
    for (const oneInvalidIn of [2, 50]) {
      const disparityQ4 = random.fill(new Int16Array(width * 5), -400, random.pick([600, 32_752]));
      for (let i = 0; i < disparityQ4.length; ++i) {
        if (random.whole(1, oneInvalidIn) === 1) disparityQ4[i] = INVALID;
      }
      const confidence = random.fill(new Uint8Array(width * 5), 0, random.pick([3, 255]));
      const limits = {
        minConfidence: random.pick([0, 1, 2, 128, 255]),
        minMillimetres: random.pick([0, random.whole(1, 3000)]),
        maxMillimetres: random.pick([0, random.whole(3000, 1_000_000)]),
        disparityOffsetPixels: random.pick([0, 20.3, -20.3]),
      };
      const what = `seed ${random.seed}, ${JSON.stringify(limits)}`;
      const expected = threshold("reference", limits, disparityQ4, confidence, width);
      const got = threshold(variant, limits, disparityQ4, confidence, width);
      expectSameImage(got.disparityQ4, expected.disparityQ4, width, what);
      expectSameImage(got.confidence, expected.confidence, width, what);
      expect(got.dropped, what).toEqual(expected.dropped);
    }
  });
});
