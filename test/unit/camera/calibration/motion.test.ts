// SPDX-License-Identifier: Apache-2.0
// Motions composed and inverted by hand.
import { expect, test } from "vitest";
import { baselineMetres } from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import { composeMotions, invertMotion } from "../../../../camera/calibration/motion.js";
import { near, QUARTER } from "./level-rig.js";

test("motions by hand, and the length of a baseline", () => {
  const turn = { R: QUARTER, T: [1, 2, 3] as const };
  // x = R^T (y - T), and R^T (1, 2, 3) is (1, 3, -2).
  expect(invertMotion(turn)).toEqual({ R: near([1, 0, 0, 0, 0, 1, 0, -1, 0]), T: near([-1, -3, 2]) });
  expect(composeMotions(turn, { R: IDENTITY3, T: [10, 20, 30] })).toEqual({
    R: near(QUARTER),
    T: near([11, -28, 23]),
  });
  expect(composeMotions(turn, invertMotion(turn))).toEqual({ R: near(IDENTITY3), T: near([0, 0, 0]) });
  expect(baselineMetres({ T: [-2, 3, 6] })).toBe(7);
});
