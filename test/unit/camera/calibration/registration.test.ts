// SPDX-License-Identifier: Apache-2.0
// The view of another camera, by hand.
import { describe, expect, test } from "vitest";
import {
  type OtherCamera,
  rectify,
  registrationView,
  withHash,
} from "../../../../camera/calibration/index.js";
import { rotationMatrix } from "../../../../camera/calibration/matrix.js";
import { level, near, third } from "./level-rig.js";

describe("registration", () => {
  const rectification = rectify(level);
  const { focalPixels, cx, cy } = rectification;
  const own = [focalPixels, 0, cx, 0, focalPixels, cy, 0, 0, 1] as const;
  const view = (camera: Partial<OtherCamera>, files: readonly string[] = []) =>
    registrationView(
      withHash({ ...level, files, others: [{ ...third, imageSize: level.imageSize, ...camera }] }),
      rectification,
      "rgb",
    );

  test("a camera like the rectified left one, moved by half the baseline and ahead", () => {
    // disparity / (f B) is 1 / Z: x moves by f tx / Z, and w by tz / Z.
    const { matrix, ...rest } = view({ K: own, T: [-0.05, 0, 0] });
    expect(rest).toEqual({ camera: "rgb", width: 640, height: 480 });
    expect([...matrix]).toEqual(near([1, 0, 0, -0.5, 0, 1, 0, 0, 0, 0, 1, 0]));
    const ahead = view({ K: own, T: [0, 0.02, -0.04] }).matrix;
    const f = focalPixels * 0.1;
    expect([...ahead]).toEqual(
      near(
        [1, 0, 0, (cx * -0.04) / f, 0, 1, 0, (focalPixels * 0.02 + cy * -0.04) / f, 0, 0, 1, -0.04 / f],
        9,
      ),
    );
  });

  test("a disparity offset is a part of the distance", () => {
    const apart = withHash({ ...level, right: { ...level.right, K: [400, 0, 330, 0, 410, 240, 0, 0, 1] } });
    const rectified = rectify(apart, { commonPrincipalPoint: false });
    expect(Math.abs(rectified.disparityOffsetPixels)).toBeGreaterThan(5);
    const left = [
      ...rectified.P1.slice(0, 3),
      ...rectified.P1.slice(4, 7),
      0,
      0,
      1,
    ] as unknown as OtherCamera["K"];
    const others = [{ ...third, K: left, imageSize: level.imageSize, T: [-0.05, 0, 0] as const }];
    const { matrix } = registrationView(withHash({ ...apart, others }), rectified, "rgb");
    expect([...matrix]).toEqual(
      near([1, 0, -0.5 * rectified.disparityOffsetPixels, -0.5, 0, 1, 0, 0, 0, 0, 1, 0], 9),
    );
  });

  test("an unknown camera, and one that sees nothing of the pair's view", () => {
    const named =
      (files: readonly string[], ...names: string[]) =>
      () =>
        registrationView(
          withHash({ ...level, files, others: names.map((name) => ({ ...third, name })) }),
          rectification,
          "ir",
        );
    expect(named(["rig.yaml"], "rgb", "nir")).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: 'registration.camera: expected a camera of rig.yaml (right, rgb, nir), got "ir"',
      }),
    );
    expect(named([])).toThrow('expected a camera of the calibration (right), got "ir"');
    const away = { R: rotationMatrix([0, Math.PI, 0]) };
    const refused = "expected a camera that sees a part of the left image between 0.2 m and 60 m, found none";
    expect(() => view(away)).toThrow(`the calibration: rgb: ${refused}`);
    expect(() => view(away, ["rig.yaml"])).toThrow(`rig.yaml: rgb: ${refused}`);
  });
});
