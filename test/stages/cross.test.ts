// SPDX-License-Identifier: Apache-2.0
// Three witnesses for cross-based aggregation: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.cross as unknown as (call: object) => string;

interface Call {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
  minDisparity?: number;
  numDisparities?: number;
  armX?: number;
  armY?: number;
  similarity?: number;
  armXRight?: number;
  armYRight?: number;
  lambdaDifference?: number;
  differenceScale?: number;
  lambdaCensus?: number;
  threads?: number;
}

function cross(variant: string, call: Call) {
  const pixels = call.width * call.height;
  const maps = { disparity: new Int16Array(pixels), rightDisparity: new Int16Array(pixels) };
  const defaults = { minDisparity: 0, numDisparities: 16, armX: 21, armY: 31, similarity: 13 };
  const ran = stage({ variant, ...defaults, ...call, ...maps });
  expect(ran, "the form that was asked for is the form that ran").toBe(variant);
  return maps;
}

const forms = ["reference", ...variants];

/** Noise, and the same noise seen `shift` columns further to the left by the right image. */
function shifted(random: Random, width: number, height: number, shift: number) {
  const left = random.fill(new Uint8Array(width * height), 0, 255);
  const right = random.fill(new Uint8Array(width * height), 0, 255);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x + shift < width; ++x) right[y * width + x] = left[y * width + x + shift]!;
  }
  return { width, height, left, right };
}

describe("cross: the tables of costs", () => {
  const tables = native.stages.crossCosts as unknown as (call: object) => Uint8Array;

  test.each([
    [300, 255, 23],
    [300, 1, 23],
    [10, 1, 10],
    [10, 255, 10_000],
    [10_000, 255, 160],
    [10_000, 1, 40],
    [62, 255, 3000],
  ])(
    "lambda %i / 1000 of %i grey levels and %i / 10 bits",
    (lambdaDifference, differenceScale, lambdaCensus) => {
      const costs = tables({ lambdaDifference, differenceScale, lambdaCensus });
      const exact = [
        ...Array.from({ length: 256 }, (_, v) => v / (differenceScale * (lambdaDifference / 1000))),
        ...Array.from({ length: 7 }, (_, bits) => bits / (lambdaCensus / 10)),
      ].map((ratio) => 127 * (1 - Math.exp(-ratio)));
      expect(costs).toHaveLength(exact.length);
      for (const [i, cost] of exact.entries())
        expect(Math.abs(costs[i]! - cost), `place ${i}`).toBeLessThan(0.5001);
    },
  );
});

