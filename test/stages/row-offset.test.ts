// SPDX-License-Identifier: Apache-2.0
// Tests the row offset between 31-bit censuses: pairs of a known offset, invalid estimates, and twins of the
// definition.
import { describe, expect, test } from "vitest";
import { native, Random, variants } from "../doubles/stages.js";

const stage = native.stages.rowOffset as unknown as (call: object) => string;

interface Pair {
  width: number;
  height: number;
  left: Uint32Array;
  right: Uint32Array;
  numDisparities?: number;
  minDisparity?: number;
}

function both(variant: string, pair: Pair) {
  const result = new Int32Array(6);
  expect(stage({ variant, minDisparity: 0, numDisparities: 16, ...pair, result })).toBe(variant);
  return {
    offset: { known: result[0] === 1, atLimit: result[1] === 1, quarterRows: result[2]! },
    line: { known: result[3] === 1, middle: result[4]!, overWidth: result[5]! },
  };
}
const rowOffset = (variant: string, pair: Pair) => both(variant, pair).offset;
const rowLine = (variant: string, pair: Pair) => both(variant, pair).line;

/** The left image sees the right one's row y + rows, 5 pixels further right; rows may differ by the parity of the column. */
function shiftedPair(random: Random, width: number, height: number, rows: (x: number) => number): Pair {
  const right = Uint32Array.from({ length: width * height }, () => random.whole(0, 0x7fffffff));
  const left = new Uint32Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const from = Math.min(Math.max(y + rows(x), 0), height - 1);
      left[y * width + x] = right[from * width + Math.max(x - 5, 0)]!;
    }
  }
  return { width, height, left, right };
}

const forms = ["reference", ...variants];

describe.each(forms)("row offset, %s", (variant) => {
  test.each([-3, -2, -1, 0, 1, 2, 3])("%i rows are found, and no quarter next to them", (rows) => {
    const random = new Random();
    const found = rowOffset(
      variant,
      shiftedPair(random, 200, 90, () => rows),
    );
    expect(found, `seed ${random.seed}`).toEqual({ known: true, atLimit: false, quarterRows: 4 * rows });
  });

  test("half of the samples at one row, half at none: two quarters", () => {
    const random = new Random();
    // Samples stand at every fifth column from 15 on: 15, 25, ... see row y, 20, 30, ... the row below.
    const pair = shiftedPair(random, 415, 90, (x) => (x % 10 === 0 ? 1 : 0));
    const { known, quarterRows } = rowOffset(variant, pair);
    expect(known).toBe(true);
    expect(Math.abs(quarterRows - 2), `seed ${random.seed}: ${quarterRows}`).toBeLessThanOrEqual(1);
  });

  test.each([-4, 4])("%i rows are at the limit", (rows) => {
    const random = new Random();
    const pair = shiftedPair(random, 200, 90, () => rows);
    expect(rowOffset(variant, pair), `seed ${random.seed}`).toMatchObject({ known: true, atLimit: true });
  });

  test("nine rows suit no better than any others: unknown, or at the limit by chance", () => {
    const random = new Random();
    const { known, atLimit } = rowOffset(
      variant,
      shiftedPair(random, 200, 90, () => 9),
    );
    expect(known && !atLimit, `seed ${random.seed}`).toBe(false);
  });

  test("no estimate: one value everywhere, one row, fewer columns than the search", () => {
    const flat = (width: number, height: number): Pair => {
      const words = new Uint32Array(width * height).fill(0x12345);
      return { width, height, left: words, right: words };
    };
    for (const [width, height] of [
      [200, 90],
      [200, 1],
      [10, 90],
    ] as const) {
      expect(rowOffset(variant, flat(width, height)).known).toBe(false);
    }
  });
});

