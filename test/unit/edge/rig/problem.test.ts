// SPDX-License-Identifier: Apache-2.0
// Tests which problem images have whose corners do not suit one position of the cameras.
import { expect, test } from "vitest";
import type { AlignmentLook } from "../../../../camera/index.js";
import { lookGeometryFrom, lookOptions } from "../../../../edge/rig/health/look-options.js";
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

const usual = {
  leftCorners: 400,
  rightCorners: 400,
  leftSharpness: 1,
  rightSharpness: 1,
  features: 100,
  kept: 100,
  medianDisparity: 10,
};

// Both sides of every limit.
test.each<[Partial<AlignmentLook>, number, string | undefined, string]>([
  [{ leftSharpness: 0.56 }, 0, undefined, ""],
  [
    { leftSharpness: 0.5 },
    0,
    "PAIR_BLURRED",
    "the left image is out of focus: its edges are 4.0 pixels wide, those of the right one 2.0 pixels wide",
  ],
  [{ leftSharpness: 1.8 }, 0, undefined, ""],
  [{ rightSharpness: 1.8 }, 0, undefined, ""],
  [
    { leftSharpness: 1.6, rightSharpness: 0.8 },
    0,
    "PAIR_BLURRED",
    "the right image is out of focus: its edges are 2.5 pixels wide, those of the left one 1.3 pixels wide",
  ],
  [{ leftSharpness: 0 }, 0, undefined, ""],
  [{ rightSharpness: 0 }, 0, undefined, ""],
  [{ leftCorners: 30, rightCorners: 60 }, 0, undefined, ""],
  [
    { leftCorners: 29 },
    0,
    "PAIR_FEATURELESS",
    "the left image is flat: 29 corners in the left one, 400 corners in the right one",
  ],
  [
    { rightCorners: 59 },
    0,
    "PAIR_FEATURELESS",
    "the right image is flat: 400 corners in the left one, 59 corners in the right one",
  ],
  [
    { leftCorners: 0, rightCorners: 0 },
    0,
    "PAIR_FEATURELESS",
    "both images are flat: 0 corners in the left one, 0 corners in the right one",
  ],
  [{ features: 24, kept: 24 }, 0, undefined, ""],
  [{ features: 23, kept: 23 }, 0, "PAIR_UNRELATED", "do not show the same scene: of 400 corners"],
  [{ features: 117, kept: 47 }, 0, undefined, ""],
  [{ features: 118, kept: 47 }, 0, "PAIR_UNRELATED", "do not suit the calibration"],
  [{ features: 192, kept: 48 }, 0, undefined, ""],
  [{ features: 193, kept: 48 }, 0, "PAIR_UNRELATED", "do not suit the calibration"],
  [{ leftCorners: 320, features: 48, kept: 10 }, 0, "PAIR_UNRELATED", "do not suit the calibration"],
  // The share is that of the left image's corners.
  [
    { leftCorners: 320, rightCorners: 900, features: 48, kept: 10 },
    0,
    "PAIR_UNRELATED",
    "do not suit the calibration",
  ],
  [{ leftCorners: 321, features: 48, kept: 10 }, 0, "PAIR_UNRELATED", "do not show the same scene"],
  [{ leftCorners: 100, features: 47, kept: 10 }, 0, "PAIR_UNRELATED", "do not show the same scene"],
  [{ medianDisparity: -2 }, 0, undefined, ""],
  [{ medianDisparity: -2.25 }, 0, "PAIR_SWAPPED", "disparities are negative, -2 pixels in the middle"],
  [{ medianDisparity: -3 }, 1, undefined, ""],
  [{ medianDisparity: -1 }, -2, "PAIR_SWAPPED", "disparities are negative, -1 pixels in the middle"],
])("a look of %j, offset %d: %s", (changes, disparityOffset, code, text) => {
  const found = findProblem([{ ...usual, ...changes } as AlignmentLook], {
    disparityOffset,
    calibrated: true,
  });
  expect(found?.code).toBe(code);
  expect(found?.text ?? "").toContain(text);
});

test("several looks count with their means", () => {
  const looks = [{ leftCorners: 10 }, { leftCorners: 50 }].map(
    (one) => ({ ...usual, ...one }) as AlignmentLook,
  );
  expect(findProblem(looks, { disparityOffset: 0, calibrated: true })).toBeUndefined();
  looks[1]!.leftCorners = 48;
  expect(findProblem(looks, { disparityOffset: 0, calibrated: true })?.code).toBe("PAIR_FEATURELESS");
});

test("how an aligner looks at images, with a calibration and without", () => {
  const size = { width: 100, height: 61 };
  const plain = lookGeometryFrom({ ...size, maps: undefined, rig: undefined } as never);
  expect(plain).toEqual({
    view: { ...size, focalPixels: 80, cx: 49.5, cy: 30 },
    calibrated: false,
    disparityOffset: 0,
    maps: undefined,
  });
  const maps = { leftMap: new Int32Array(1), rightMap: new Int32Array(2) };
  const rectification = { focalPixels: 90, cx: 52, cy: 31, disparityOffsetPixels: 3 };
  const known = lookGeometryFrom({ ...size, maps, rig: { rectification } } as never);
  expect(known).toEqual({
    view: { ...size, focalPixels: 90, cx: 55, cy: 31 },
    calibrated: true,
    disparityOffset: 3,
    maps,
  });
  const reach = { maxWidth: 800, rows: 9, minDisparity: -4, maxDisparity: 50 };
  const layout = { leftFormat: "GREY", rightFormat: "Y16", leftStrideBytes: 3, rightStrideBytes: 4 } as const;
  expect(lookOptions({ width: 7, height: 8, ...layout }, known, reach)).toEqual({
    ...known.view,
    ...layout,
    ...reach,
    ...maps,
    inputWidth: 7,
    inputHeight: 8,
  });
});