describe.each(forms)("cross, %s: by hand", (variant) => {
  test("without arms the cheapest candidate wins, the lowest of equals; outside the image there is none", () => {
    // One row, all greys equal but one: L = 9 9 9 90, R = 9 90 9 9. Mini-census is what the neighbours make of it.
    const row = { width: 4, height: 1, left: Uint8Array.of(9, 9, 9, 90), right: Uint8Array.of(9, 90, 9, 9) };
    const { disparity, rightDisparity } = cross(variant, { ...row, numDisparities: 4, armX: 0, armY: 0 });
    // x = 3 (90, a peak): d = 2 looks at the 90 of the right image. x = 0 has only d = 0.
    expect(disparity[3]).toBe(2);
    expect(disparity[0]).toBe(0);
    // Seen from the right: the 90 at x = 1 finds the left one at 3; x = 3 can only look at 3.
    expect(rightDisparity[1]).toBe(2);
    expect(rightDisparity[3]).toBe(0);
    const flat = new Uint8Array(12).fill(50);
    const none = cross(variant, {
      width: 12,
      height: 1,
      left: flat,
      right: flat,
      minDisparity: 3,
      numDisparities: 4,
    });
    expect([...none.disparity]).toEqual([INVALID, INVALID, INVALID, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
    expect([...none.rightDisparity]).toEqual([3, 3, 3, 3, 3, 3, 3, 3, 3, INVALID, INVALID, INVALID]);
  });

  test("arms carry a decision over what looks alike and stop at a grey step of the threshold", () => {
    // Two regions of nearly one grey each, 100 and 160, with faint texture (below 13) that only one column of each has.
    const [width, height] = [48, 9];
    const random = new Random(7);
    const texture = random.fill(new Uint8Array(width * height), 0, 3);
    const left = texture.map(
      (value, i) => (i % width < 24 ? 100 : 160) + (i % width === 12 || i % width === 36 ? value : 0),
    );
    const right = left.map((_, i) => left[i - (i % width) + Math.min(width - 1, (i % width) + 3)]!);
    const { disparity } = cross(variant, { width, height, left, right, numDisparities: 8 });
    for (let y = 0; y < height; ++y) {
      // (Left of 24 the arms reach the border, where candidates that leave the image cost the most.)
      for (let x = 27; x < 45; ++x) expect(disparity[y * width + x], `x ${x}, y ${y}`).toBe(3);
    }
  });
});

describe.each(forms)("cross, %s: properties", (variant) => {
  test.each([0, 3, 11])("shifting the right image by %i moves the disparity by as much", (shift) => {
    const random = new Random();
    const pair = shifted(random, 60, 17, shift);
    // similarity 256: every arm is as long as it may be, so each decision rests on 81 pixels.
    const { disparity, rightDisparity } = cross(variant, { ...pair, armX: 4, armY: 4, similarity: 256 });
    for (let y = 0; y < 17; ++y) {
      for (let x = 20; x < 44; ++x) {
        expect(disparity[y * 60 + x], `seed ${random.seed}, left ${x}, ${y}`).toBe(shift);
        expect(rightDisparity[y * 60 + x - 12], `seed ${random.seed}, right ${x - 12}, ${y}`).toBe(shift);
      }
    }
  });

  test("mirroring both images and swapping them swaps the maps", () => {
    const random = new Random();
    const { width, height, left, right } = shifted(random, 37, 8, 4);
    const mirrored = <A extends Uint8Array | Int16Array>(image: A): A =>
      image.map((_, i) => image[i - (i % width) + width - 1 - (i % width)]!) as A;
    const straight = cross(variant, { width, height, left, right });
    const swapped = cross(variant, { width, height, left: mirrored(right), right: mirrored(left) });
    expectSameImage(mirrored(swapped.rightDisparity), straight.disparity, width, `seed ${random.seed}, left`);
    expectSameImage(
      mirrored(swapped.disparity),
      straight.rightDisparity,
      width,
      `seed ${random.seed}, right`,
    );
  });
});

describe.each(forms)("cross, %s: settings of the paper", (variant) => {
  test("arms of the right image change its own winners alone, and -1 means those of the left one", () => {
    const random = new Random();
    const pair = { ...shifted(random, 40, 20, 3), similarity: 256, armX: 4, armY: 4 };
    const same = cross(variant, pair);
    expect(cross(variant, { ...pair, armXRight: -1, armYRight: -1 })).toEqual(same);
    expect(cross(variant, { ...pair, armXRight: 4, armYRight: 4 })).toEqual(same);
    const other = cross(variant, { ...pair, armXRight: 0, armYRight: 0 });
    expect(other.disparity, `seed ${random.seed}`).toEqual(same.disparity);
    const alone = cross(variant, { ...pair, armX: 0, armY: 0 });
    expect(other.rightDisparity, `seed ${random.seed}`).toEqual(alone.rightDisparity);
    expect(other.rightDisparity).not.toEqual(same.rightDisparity);
  });

  test("lambdas weigh grey differences against mini-censuses", () => {
    // One row without arms. At x = 4 the left image has 50 between 60 and 60: both neighbours are brighter. d = 0: 55 between
    // 60 and 60, 5 greys apart and the same census. d = 3: 50 between 40 and 40, the same grey and 6 bits apart.
    const left = Uint8Array.of(0, 0, 0, 60, 50, 60, 0, 0);
    const right = Uint8Array.of(40, 50, 40, 60, 55, 60, 0, 0);
    const row = { width: 8, height: 1, left, right, numDisparities: 4, armX: 0, armY: 0 };
    const winner = (lambdas: object) => cross(variant, { ...row, ...lambdas }).disparity[4];
    // Where the census costs nothing to speak of, the equal grey wins; where greys cost nothing, the equal census does.
    expect(winner({ lambdaDifference: 10, lambdaCensus: 10_000 })).toBe(3);
    expect(winner({ lambdaDifference: 10_000, lambdaCensus: 10 })).toBe(0);
    // The paper's 0.3: 5 greys cost 127 (1 - exp(-5 / 76.5)) = 8 of full scale, and one grey 122 of a grey level; 6 bits cost 118.
    expect(winner({})).toBe(0);
    expect(winner({ right: right.with(4, 51), differenceScale: 1 })).toBe(3);
  });
});

describe.each(variants)("cross, %s: twin of the reference", (variant) => {
  const shapes = [...AWKWARD_WIDTHS.map((width) => [width, 9] as const), [60, 80], [1, 40]] as const;

  test.each(shapes)("%i x %i: arms of all lengths, any search, 1 to 5 threads", (width, height) => {
    const random = new Random();
    for (const spread of [3, 30, 255]) {
      const low = random.whole(0, 255 - spread);
      const pair = {
        ...shifted(random, width, height, random.whole(0, Math.min(20, width - 1))),
        minDisparity: random.pick([0, 0, 5]),
        numDisparities: random.whole(1, 40),
        armX: random.pick([0, 1, 7, 21, 41, 141]),
        armY: random.pick([0, 1, 7, 31, 57]),
        similarity: random.pick([1, 13, 60, 256]),
        armXRight: random.pick([-1, 0, 5, 41, 141]),
        armYRight: random.pick([-1, 0, 5, 41]),
        lambdaDifference: random.pick([10, 100, 300, 10_000]),
        differenceScale: random.pick([1, 255]),
        lambdaCensus: random.pick([10, 23, 200, 10_000]),
      };
      const narrow = (image: Uint8Array) => image.map((value) => low + (value % (spread + 1)));
      const call = { ...pair, left: narrow(pair.left), right: narrow(pair.right) };
      const { left: _, right: __, ...inputs } = call;
      const what = `seed ${random.seed}, ${JSON.stringify(inputs)}`;
      const expected = cross("reference", call);
      const got = cross(variant, { ...call, threads: random.whole(1, 5) });
      expectSameImage(got.disparity, expected.disparity, width, `${what}, left`);
      expectSameImage(got.rightDisparity, expected.rightDisparity, width, `${what}, right`);
    }
  });
});

describe("cross: the longest arms", () => {
  // Noise counts almost the most there is, and half of the partners lie outside, which costs 254: regions of 283 x 63 pixels sum
  // up to more than 2^22.
  const random = new Random(7);
  const pair = { ...shifted(random, 290, 64, 0), right: random.fill(new Uint8Array(290 * 64), 0, 255) };
  const lambdas = { lambdaDifference: 10, lambdaCensus: 10 };
  const call = { ...pair, ...lambdas, minDisparity: 140, numDisparities: 2, armX: 141, similarity: 256 };
  const expected = cross("reference", call);

  test.each(variants)("%s: twin of the reference", (variant) => {
    const got = cross(variant, call);
    expectSameImage(got.disparity, expected.disparity, pair.width, "left");
    expectSameImage(got.rightDisparity, expected.rightDisparity, pair.width, "right");
  });

  test("both candidates win somewhere", () => {
    expect([...new Set(expected.disparity)].sort((a, b) => a - b)).toEqual([INVALID, 140, 141]);
  });
});

describe("cross: bad calls", () => {
  test("arms beyond what the sums hold are refused by name", () => {
    const image = new Uint8Array(64);
    expect(() => cross("scalar", { width: 8, height: 8, left: image, right: image, armX: 142 })).toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("armX") }),
    );
    for (const [armX, armY] of [
      [141, 58],
      [134, 61],
    ] as const)
      expect(() => cross("scalar", { width: 8, height: 8, left: image, right: image, armX, armY })).toThrow(
        expect.objectContaining({
          code: "ENGINE_PARAMETER",
          message: expect.stringContaining("33026 pixels"),
        }),
      );
  });
});