describe.each(forms)("line of rows, %s", (variant) => {
  // 415 columns, samples at 15, 20, ... 410: 80 columns of them, 20 a band, so that bands begin at 15, 115, 215 and 315.
  const WIDTH = 415;
  const band = (x: number) => Math.min(Math.max(Math.floor((x - 15) / 100), 0), 3);
  const pairWith = (random: Random, rows: number[]) => shiftedPair(random, WIDTH, 90, (x) => rows[band(x)]!);

  test("by hand: bands at -1, 0, 1 and 2 rows", () => {
    // 3 x 12 + 4 = 40 tenths of a quarter a band of 100 columns: 4 quarters x 4.15. The middle: (-4 + 0 + 4 + 8) / 4.
    expect(rowLine(variant, pairWith(new Random(21), [-1, 0, 1, 2]))).toEqual({
      known: true,
      middle: 2,
      overWidth: 17,
    });
  });

  test.each([-2, 0, 1])("%i rows everywhere: a line that does not rise", (rows) => {
    const straight = pairWith(new Random(22), [rows, rows, rows, rows]);
    expect(rowLine(variant, straight)).toEqual({ known: true, middle: 4 * rows, overWidth: 0 });
  });

  test("no line: a band off the others, one at the limit, one without texture, too few columns", () => {
    const none = { known: false, middle: 0, overWidth: 0 };
    expect(rowLine(variant, pairWith(new Random(23), [0, 2, 0, 0]))).toEqual(none);
    expect(rowLine(variant, pairWith(new Random(24), [-4, -3, -2, -1]))).toEqual(none);
    const bare = pairWith(new Random(25), [0, 0, 0, 0]);
    for (const image of [bare.left, bare.right])
      for (let i = 0; i < image.length; ++i) if (i % WIDTH >= 310) image[i] = 7;
    expect(rowLine(variant, bare)).toEqual(none);
    expect(
      rowLine(
        variant,
        shiftedPair(new Random(26), 28, 90, () => 0),
      ),
    ).toEqual(none);
  });
});

