// SPDX-License-Identifier: Apache-2.0
// The hash of a calibration.
import { describe, expect, test } from "vitest";
import { type OtherCamera, type StereoCalibration, withHash } from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import { level, QUARTER, third } from "./level-rig.js";

describe("the hash", () => {
  const same = (changes: Partial<StereoCalibration>) =>
    withHash({ ...level, ...changes }).hash === level.hash;
  const P = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

  test("is of the geometry alone, in which -0 is 0", () => {
    expect(level.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(same({ files: ["a.yaml"], left: { ...level.left, name: "other" }, corrections: [] })).toBe(true);
    expect(same({ T: [-0.1, -0, 0], R: [1, -0, 0, 0, 1, 0, 0, 0, 1] })).toBe(true);
    expect(same({ others: [] })).toBe(true);
  });

  test.each<[string, Partial<StereoCalibration>]>([
    ["the width", { imageSize: { width: 641, height: 480 } }],
    ["the height", { imageSize: { width: 640, height: 481 } }],
    ["the left camera", { left: { ...level.left, K: [401, 0, 320, 0, 410, 240, 0, 0, 1] } }],
    ["the right lens", { right: { ...level.right, distortion: { model: "plumb_bob", coefficients: [] } } }],
    ["a coefficient", { right: { ...level.right, distortion: { model: "none", coefficients: [1e-9] } } }],
    ["the rotation", { R: QUARTER }],
    ["the translation", { T: [-0.1, 1e-12, 0] }],
    ["a rectification", { given: { R1: IDENTITY3, R2: IDENTITY3, P1: P, P2: P } }],
    ["another camera", { others: [third] }],
  ])("answers to %s", (_, changes) => expect(same(changes)).toBe(false));

  test("of other cameras: every number, and their order", () => {
    const hash = (...others: OtherCamera[]) => withHash({ ...level, others }).hash;
    const changed: OtherCamera[] = [
      { ...third, imageSize: { width: 65, height: 48 } },
      { ...third, imageSize: { width: 64, height: 49 } },
      { ...third, K: [401, 0, 320, 0, 410, 240, 0, 0, 1] },
      { ...third, R: QUARTER },
      { ...third, T: [0.1, 0, 0.2] },
    ];
    expect(new Set([third, ...changed].map((one) => hash(one))).size).toBe(6);
    expect(hash(third)).toBe(hash({ ...third, name: "thermal" }));
    expect(hash(third, changed[0]!)).not.toBe(hash(changed[0]!, third));
  });
});
