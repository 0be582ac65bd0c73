// SPDX-License-Identifier: Apache-2.0
// Which angles count as a rotation of the rig: from sums whose solution is worked out by hand.
import { expect, test } from "vitest";
import type { AlignmentLook } from "../../camera/index.js";
import { joined } from "../../edge/rig/health/figures.js";
import { alignmentLook as look } from "../doubles/alignment-look.js";

const VIEW = { width: 640, height: 480, focalPixels: 500, cx: 319.5, cy: 239.5 };
const DEGREES = 180 / Math.PI;

const figuresOf = (one: AlignmentLook, calibrated = true) => joined([one], VIEW, calibrated)!.figures;

test("an angle counts from two standard deviations on", () => {
  const { deviationDegrees, rotationDegrees } = figuresOf(look({ roll: 0.012 }));
  expect(deviationDegrees.roll).toBeCloseTo(0.005, 3);
  expect(rotationDegrees).toEqual({ total: 0.012, pitch: 0, yaw: 0, roll: 0.012 });
  expect(figuresOf(look({ roll: 0.009 })).rotationDegrees).toMatchObject({ total: 0, roll: 0.009 });
});

test("the total is that of the angles that count", () => {
  const { rotationDegrees } = figuresOf(look({ pitch: -0.3, yaw: 0.4, roll: 0.009 }));
  expect(rotationDegrees).toEqual({ total: 0.5, pitch: -0.3, yaw: 0.4, roll: 0.009 });
});

test("without a calibration only the roll is known", () => {
  const { rotationDegrees, focalPixels } = figuresOf(look({ pitch: -0.3, roll: 0.2 }), false);
  expect(rotationDegrees).toEqual({
    total: 0.2,
    pitch: { available: false, reason: "needs a calibration: the focal length is not known" },
    yaw: { available: false, reason: "needs a calibration: the focal length is not known" },
    roll: 0.2,
  });
  expect(focalPixels).toMatchObject({ available: false });
});

test("an angle that is less sure than 0.04 degrees is not reported and does not count", () => {
  // 0.05 / 500 rad / sqrt(0.01) is 0.0573 degrees; with the shared 0.005 it is 0.0575.
  const { rotationDegrees, deviationDegrees } = figuresOf(look({ pitch: 3, roll: 3 }, 0.01));
  expect(deviationDegrees.pitch).toBeCloseTo(0.0575, 4);
  expect(rotationDegrees).toMatchObject({
    total: 0,
    pitch: { available: false, reason: "too few features: the standard deviation is 0.06 degrees" },
  });
});

test("a difference of the scale is that of the focal lengths", () => {
  const { scalePercent, focalPixels } = figuresOf(look({ scale: 0.004 * DEGREES }));
  expect([scalePercent, focalPixels]).toEqual([0.4, 2]);
});

test("every figure is rounded to what it is worth, and nothing is -0", () => {
  // Features are off by 2.6913578e-4 focal lengths: 0.1346 rows, and an angle by 0.0015420 degrees and the shared 0.005.
  const one = {
    ...look({ pitch: 0.12344567, yaw: -1e-9, roll: 0.3456789, scale: 0.0012345678 * DEGREES }, 100),
    squares: 80 * 2.6913578e-4 ** 2,
    meanRows: -0.123456,
    p95Rows: 1.23456,
  } as AlignmentLook;
  expect(figuresOf(one)).toEqual({
    rows: {
      mean: -0.123,
      p95: 1.235,
      // 639 columns of 0.00603323 radians, 479 rows of 0.0012345678.
      overWidth: 3.855,
      overHeight: 0.591,
    },
    rotationDegrees: { total: 0.3671, pitch: 0.1234, yaw: 0, roll: 0.3457 },
    deviationDegrees: { pitch: 0.0052, yaw: 0.0052, roll: 0.0052 },
    scalePercent: 0.123,
    focalPixels: 0.62,
    features: 80,
    residualRows: 0.135,
  });
});
