// SPDX-License-Identifier: Apache-2.0
// select: sums worked out by hand, ties, ends of the range, and what lies outside the image.
import { describe, expect, test } from "vitest";
import { emptyAnswer, INVALID, type SgmAnswer } from "../doubles/sgm-call.js";
import { native } from "../doubles/stages.js";

interface Given {
  width: number;
  sums: number[];
  minDisparity?: number;
  numDisparities?: number;
  uniqueness?: number;
  subpixel?: boolean;
  outsideCost?: number;
}

function select({ sums, ...given }: Given): SgmAnswer {
  const stage = native.stages.select as unknown as (call: object) => string;
  const answer = emptyAnswer(given.width);
  const defaults = { variant: "reference", height: 1, minDisparity: 0, numDisparities: 8, subpixel: true };
  expect(stage({ ...defaults, ...given, sums: Uint16Array.from(sums), ...answer })).toBe("reference");
  return answer;
}

/** One row of 8 pixels; only the last has all eight candidates. The others are given sums that never win there. */
const lastPixel = (sums: number[]) => [...Array(56).fill(1000), ...sums];

describe("select: by hand", () => {
  const sums = lastPixel([50, 40, 10, 30, 60, 45, 70, 80]);

  test("winner 2; n = 8 (40 - 30), q = 40 + 30 - 20: delta = floor(210 / 100); confidence = floor(255 * 35 / 45)", () => {
    const answer = select({ width: 8, sums });
    expect(answer.disparity[7]).toBe(2);
    expect(answer.disparityQ4[7]).toBe(34);
    expect(answer.confidence[7]).toBe(198);
    expect(select({ width: 8, sums, subpixel: false }).disparityQ4[7]).toBe(32);
  });

  test("uniqueness: 45 (100 - u) < 1000 from u = 78 on; the whole-pixel winner stays", () => {
    expect(select({ width: 8, sums, uniqueness: 77 }).disparityQ4[7]).toBe(34);
    const rejected = select({ width: 8, sums, uniqueness: 78 });
    expect(rejected.disparityQ4[7]).toBe(INVALID);
    expect(rejected.disparity[7]).toBe(2);
    expect(rejected.confidence[7]).toBe(0);
  });

  test("rounding goes towards the next higher value: -7.5 becomes -7, +7.5 becomes 8", () => {
    // S- 10, S0 9, S+ 40: n = -240, q = 32, (2n + q) / 2q = -448 / 64 = -7. Mirrored: 512 / 64 = 8.
    expect(select({ width: 8, sums: lastPixel([90, 10, 9, 40, 90, 90, 90, 90]) }).disparityQ4[7]).toBe(25);
    expect(select({ width: 8, sums: lastPixel([90, 40, 9, 10, 90, 90, 90, 90]) }).disparityQ4[7]).toBe(40);
  });

  test("the ends of the range have no sub-pixel part", () => {
    expect(select({ width: 8, sums: lastPixel([5, 9, 90, 90, 90, 90, 90, 90]) }).disparityQ4[7]).toBe(0);
    expect(select({ width: 8, sums: lastPixel([90, 90, 90, 90, 90, 90, 9, 5]) }).disparityQ4[7]).toBe(112);
  });

  test("ties go to the lowest disparity, on both sides; a curvature of 0 has no sub-pixel part", () => {
    const flat = select({ width: 8, sums: Array(64).fill(3) });
    expect(Array.from(flat.disparity)).toEqual(Array(8).fill(0));
    expect(Array.from(flat.rightDisparity)).toEqual(Array(8).fill(0));
    expect(Array.from(flat.disparityQ4)).toEqual(Array(8).fill(0));
    expect(Array.from(flat.confidence)).toEqual(Array(8).fill(0));
    const pair = select({ width: 8, sums: lastPixel([9, 3, 3, 9, 9, 9, 9, 9]) });
    expect(pair.disparity[7]).toBe(1);
    expect(pair.disparityQ4[7]).toBe(24); // n = 48, q = 6: floor(102 / 12) = 8
  });

  test("disparities outside the right image are no winner, no second best and no neighbour", () => {
    // Pixel 1 has only d 0 and 1, for any sums of the others.
    const row = [...Array(8).fill(7), 9, 4, 0, 0, 0, 0, 0, 0];
    const answer = select({ width: 2, sums: row, uniqueness: 99 });
    expect(answer.disparity[1]).toBe(1);
    expect(answer.disparityQ4[1]).toBe(16);
    expect(answer.confidence[1]).toBe(0);
    expect(Array.from(answer.rightDisparity)).toEqual([1, 0]);
  });

  test("where the outside may win, a pixel that it wins is a hole, and so are the columns with few candidates", () => {
    // 17 pixels: width / 8 = 2 columns are holes. At pixel 3 the disparities 4 and more lie outside: 5 has the smallest sum.
    const sums = Array(17 * 8).fill(50);
    sums[3 * 8 + 5] = 10;
    // At pixel 4, 4 wins inside; 5 is outside, and both the second best's neighbour and a sub-pixel neighbour: n = 8
    // (50 - 20) = 240, q = 50 + 20 - 20 = 50: floor(530 / 100) = 5. The second best is 50: 255 x 40 / 50 = 204.
    sums[4 * 8 + 4] = 10;
    sums[4 * 8 + 5] = 20;
    const answer = select({ width: 17, sums, outsideCost: 8 });
    expect(Array.from(answer.disparity).slice(0, 6)).toEqual([INVALID, INVALID, 0, INVALID, 4, 0]);
    expect(Array.from(answer.disparityQ4).slice(0, 6)).toEqual([INVALID, INVALID, 0, INVALID, 69, 0]);
    expect(Array.from(answer.confidence).slice(0, 6)).toEqual([0, 0, 0, 0, 204, 0]);
    // Never outside: pixel 3 falls back to a tie at 0, and the first columns stay.
    const before = select({ width: 17, sums, outsideCost: 63 });
    expect(Array.from(before.disparity).slice(0, 6)).toEqual([0, 0, 0, 0, 4, 0]);
    // The right view knows no outside; with its own range the columns begin at minDisparity + 8.
    expect(answer.rightDisparity).toEqual(before.rightDisparity);
    const far = select({ width: 400, sums: Array(3200).fill(1), minDisparity: 3, outsideCost: 8 });
    expect(far.disparity.indexOf(3)).toBe(11);
  });

  test("minDisparity moves the candidates: below it nothing is searched", () => {
    const answer = select({ width: 4, sums: Array(32).fill(1), minDisparity: 2 });
    expect(Array.from(answer.disparity)).toEqual([INVALID, INVALID, 2, 2]);
    expect(Array.from(answer.rightDisparity)).toEqual([2, 2, INVALID, INVALID]);
  });

  test.each([
    [0, 0, 0],
    [0, 1, 255],
    [0, 2, 255],
    [1, 2, 127],
    [2, 3, 85],
  ])("confidence of a winner of %i and a second best of %i: %i", (best, second, confidence) => {
    const last = [second, 90, 90, 90, 90, 90, best, 90];
    if (best === second) last.fill(best);
    expect(select({ width: 8, sums: lastPixel(last) }).confidence[7]).toBe(confidence);
  });
});

test("select has no separate fast form, and reports it", () => {
  const stage = native.stages.select as unknown as (call: object) => string;
  expect(() => stage({ variant: "scalar", width: 1, height: 1, numDisparities: 8 })).toThrow(
    expect.objectContaining({ code: "BACKEND_UNAVAILABLE", message: expect.stringContaining("sgm") }),
  );
});
