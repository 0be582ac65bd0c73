// SPDX-License-Identifier: Apache-2.0
// Three witnesses for the left-right check: vectors worked out by hand, properties, and twins against the definition.
import { describe, expect, test } from "vitest";
import { AWKWARD_WIDTHS, expectSameImage, native, Random, variants } from "../doubles/stages.js";

const INVALID = -32768;
const stage = native.stages.leftRight as unknown as (call: object) => string;

interface Call {
  tolerance?: number;
  width: number;
  height: number;
  strideBytes?: number;
  disparity: Int16Array;
  rightDisparity: Int16Array;
  disparityQ4: Int16Array;
  confidence?: Uint8Array;
}

/** Runs on copies; what was checked comes back. */
function leftRight(variant: string, call: Call) {
  const own = { ...call, disparityQ4: call.disparityQ4.slice() };
  if (call.confidence) own.confidence = call.confidence.slice();
  expect(stage({ variant, ...own }), "the form that was asked for is the form that ran").toBe(variant);
  return own;
}

const forms = ["reference", ...variants];

describe.each(forms)("left_right, %s: by hand", (variant) => {
  test("kept within one pixel, rejected beyond, outside, or where either image has nothing", () => {
    // x            0   1   2   3   4   5        6
    // left d       0   2   1   1   2   1        none
    // looks at xr  0  -1   1   2   2   4        outside
    // right d      0   1   3   -   none -  -    so: 0-0 kept; outside; 1-1 kept; 1-3 no; 2-3 kept; right none: no; left none: no
    const call = {
      width: 7,
      height: 1,
      disparity: Int16Array.of(0, 2, 1, 1, 2, 1, INVALID),
      rightDisparity: Int16Array.of(0, 1, 3, 9, INVALID, 9, 9),
      disparityQ4: Int16Array.of(1, 33, 17, 18, 31, 16, INVALID),
      confidence: Uint8Array.of(10, 20, 30, 40, 50, 60, 0),
    };
    const { disparityQ4, confidence } = leftRight(variant, call);
    expect([...disparityQ4]).toEqual([1, INVALID, 17, INVALID, 31, INVALID, INVALID]);
    expect([...confidence!]).toEqual([10, 0, 30, 0, 50, 0, 0]);
  });

  test("one more and one less are kept, two more and two less are not", () => {
    const width = 80;
    const disparity = new Int16Array(width).fill(4);
    const rightDisparity = Int16Array.from(disparity, (_, x) => 4 + ((x % 5) - 2));
    const disparityQ4 = Int16Array.from(disparity, (_, x) => 64 + (x % 3));
    const result = leftRight(variant, {
      width,
      height: 1,
      disparity,
      rightDisparity,
      disparityQ4,
    }).disparityQ4;
    for (let x = 0; x < width; ++x) {
      const keep = x >= 4 && Math.abs(((x - 4) % 5) - 2) <= 1;
      expect(result[x], `x ${x}`).toBe(keep ? 64 + (x % 3) : INVALID);
    }
  });

  test("ground control points: with a tolerance of 0 only equal winners are kept", () => {
    const width = 70;
    const disparity = new Int16Array(width).fill(2);
    const rightDisparity = Int16Array.from(disparity, (_, x) => 1 + (x % 3));
    const disparityQ4 = disparity.map((d) => 16 * d);
    const call = { width, height: 1, disparity, rightDisparity, disparityQ4, tolerance: 0 };
    const result = leftRight(variant, call).disparityQ4;
    for (let x = 0; x < width; ++x)
      expect(result[x], `x ${x}`).toBe(x >= 2 && (x - 2) % 3 === 1 ? 32 : INVALID);
  });

  test("extreme values do not wrap into agreement", () => {
    const width = 64;
    for (const [dl, dr] of [
      [0, INVALID],
      [0, 32767],
      [0, -32767],
      [INVALID, INVALID],
      [INVALID, -32767],
      [INVALID, 32767],
    ] as const) {
      const call = {
        width,
        height: 1,
        disparity: new Int16Array(width).fill(dl),
        rightDisparity: new Int16Array(width).fill(dr),
        disparityQ4: new Int16Array(width).fill(5),
      };
      for (const value of leftRight(variant, call).disparityQ4)
        expect(value, `${dl} against ${dr}`).toBe(INVALID);
    }
  });
});

function randomCall(random: Random, width: number, height: number, stride: number): Call {
  const disparity = random.fill(new Int16Array(stride * height), 0, 12);
  const rightDisparity = random.fill(new Int16Array(stride * height), 3, 9);
  for (let i = 0; i < disparity.length; ++i) {
    if (random.whole(0, 7) === 0) disparity[i] = INVALID;
    if (random.whole(0, 7) === 0) rightDisparity[i] = INVALID;
  }
  const disparityQ4 = disparity.map((d) => (d === INVALID ? INVALID : 16 * d + random.whole(-8, 7)));
  return { width, height, strideBytes: 2 * stride, disparity, rightDisparity, disparityQ4 };
}

describe.each(forms)("left_right, %s: properties", (variant) => {
  test("checking twice is checking once", () => {
    const random = new Random();
    const call = randomCall(random, 133, 7, 133);
    const once = leftRight(variant, call);
    expectSameImage(
      leftRight(variant, once).disparityQ4,
      once.disparityQ4,
      call.width,
      `seed ${random.seed}`,
    );
  });

  test("what survives is what it was, and two images of one plane agree everywhere but at the edge", () => {
    const [width, height, d] = [97, 5, 6];
    const plane = new Int16Array(width * height).fill(d);
    const disparityQ4 = Int16Array.from(plane, (_, i) => 16 * d + (i % 16) - 8);
    const result = leftRight(variant, {
      width,
      height,
      disparity: plane,
      rightDisparity: plane,
      disparityQ4,
    });
    for (let i = 0; i < plane.length; ++i) {
      expect(result.disparityQ4[i]).toBe(i % width < d ? INVALID : disparityQ4[i]);
    }
  });
});

describe.each(variants)("left_right, %s: twin of the reference", (variant) => {
  test.each(AWKWARD_WIDTHS)("%i wide, packed and strided, with and without confidence", (width) => {
    const random = new Random();
    const height = 6;
    for (const stride of [width, width + random.whole(1, 9)]) {
      const call = randomCall(random, width, height, stride);
      const what = `seed ${random.seed}, stride ${stride}`;
      const expected = leftRight("reference", call);
      expectSameImage(leftRight(variant, call).disparityQ4, expected.disparityQ4, stride, what);
      const confidence = random.fill(new Uint8Array(width * height), 1, 255);
      expectSameImage(
        leftRight(variant, { ...call, confidence }).confidence!,
        leftRight("reference", { ...call, confidence }).confidence!,
        width,
        `${what}, confidence`,
      );
    }
  });
});

describe("left_right: bad calls", () => {
  test("an image that is too small is an error with its name", () => {
    const call = randomCall(new Random(1), 8, 8, 8);
    expect(() => leftRight("scalar", { ...call, rightDisparity: new Int16Array(63) })).toThrow(
      expect.objectContaining({
        code: "ENGINE_PARAMETER",
        message: expect.stringContaining("rightDisparity"),
      }),
    );
  });
});
