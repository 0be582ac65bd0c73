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
  test.each([
    ["minDisparity", 0, 2046],
    ["numDisparities", 1, 512],
    ["armX", 0, 141],
    ["armY", 0, 61],
    ["similarity", 1, 256],
    ["armXRight", -1, 141],
    ["armYRight", -1, 61],
    ["lambdaDifference", 10, 10_000],
    ["lambdaCensus", 10, 10_000],
  ])("%s is %i to %i", (name, low, high) => {
    const image = new Uint8Array(64);
    for (const value of [low - 1, high + 1])
      expect(() =>
        cross("scalar", { width: 8, height: 8, left: image, right: image, [name]: value }),
      ).toThrow(`Expected ${name} of ${low} to ${high}, got ${value}.`);
  });

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

describe("cross: how a GPU divides the work", () => {
  const planOf = native.stages.crossPlan as unknown as (call: object) => Record<string, number>;
  const CALL = [
    "width",
    "height",
    "numDisparities",
    "armX",
    "armY",
    "armXRight",
    "armYRight",
    "multiprocessors",
    "sharedBytes",
  ];
  const PLAN = [
    "words",
    "armRows",
    "groups",
    "chunks",
    "ringRows",
    "ringColumns",
    "rowSegments",
    "rowSegmentPixels",
    "rowThreads",
    "rowsTogether",
    "wholeRows",
    "wholeColumns",
    "wholeParts",
    "columnSegments",
    "columnSegmentRows",
    "columnThreads",
    "columnsPerWarp",
    "sums",
    "prepareSharedBytes",
    "rowsSharedBytes",
    "columnsSharedBytes",
    "streams",
  ];
  const named = (names: readonly string[], numbers: readonly number[]) => {
    expect(numbers).toHaveLength(names.length);
    return Object.fromEntries(names.map((name, i) => [name, numbers[i]!]));
  };

  // Chosen so that a change of any number or comparison in cross_plan.h changes one of them. Results never depend on a plan, its time does:
  // a change needs cuda/check/bench_cbca.cu.
  test.each<[number[], Record<string, number>, number[]]>([
    [
      [768, 480, 128, 9, 9, 21, 41, 132, 166656],
      {},
      [200, 578, 8, 2, 47, 91, 3, 256, 128, 1, 1, 1, 2, 2, 240, 240, 4, 2, 16560, 67648, 109640, 2],
    ],
    [
      [1, 1, 96, 61, 1, -1, -1, 2, 48896],
      { rowSegments: 5, columnSegments: 5, rowWarps: 4, rowsTogether: 0, whole: 1, streams: 2 },
      [18, 19, 12, 1, 124, 4, 1, 4, 384, 0, 1, 0, 1, 1, 1, 64, 2, 1, 2640, 47296, 8320, 2],
    ],
    [
      [768, 480, 256, 1, 21, -1, -1, 16, 232192],
      {},
      [195, 538, 8, 4, 4, 44, 16, 48, 128, 0, 0, 0, 1, 1, 480, 128, 4, 0, 7200, 8192, 98560, 2],
    ],
    [
      [450, 375, 256, 3, 41, -1, -1, 2, 48896],
      { groups: 1, rowSegments: 5, columnSegments: 1, rowWarps: 1, sums: 1, whole: 0, streams: 1 },
      [116, 473, 0, 0, 8, 91, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 12960, 0, 0, 1],
    ],
    [
      [769, 481, 64, 25, 3, 1, 0, 8, 48896],
      {
        groups: 1,
        rowSegments: 5,
        columnSegments: 1,
        rowWarps: 1,
        rowsTogether: 1,
        sums: 1,
        whole: 3,
        streams: 2,
      },
      [201, 503, 1, 8, 55, 8, 5, 156, 32, 1, 0, 1, 1, 1, 481, 31, 32, 2, 2688, 28160, 13500, 2],
    ],
    [
      [769, 481, 1, 41, 1, -1, -1, 132, 166656],
      {},
      [205, 499, 1, 1, 87, 4, 5, 156, 32, 1, 0, 0, 1, 16, 31, 128, 32, 1, 2240, 44544, 16640, 2],
    ],
    [
      [450, 375, 8, 61, 14, -1, -1, 6, 48896],
      { groups: 32, columnSegments: 1, columnWarps: 4, rowsTogether: 0, sums: 0, whole: 0, streams: 2 },
      [130, 419, 1, 1, 124, 37, 1, 452, 16, 0, 0, 0, 1, 1, 375, 32, 32, 2, 9504, 31744, 30528, 2],
    ],
    [
      [1, 1, 192, 25, 5, -1, -1, 6, 48896],
      { groups: 3, rowSegments: 1, columnSegments: 1, rowsTogether: 0, sums: 0, whole: 3, streams: 1 },
      [9, 27, 3, 8, 52, 19, 1, 4, 96, 0, 1, 1, 1, 1, 1, 3, 10, 2, 3456, 24112, 248, 1],
    ],
    [
      [769, 481, 256, 41, 9, -1, -1, 6, 166656],
      { groups: 32, rowSegments: 3000, columnSegments: 3000, rowWarps: 4, sums: 0, whole: 2, streams: 1 },
      [205, 515, 14, 3, 87, 27, 193, 4, 64, 1, 0, 0, 1, 481, 1, 32, 2, 2, 5824, 89088, 22848, 1],
    ],
    [
      [640, 480, 512, 5, 0, -1, -1, 132, 98048],
      {},
      [164, 496, 16, 4, 12, 2, 7, 92, 64, 0, 0, 0, 1, 4, 120, 128, 2, 0, 1520, 12288, 12544, 2],
    ],
    [
      [1, 1, 256, 0, 31, -1, -1, 2, 48896],
      { groups: 2, rowSegments: 3000, rowWarps: 2, rowsTogether: 1, whole: 2, streams: 2 },
      [3, 79, 2, 16, 5, 64, 1, 4, 64, 1, 0, 1, 2, 1, 1, 2, 16, 0, 10080, 5120, 104, 2],
    ],
    [
      [127, 33, 512, 1, 0, 25, 61, 6, 232192],
      {},
      [40, 171, 32, 2, 55, 131, 2, 64, 128, 1, 0, 0, 1, 1, 33, 64, 1, 2, 24960, 112640, 205440, 2],
    ],
    [
      [1920, 1080, 9, 61, 31, -1, -1, 8, 166656],
      {},
      [498, 1158, 2, 1, 127, 71, 1, 1920, 64, 1, 0, 0, 1, 1, 1080, 64, 16, 2, 18480, 130048, 113280, 2],
    ],
    [
      [960, 540, 128, 61, 0, -1, -1, 1, 48896],
      { groups: 3, rowSegments: 1, columnWarps: 1, rowsTogether: 1, sums: 1, whole: 1, streams: 2 },
      [258, 556, 3, 6, 127, 2, 1, 960, 16, 1, 0, 0, 1, 1, 540, 32, 10, 1, 2640, 32512, 3136, 2],
    ],
    [
      [450, 375, 16, 41, 21, 9, 5, 2, 48896],
      {},
      [125, 433, 2, 1, 87, 51, 1, 452, 64, 1, 1, 1, 1, 1, 375, 48, 16, 2, 11200, 33824, 22556, 2],
    ],
    [
      [64, 48, 192, 21, 21, 61, 61, 132, 232192],
      {},
      [34, 186, 24, 1, 127, 131, 1, 64, 32, 1, 0, 0, 2, 1, 48, 64, 1, 2, 34320, 65024, 205440, 2],
    ],
    [
      [320, 240, 128, 41, 41, -1, -1, 132, 166656],
      {},
      [93, 338, 16, 1, 87, 91, 1, 320, 256, 1, 1, 1, 2, 2, 120, 240, 2, 2, 20160, 69760, 108872, 2],
    ],
  ])("%j, tuned by %j", (call, tuning, plan) => {
    const common = { minDisparity: 0, similarity: 13, volumeBytes: 160 * 2 ** 20 };
    expect(planOf({ ...common, ...named(CALL, call), ...tuning })).toEqual(named(PLAN, plan));
  });
});
