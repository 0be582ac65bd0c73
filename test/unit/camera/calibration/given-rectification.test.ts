// SPDX-License-Identifier: Apache-2.0
// A rectification that the file gives, and single points of it.
import { describe, expect, test } from "vitest";
import { rectify, rectifyPoint, withHash } from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import { K, level, near, none, QUARTER } from "./level-rig.js";

describe("a rectification that the file gives", () => {
  const P1 = [400, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0];
  const P2 = [400, 0, 330, -40, 0, 500, 240, 0, 0, 0, 1, 0];
  const given = withHash({ ...level, files: ["rig.yaml"], given: { R1: QUARTER, R2: IDENTITY3, P1, P2 } });

  test("is taken as it is, with the matrix that makes points of disparities", () => {
    const found = rectify(given, { crop: "given" });
    expect(found).toMatchObject({
      width: 640,
      height: 480,
      R1: QUARTER,
      R2: IDENTITY3,
      P1,
      P2,
      focalPixels: 400,
      cx: 320,
      cy: 240,
      baselineMetres: expect.closeTo(0.1, 12),
      disparityOffsetPixels: 10,
      // y has rows of 4/5 the height; 1 / B is 10, and 10 px of offset are 100.
      qMatrix: near([1, 0, 0, -320, 0, 0.8, 0, -192, 0, 0, 0, 400, 0, 0, 10, 100]),
    });
    // A disparity of 30 px and the offset are 40 px: 400 x 0.1 / 40 = 1 m.
    const q = found.qMatrix;
    const [z, w] = [2, 3].map((row) => q[4 * row + 2]! * 30 + q[4 * row + 3]!);
    expect(z! / w!).toBeCloseTo(1, 12);
  });

  test("is refused where there is none, and for another size", () => {
    const message = (run: () => unknown) => {
      try {
        return run();
      } catch (error) {
        return [(error as { code: string }).code, (error as Error).message];
      }
    };
    const expected = 'expected a rectification (R1, R2, P1, P2) because crop is "given", found none.';
    expect(message(() => rectify(level, { crop: "given" }))).toEqual([
      ...["CALIBRATION_INVALID", `the calibration: ${expected}`],
    ]);
    expect(message(() => rectify(withHash({ ...level, files: ["a", "b"] }), { crop: "given" }))).toEqual([
      ...["CALIBRATION_INVALID", `a: ${expected}`],
    ]);
    for (const [width, height] of [
      [641, 480],
      [640, 479],
    ] as const)
      expect(message(() => rectify(given, { crop: "given", outputSize: { width, height } }))).toEqual([
        "CALIBRATION_SIZE_MISMATCH",
        `rig.yaml: expected an output of 640x480 because crop is "given", found ${width}x${height}.`,
      ]);
  });

  test("a crop is a number from 0 to 1", () => {
    for (const crop of [0, 1]) expect(rectify(level, { crop }).width).toBe(640);
    for (const crop of [-0.01, 1.01, Number.NaN])
      expect(message(crop)).toBe(`calibration.crop: expected a number from 0 to 1, found ${crop}.`);
    function message(crop: number) {
      try {
        rectify(level, { crop });
      } catch (error) {
        return (error as Error).message;
      }
      return "accepted";
    }
  });
});

test("single points: into the rectified image, and none behind it or at 90 degrees", () => {
  const P = [200, 0, 60, 0, 0, 300, 70, 0, 0, 0, 1, 0];
  // (360, 281) is the ray (0.1, 0.1).
  expect(rectifyPoint({ K, distortion: none }, IDENTITY3, P, 360, 281)).toEqual({
    x: expect.closeTo(80, 9),
    y: expect.closeTo(100, 9),
  });
  // (0.1, 0.1, 1) becomes (0.1, -1, 0.1).
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 281)).toEqual({
    x: expect.closeTo(260, 9),
    y: expect.closeTo(-2930, 9),
  });
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 199)).toBeUndefined();
  expect(rectifyPoint({ K, distortion: none }, QUARTER, P, 360, 240)).toBeUndefined();
  const fisheye = { model: "equidistant", coefficients: [0, 0, 0, 0] } as const;
  const across = (px: number) => rectifyPoint({ K, distortion: fisheye }, IDENTITY3, P, px, 240);
  expect(across(320 + 400 * 1.5)!.x).toBeCloseTo(60 + 200 * Math.tan(1.5), 6);
  expect(across(320 + 400 * 1.57)).toBeUndefined();
});