describe.each(forms)("row offset, %s: limits by hand", (variant) => {
  const LARGEST = 31;
  const bits = (count: number) => 2 ** count - 1;

  /**
   * Creates a pair with one row of samples, whose cost at sample i and dy is costs(i)[dy + 4]. The left image is 0. Of the eight
   * candidates of a sample, its neighbours share all but two.
   */
  function pairOf(samples: number, costs: (i: number) => number[], height = 9): Pair {
    const width = 8 + 5 * (samples - 1);
    const right = Uint32Array.from({ length: width * height }, (_, at) => {
      const [x, y] = [at % width, Math.floor(at / width)];
      const own = x % 5 === 3 || x % 5 === 4;
      return bits(own ? (costs(Math.floor(x / 5))[y] ?? LARGEST) : LARGEST);
    });
    return { width, height, left: new Uint32Array(width * height), right, numDisparities: 8 };
  }

  /** Costs of the rows -4 to 4: those around m, those at both ends, and the largest in all others. */
  function around(m: number, near: number[], ends = LARGEST): number[] {
    const costs = Array<number>(9).fill(LARGEST);
    costs[0] = costs[8] = ends;
    for (const [i, cost] of near.entries()) costs[m + 3 + i] = cost;
    return costs;
  }

  const unknown = { known: false, atLimit: false, quarterRows: 0 };
  const known = (quarterRows: number) => ({ known: true, atLimit: false, quarterRows });
  const clear = around(1, [LARGEST, 0, LARGEST]);

  test("200 samples are enough, in rows that have four rows above and below", () => {
    expect(
      rowOffset(
        variant,
        pairOf(200, () => clear),
      ),
    ).toEqual(known(4));
    expect(
      rowOffset(
        variant,
        pairOf(199, () => clear),
      ),
    ).toEqual(unknown);
    expect(
      rowOffset(
        variant,
        pairOf(200, () => clear, 8),
      ),
    ).toEqual(unknown);
    // The second row of samples is at 10: 14 rows end before the fourth row below it.
    expect(
      rowOffset(
        variant,
        pairOf(199, () => clear, 14),
      ),
    ).toEqual(unknown);
    const twice = [...clear.slice(0, 6), ...clear];
    expect(
      rowOffset(
        variant,
        pairOf(199, () => twice, 15),
      ),
    ).toEqual(known(4));
  });

  test("a sample whose costs differ by less than 4 does not count", () => {
    const flat = (difference: number) => around(0, [5 + difference, 5, 5 + difference], 5 + difference);
    const all = (costs: number[]) => costs.map((cost) => (cost === LARGEST ? costs[3]! : cost));
    expect(
      rowOffset(
        variant,
        pairOf(200, () => all(flat(4))),
      ),
    ).toEqual(known(0));
    expect(
      rowOffset(
        variant,
        pairOf(200, () => all(flat(3))),
      ),
    ).toEqual(unknown);
    const one = (i: number) => (i === 77 ? all(flat(3)) : all(flat(4)));
    expect(rowOffset(variant, pairOf(200, one))).toEqual(unknown);
    expect(rowOffset(variant, pairOf(201, one))).toEqual(known(0));
  });

  test("the ends exceed the smallest sum by a sixteenth and by 8 times the root of the samples", () => {
    for (const m of [-3, 0, 3]) {
      // Next to an end, a neighbour of m is that end.
      const costs = (lowest: number, ends: number) => {
        const all = around(m, [LARGEST, lowest, LARGEST]);
        all[0] = all[8] = ends;
        return all;
      };
      const isKnown = (of: (i: number) => number[]) => rowOffset(variant, pairOf(225, of)).known;
      for (const lowest of [16, 17]) {
        const all = costs(lowest, lowest + 1);
        expect(
          isKnown(() => all),
          `${m}: ${all}`,
        ).toBe(lowest === 16);
      }
      // 8 x the root of 225 is 120.
      for (const count of [120, 119])
        expect(
          isKnown((i) => costs(0, i < count ? 1 : 0)),
          `${m}: ${count}`,
        ).toBe(count === 120);
    }
  });

  test.each([
    // n = 4 (before - after), q = before + after: floor((n + q) / (2 q)).
    [31, 31, 0],
    [10, 30, -1], // floor(-40 / 80)
    [30, 10, 1], // floor(120 / 80)
    [12, 20, 0], // floor(0 / 64)
    [12, 21, -1], // floor(-3 / 66)
    [20, 12, 1], // floor(64 / 64)
    [19, 12, 0], // floor(59 / 62)
    [31, 0, 2], // floor(155 / 62)
    [1, 31, -2], // floor(-88 / 64)
  ])("neighbours of %i and %i: %i quarters", (before, after, quarters) => {
    for (const m of [-2, 0, 2]) {
      const pair = pairOf(200, () => around(m, [before, 0, after]));
      expect(rowOffset(variant, pair), `m ${m}`).toEqual(known(4 * m + quarters));
    }
  });

  test("the lowest of equal rows wins, and four rows are at the limit at any cost of the others", () => {
    const two = () => [31, 0, 31, 31, 31, 31, 31, 0, 31];
    expect(rowOffset(variant, pairOf(200, two))).toEqual(known(-12));
    for (const [at, quarterRows] of [
      [0, -16],
      [8, 16],
    ] as const) {
      const costs = Array(9)
        .fill(4)
        .map((cost, i) => (i === at ? 0 : cost));
      expect(
        rowOffset(
          variant,
          pairOf(200, () => costs),
        ),
      ).toEqual({ known: true, atLimit: true, quarterRows });
    }
  });

  /** Costs of a band at so many quarter rows, 0 to 6. */
  const quarters = (q: number) =>
    q % 4 === 0
      ? around(q / 4, [31, 0, 31])
      : q % 4 === 1
        ? around((q - 1) / 4, [30, 0, 10])
        : q % 4 === 2
          ? around((q - 2) / 4, [31, 0, 0])
          : around((q + 1) / 4, [10, 0, 30]);
  const bandsOf = (samples: number, offsets: number[]) => {
    const each = Math.floor(samples / 4);
    return pairOf(samples, (i) => quarters(offsets[Math.min(3, Math.floor(i / each))]!));
  };
  const none = { known: false, middle: 0, overWidth: 0 };

  test("50 samples a band are enough for a line", () => {
    expect(rowLine(variant, bandsOf(200, [4, 4, 4, 4]))).toEqual({ known: true, middle: 4, overWidth: 0 });
    expect(rowLine(variant, bandsOf(199, [4, 4, 4, 4]))).toEqual(none);
    // The last band has the rest: 50, 50, 50 and 53. If three of its samples do not count, the other 50 are enough.
    const flatAt = (flats: number) => (i: number) => (i >= 150 && i < 150 + flats ? Array(9).fill(5) : clear);
    expect(rowLine(variant, pairOf(203, flatAt(3)))).toEqual({ known: true, middle: 4, overWidth: 0 });
    expect(rowLine(variant, pairOf(203, flatAt(4)))).toEqual(none);
  });

  test.each([
    // The distances from the line, times 20: 4 k, 2 k, 8 k and 6 k.
    [[0, 0, 0, 5], { known: true, middle: 1, overWidth: 6 }], // 5 / 4, 15 x 1003 / 2500
    [[0, 0, 0, 6], none],
    [[5, 0, 0, 0], { known: true, middle: 1, overWidth: -6 }],
    [[6, 0, 0, 0], none],
    // The second band alone: 2 k, 14 k, 6 k and 8 k.
    [[0, 2, 0, 0], { known: true, middle: 1, overWidth: -1 }], // halves upwards: 2 / 4, -2 x 1003 / 2500
    [[0, 3, 0, 0], none],
    [[0, 0, 2, 0], { known: true, middle: 1, overWidth: 1 }],
    [[0, 0, 3, 0], none],
    [[0, 1, 2, 3], { known: true, middle: 2, overWidth: 4 }], // 6 / 4, 10 x 1003 / 2500
    [[3, 2, 1, 0], { known: true, middle: 2, overWidth: -4 }],
    [[1, 1, 1, 2], { known: true, middle: 1, overWidth: 1 }], // 5 / 4, 3 x 1003 / 2500
  ])("bands at %j quarter rows", (offsets, line) => {
    expect(rowLine(variant, bandsOf(200, offsets))).toEqual(line);
  });
});

