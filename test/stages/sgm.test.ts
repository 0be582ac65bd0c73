// SPDX-License-Identifier: Apache-2.0
// sgm: paths by hand, properties of the recurrence, and every form against the definition.
import { describe, expect, test } from "vitest";
import { INVALID, OUTPUTS, type SgmCase, sgm, shiftedPair } from "../doubles/sgm-call.js";
import { AWKWARD_WIDTHS, expectSameImage, Random, variants } from "../doubles/stages.js";

const forms = ["reference", ...variants];

/** Two pixels: costs [0, 63...] and [3, 3, 63...]; README of the stage works the sums out. */
function twoPixels(height: number, paths: number): SgmCase {
  const column = (left: number, right: number) =>
    Uint32Array.from({ length: 2 * height }, (_, i) => (i % 2 === 0 ? left : right));
  return {
    width: 2,
    height,
    numDisparities: 8,
    paths,
    p1: 2,
    p2: 5,
    censusLeft: column(0, 0b111),
    censusRight: column(0, 0),
  };
}

describe("sgm, the definition by hand", () => {
  const computeSums = (given: SgmCase) => {
    const sums = new Uint16Array(given.width * given.height * given.numDisparities);
    sgm("reference", { ...given, sums });
    return Array.from(sums);
  };

  test("two paths: left to right adds its excess, the first pixel of a path adds its cost", () => {
    expect(computeSums(twoPixels(1, 2))).toEqual([
      0, 126, 126, 126, 126, 126, 126, 126, 6, 8, 131, 131, 131, 131, 131, 131,
    ]);
  });

  test("four paths: right to left too", () => {
    expect(computeSums(twoPixels(1, 4))).toEqual([
      0, 252, 254, 257, 257, 257, 257, 257, 12, 14, 257, 257, 257, 257, 257, 257,
    ]);
  });

  test("one column: down, up and every diagonal start anew, so that only down and up differ from the cost", () => {
    // Two rows of one pixel with costs [1, 63...] and [2, 63...]. Down: row 1 d = 1 pays p1 = 2, d > 1 pays p2 = 5; up the same in row 0.
    const given = {
      width: 1,
      height: 2,
      numDisparities: 8,
      paths: 8,
      p1: 2,
      p2: 5,
      censusLeft: Uint32Array.of(1, 3),
      censusRight: Uint32Array.of(0, 0),
    };
    const outside = [506, 509, 509, 509, 509, 509, 509];
    expect(computeSums(given)).toEqual([8, ...outside, 16, ...outside]);
  });

  test("adaptive P2: a brightness step of 8 with alpha 6 lowers 5 by 3, a large one to p1", () => {
    // From costs [0, 63...] to [3, 3, 63...]: d >= 2 pays the lowered p2.
    const given = { ...twoPixels(1, 2), adaptiveP2: 6 };
    expect(computeSums({ ...given, greyLeft: Uint8Array.of(10, 18) }).slice(8)).toEqual([
      6, 8, 128, 128, 128, 128, 128, 128,
    ]);
    expect(computeSums({ ...given, greyLeft: Uint8Array.of(255, 0) }).slice(10)).toEqual(Array(6).fill(128));
    expect(computeSums({ ...given, greyLeft: Uint8Array.of(10, 13) }).slice(10)).toEqual(Array(6).fill(130));
  });

  test("no sum leaves the bounds paths C and paths (C + p2), for every p1 <= p2", () => {
    const random = new Random();
    for (const paths of [2, 4, 8]) {
      const [width, height, numDisparities] = [19, 11, 13];
      const p2 = random.whole(1, 1023);
      const p1 = random.whole(1, p2);
      const given = {
        width,
        height,
        numDisparities,
        paths,
        p1,
        p2,
        ...shiftedPair(random, width, height, 4),
      };
      for (const [i, sum] of computeSums(given).entries()) {
        const x = Math.floor(i / numDisparities) % width;
        const y = Math.floor(i / numDisparities / width);
        const d = i % numDisparities;
        let bits = (given.censusLeft[y * width + x] ?? 0) ^ (given.censusRight[y * width + x - d] ?? 0);
        let cost = 0;
        for (; bits !== 0; bits &= bits - 1) ++cost;
        if (d > x) cost = 63;
        if (sum < paths * cost || sum > paths * (cost + p2))
          expect.fail(`seed ${random.seed}: ${x},${y},${d}: ${sum} with the cost ${cost}`);
      }
    }
  });
});

