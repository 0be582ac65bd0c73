// SPDX-License-Identifier: Apache-2.0
// A rig for sums by hand: level cameras without distortion, 0.1 m apart, and a third one.
import { expect } from "vitest";
import { type OtherCamera, type StereoCalibration, withHash } from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";

export const near = (values: Iterable<number>, digits = 12) =>
  [...values].map((value) => expect.closeTo(value, digits));
export const K = [400, 0, 320, 0, 410, 240, 0, 0, 1] as const;
export const none = { model: "none", coefficients: [] } as const;
export const level: StereoCalibration = withHash({
  imageSize: { width: 640, height: 480 },
  left: { name: "left", K, distortion: none },
  right: { name: "right", K, distortion: none },
  R: IDENTITY3,
  T: [-0.1, 0, 0],
  files: [],
});
/** A quarter turn about x: (x, y, z) becomes (x, -z, y). */
export const QUARTER = [1, 0, 0, 0, 0, -1, 0, 1, 0] as const;
export const third: OtherCamera = {
  name: "rgb",
  imageSize: { width: 64, height: 48 },
  K,
  distortion: none,
  R: IDENTITY3,
  T: [0.1, 0, 0],
};