describe.each(variants)("row offset, %s: twin of the reference", (variant) => {
  test("random pairs, searches of every length next to a vector's", () => {
    const random = new Random();
    for (const numDisparities of [8, 9, 15, 16, 17, 31, 33, 64]) {
      const pair = {
        ...shiftedPair(random, 260, random.whole(40, 70), () => random.whole(-4, 4)),
        numDisparities,
        minDisparity: random.pick([0, 3]),
      };
      expect(both(variant, pair), `seed ${random.seed}, ${numDisparities}`).toEqual(both("reference", pair));
    }
  });

  test("lines of random rows a band, of every width", () => {
    const random = new Random(27);
    let known = 0;
    for (let trial = 0; trial < 24; ++trial) {
      const width = random.whole(300, 420);
      const [first, step] = [random.whole(-2, 2), random.pick([-1, 0, 1])];
      const rows = (x: number) => Math.max(-3, Math.min(3, first + Math.floor((step * 4 * x) / width)));
      const pair = shiftedPair(random, width, random.whole(60, 90), rows);
      const expected = both("reference", pair);
      if (expected.line.known) ++known;
      expect(both(variant, pair), `trial ${trial}`).toEqual(expected);
    }
    expect(known).toBeGreaterThan(6);
  });
});

describe("row offset: the engine's decision over several pairs", () => {
  const decide = native.stages.rowDecision as unknown as (call: object) => Int32Array;
  const looksAt = native.stages.looksAt as unknown as (call: { frame: number }) => boolean;
  const after = (estimates: number[]) => {
    const both = decide({ estimates: Int32Array.from(estimates), count: estimates.length });
    return {
      applied: [...both.filter((_, i) => i % 2 === 0)],
      medians: [...both.filter((_, i) => i % 2 === 1)],
    };
  };

  test.each([
    ["the first is applied at once", [5], [5], [5]],
    ["the lower one of two is the median", [5, 6, 4], [5, 5, 5], [5, 5, 5]],
    ["half a row more is applied at once", [0, 2, 2], [0, 0, 2], [0, 0, 2]],
    ["half a row less is applied at once", [0, -2], [0, -2], [0, -2]],
    ["a quarter waits for five medians", [0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 1, 1, 1]],
    // The median is 1 for three pairs, 0 once, and 1 again: five from there on.
    [
      "the applied median interrupts them",
      [0, 1, 1, 1, -1, -1, 1, 1, 1, 1, 1],
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1],
    ],
    // Medians of 3 after a first value of 2, then of 4: half a row from 2.
    ["medians of two values", [2, 3, 3, 4, 4, 4, 4], [2, 2, 2, 2, 2, 2, 4], [2, 2, 3, 3, 3, 3, 4]],
    [
      "the newest nine count",
      [...Array(9).fill(0), 4, 4, 4, 4, 4],
      [...Array(13).fill(0), 4],
      [...Array(13).fill(0), 4],
    ],
  ])("%s", (_, estimates, applied, medians) => {
    expect(after(estimates)).toEqual({ applied, medians });
  });

  test("observes every fourth of the first sixteen frames, then every sixteenth", () => {
    const looked = Array.from({ length: 70 }, (_, frame) => frame).filter((frame) => looksAt({ frame }));
    expect(looked).toEqual([0, 4, 8, 12, 16, 32, 48, 64]);
  });
});