describe.each(forms)("sgm, %s: by hand", (variant) => {
  test("two pixels: winners on both sides, no neighbour and no second best", () => {
    const answer = sgm(variant, twoPixels(3, 4));
    expect(Array.from(answer.disparityQ4)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(Array.from(answer.rightDisparity)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(Array.from(answer.confidence)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test.each([
    // One row from left to right with a penalty of 1: of x = 1, d = 0 is the best, so that d = 1 and 2 pay 1 at x = 2.
    ["0 10 1", 0, [0, 0, 0], 255],
    ["2 10 1", 1, [0, 0, 2], 127],
  ])("confidence by a second best of 1 or 2: sums of %s", (_, rightBits, disparity, confidence) => {
    const given = { width: 3, height: 1, numDisparities: 8, paths: 2, p1: 1, p2: 1 };
    const answer = sgm(variant, {
      ...given,
      censusLeft: Uint32Array.of(0, 31, 0),
      censusRight: Uint32Array.of(0, 31, rightBits),
    });
    expect(Array.from(answer.disparity)).toEqual(disparity);
    expect(Array.from(answer.confidence)).toEqual([0, 0, confidence]);
  });

  test("an image narrower than minDisparity has no candidate at all", () => {
    const answer = sgm(variant, { ...twoPixels(2, 8), minDisparity: 2 });
    expect(Array.from(answer.disparity)).toEqual(Array(4).fill(INVALID));
    expect(Array.from(answer.disparityQ4)).toEqual(Array(4).fill(INVALID));
    expect(Array.from(answer.rightDisparity)).toEqual(Array(4).fill(INVALID));
    expect(Array.from(answer.confidence)).toEqual(Array(4).fill(0));
  });
});

describe.each(forms)("sgm, %s: properties", (variant) => {
  test.each([2, 4, 8])("moving the right image by k moves the disparity by k, %i paths", (paths) => {
    const random = new Random();
    const [width, height] = [83, 21];
    for (const [minDisparity, k] of [
      [0, 0],
      [0, 7],
      [5, 9],
      [0, 17],
    ] as const) {
      const answer = sgm(variant, {
        width,
        height,
        numDisparities: 18,
        minDisparity,
        paths,
        ...shiftedPair(random, width, height, k),
      });
      for (let y = 0; y < height; ++y) {
        // Two pixels from where the true match enters the image no path remembers the outside.
        const row = y * width;
        const left = answer.disparity.subarray(row + k + 10, row + width);
        expect(new Set(left), `seed ${random.seed}: row ${y}`).toEqual(new Set([k]));
        const right = answer.rightDisparity.subarray(row + 10, row + width - k);
        expect(new Set(right), `seed ${random.seed}: row ${y} of the right image`).toEqual(new Set([k]));
      }
    }
  });

  test.each([4, 8])("turning the images upside down turns the result, %i paths", (paths) => {
    const random = new Random();
    const [width, height] = [37, 22];
    const given = {
      width,
      height,
      numDisparities: 21,
      paths,
      uniqueness: 5,
      ...shiftedPair(random, width, height, 6),
    };
    for (let i = 0; i < 200; ++i)
      given.censusLeft[random.whole(0, width * height - 1)] = random.whole(0, 0xffff);
    const flipped = <A extends Uint32Array | Int16Array | Uint8Array>(image: A): A =>
      image.map((_, i) => image[(height - 1 - Math.floor(i / width)) * width + (i % width)] ?? 0) as A;
    const answer = sgm(variant, given);
    const turned = sgm(variant, {
      ...given,
      censusLeft: flipped(given.censusLeft),
      censusRight: flipped(given.censusRight),
    });
    for (const output of OUTPUTS) {
      expectSameImage(flipped(turned[output]), answer[output], width, `seed ${random.seed}, ${output}`);
    }
  });

  test("a flat pair ties everywhere: the lowest disparity wins", () => {
    const censusLeft = new Uint32Array(41 * 9).fill(0x7fffffff);
    const given = { width: 41, height: 9, numDisparities: 40, censusLeft, censusRight: censusLeft };
    const answer = sgm(variant, { ...given, minDisparity: 0, paths: 8, p1: 3, p2: 3 });
    for (const output of ["disparity", "rightDisparity"] as const) {
      expect(new Set(answer[output]), output).toEqual(new Set([0]));
    }
  });

  test("the number of threads changes nothing", () => {
    const random = new Random();
    const given = { width: 61, height: 33, numDisparities: 24, paths: 8, ...shiftedPair(random, 61, 33, 5) };
    const one = sgm(variant, { ...given, threads: 1 });
    for (const threads of [2, 3, 4, 7]) {
      const many = sgm(variant, { ...given, threads });
      for (const output of OUTPUTS) {
        expectSameImage(many[output], one[output], 61, `seed ${random.seed}, ${threads} threads, ${output}`);
      }
    }
  });
});

describe("sgm: every form is the reference's twin", () => {
  const compare = (given: SgmCase, what: string) => {
    const expected = sgm("reference", given);
    for (const variant of variants) {
      const got = sgm(variant, given);
      for (const output of OUTPUTS) {
        expectSameImage(got[output], expected[output], given.width, `${variant}, ${what}, ${output}`);
      }
    }
  };

  const randomCase = (random: Random, width: number, height: number): SgmCase => {
    const numDisparities = random.pick([8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129]);
    const p2 = random.pick([
      1, 2, 31, 60, 63, 64, 85, 86, 96, 97, 127, 128, 191, 192, 193, 255, 256, 1022, 1023,
    ]);
    const shift = random.whole(0, Math.min(width, numDisparities) - 1);
    const { censusLeft, censusRight } = shiftedPair(random, width, height, shift);
    // Some places lose their match, so that paths disagree.
    for (let i = random.whole(0, width * height); i > 0; --i) {
      censusLeft[random.whole(0, width * height - 1)] = random.pick([
        0,
        0x7fffffff,
        random.whole(0, 0x7fffffff),
      ]);
    }
    return {
      width,
      height,
      numDisparities,
      minDisparity: random.pick([0, 0, 1, 3, 16, 40]),
      paths: random.pick([2, 4, 8]),
      p1: random.pick([1, p2, random.whole(1, p2)]),
      p2,
      adaptiveP2: random.pick([0, 0, 1, 16, 255]),
      uniqueness: random.pick([0, 0, 5, 15, 99]),
      subpixel: random.pick([true, false]),
      outsideCost: random.pick([63, 63, 0, 8, 30, 62]),
      threads: random.pick([1, 2, 3]),
      censusLeft,
      censusRight,
      greyLeft: random.fill(new Uint8Array(width * height), 0, 255),
    };
  };
  const summary = ({ censusLeft, censusRight, greyLeft, ...rest }: SgmCase) => JSON.stringify(rest);

  test.each(AWKWARD_WIDTHS)("width %i, random heights and parameters", (width) => {
    const random = new Random();
    for (let round = 0; round < 12; ++round) {
      const given = randomCase(random, width, random.pick([1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 21]));
      compare(given, `seed ${random.seed}, round ${round}, ${summary(given)}`);
    }
  });

  test("the most disparities, and images much narrower", () => {
    const random = new Random();
    for (const [width, numDisparities] of [
      [20, 512],
      [600, 512],
      [530, 511],
      [300, 257],
    ] as const) {
      for (const p2 of [60, 300]) {
        const given = { ...randomCase(random, width, 3), numDisparities, p1: 7, p2 };
        compare(given, `seed ${random.seed}, ${summary(given)}`);
      }
    }
  });

  test("strided images", () => {
    const random = new Random();
    const [width, height, pitch] = [35, 9, 41];
    const census = () => {
      const image = new Uint32Array(pitch * height);
      for (let i = 0; i < image.length; ++i) image[i] = random.whole(0, 0x7fffffff);
      return image;
    };
    const given = {
      ...randomCase(random, width, height),
      censusLeft: census(),
      censusRight: census(),
      censusStrideBytes: pitch * 4,
      greyLeft: random.fill(new Uint8Array(pitch * height), 0, 255),
      greyStrideBytes: pitch,
    };
    compare(given, `seed ${random.seed}, ${summary(given)}`);
  });

  test("costs at their ends: opposite and equal words only", () => {
    const random = new Random();
    for (let round = 0; round < 10; ++round) {
      const given = randomCase(random, 50, 12);
      for (let i = 0; i < given.censusLeft.length; ++i) {
        given.censusLeft[i] = random.pick([0, 0x7fffffff]);
        given.censusRight[i] = random.pick([0, 0x7fffffff]);
      }
      compare(given, `seed ${random.seed}, round ${round}, ${summary(given)}`);
    }
  });

  test("without the right view and the confidence the rest is the same", () => {
    const random = new Random();
    const given = randomCase(random, 70, 11);
    const expected = sgm("reference", given);
    for (const variant of variants) {
      const blank = { disparityQ4: new Int16Array(770), disparity: new Int16Array(770) };
      sgm(variant, given, blank as never);
      const what = `${variant}, seed ${random.seed}, ${summary(given)}`;
      expectSameImage(blank.disparityQ4, expected.disparityQ4, 70, what);
      expectSameImage(blank.disparity, expected.disparity, 70, what);
    }
  });
});

describe("sgm: bad calls", () => {
  test.each([
    ["numDisparities", 7, "8 to 512"],
    ["numDisparities", 513, "8 to 512"],
    ["minDisparity", -1, "0 to 2039"],
    ["minDisparity", 2040, "0 to 2039"],
    ["p1", 0, "1 to 60"],
    ["p1", 61, "1 to 60"],
    ["p2", 1024, "1 to 1023"],
    ["adaptiveP2", 256, "0 to 255"],
    ["uniqueness", 100, "0 to 99"],
    ["outsideCost", 64, "0 to 63"],
    ["outsideCost", -1, "0 to 63"],
    ["paths", 3, "2, 4 or 8"],
  ])("%s %i is refused and the sentence names %s", (name, value, range) => {
    for (const variant of forms) {
      const given = { ...twoPixels(2, 4), p1: 10, p2: 60, [name]: value };
      expect(() => sgm(variant, given), variant).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining(range) }),
      );
    }
  });
});
