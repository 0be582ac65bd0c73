// SPDX-License-Identifier: Apache-2.0
// Tests which problem images have whose corners do not suit one position of the cameras.
import { expect, test } from "vitest";
import type { AlignmentLook } from "../../../../camera/index.js";
import { findProblem } from "../../../../edge/rig/health/problem.js";

/** A look with 400 corners in each image, of which `features` have a partner and `kept` suit one position. */
const look = (features: number, kept: number) =>
  ({
    leftCorners: 400,
    rightCorners: 400,
    leftSharpness: 1,
    rightSharpness: 1,
    features,
    kept,
  }) as AlignmentLook;

// 60 of 400 corners show one scene; 59 do not.
test.each<[number, boolean, string, string]>([
  [60, false, "PAIR_UNRECTIFIED", "the images are not rectified: of 400 corners"],
  [60, true, "PAIR_UNRELATED", "the images do not suit the calibration: of 400 corners"],
  [59, false, "PAIR_UNRELATED", "the images do not show the same scene, or are far from rectified: of 400"],
  [59, true, "PAIR_UNRELATED", "the images do not show the same scene: of 400 corners"],
])("%d features of which 10 suit one position, calibrated: %s", (features, calibrated, code, text) => {
  const found = findProblem([look(features, 10)], { disparityOffset: 0, calibrated });
  expect(found).toMatchObject({ code, text: expect.stringContaining(text) });
  expect(found!.text).toContain(`${features} found in the right one, 10 suit one position of the cameras`);
});
