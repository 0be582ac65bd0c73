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

  test("the rectified right image needs no camera: a disparity moves x by its own size", () => {
    expect(registrationView(level, rectification, "right")).toEqual({
      camera: "right",
      width: 640,
      height: 480,
      matrix: Float64Array.of(1, 0, 0, -1, 0, 1, 0, 0, 0, 0, 1, 0),
    });
  });

  describe("the lens grid", () => {
    const NO_NODE = -0x8000_0000;
    /** Compares the grid of nodes 8 px apart with a lens of focal length f that moves a ray by the factor of its radius. */
    const compare = (
      camera: Pick<OtherCamera, "K" | "distortion" | "imageSize">,
      [column, row, width, height]: readonly number[],
      factor: (radius: number) => number,
    ) => {
      const { grid, ...found } = view(camera);
      expect(found).toMatchObject({
        gridX: 256 * column!,
        gridY: 256 * row!,
        gridWidth: width!,
        gridHeight: height!,
      });
      const [fx, , cx, , fy, cy] = camera.K;
      const expected = Array.from({ length: width! * height! }, (_, i) => {
        const x = (8 * (column! + (i % width!)) - cx) / fx;
        const y = (8 * (row! + Math.floor(i / width!)) - cy) / fy;
        const scale = factor(Math.hypot(x, y));
        return scale <= 0
          ? [NO_NODE, 0]
          : [fx * x * scale + cx, fy * y * scale + cy].map((value) => Math.round(32 * value));
      });
      expect([...grid!]).toEqual(expected.flat());
    };

    test("of an equidistant lens reaches to tan 80 degrees where the image shows more", () => {
      // 1.625 rad to the left and right: 5.67 focal lengths of 20 px to both sides of 31.5, -81.9 to 144.9 px. 1.2 rad upwards
      // and downwards, but more in the corners: -89.9 to 136.9 px. One node more before these, and two behind them.
      compare(
        {
          K: [20, 0, 31.5, 0, 20, 23.5, 0, 0, 1],
          distortion: { model: "equidistant", coefficients: [0, 0, 0, 0] },
          imageSize: { width: 64, height: 48 },
        },
        [-12, -13, 33, 33],
        (radius) => (radius === 0 ? 1 : Math.atan(radius) / radius),
      );
    });

    test("of a barrel lens reaches to its corners", () => {
      // Distances of 0.485 and 0.325 become 0.485 s and 0.325 s, where s (1 - 0.1 (0.5838 s)^2) is 1: s = 1.0382. That is from
      // -2.85 to 97.85 px, and from -2.24 to 65.24 px.
      compare(
        {
          K: [100, 0, 47.5, 0, 100, 31.5, 0, 0, 1],
          distortion: { model: "plumb_bob", coefficients: [-0.1, 0, 0, 0] },
          imageSize: { width: 96, height: 64 },
        },
        [-2, -2, 17, 13],
        (radius) => 1 - 0.1 * radius ** 2,
      );
    });

    test("of a lens that folds back before its edges reaches to the fold, and has no nodes beyond", () => {
      // r - r^3 / 2 grows up to r = 0.8165, 32.66 px: from -1.16 to 64.16 px, and from -9.16 to 56.16 px.
      compare(
        {
          K: [40, 0, 31.5, 0, 40, 23.5, 0, 0, 1],
          distortion: { model: "plumb_bob", coefficients: [-0.5, 0, 0, 0] },
          imageSize: { width: 64, height: 48 },
        },
        [-2, -3, 13, 13],
        (radius) => (radius > Math.sqrt(2 / 3) ? 0 : 1 - radius ** 2 / 2),
      );
    });

    test("is not needed where all coefficients are 0", () => {
      const zero = { model: "plumb_bob", coefficients: [0, 0, 0, 0] } as const;
      expect(view({ K: own, distortion: zero })).not.toHaveProperty("grid");
      const some = { model: "plumb_bob", coefficients: [0, 0, 0, 0.001] } as const;
      expect(view({ K: own, distortion: some })).toHaveProperty("grid");
    });
  });

  // At 60 m, a camera moved by t meters sees points 60 t / f px away. Its image is 600x400, and the left one 640x480.
  test.each<[string, number, number, (metres: number) => OtherCamera["T"]]>([
    ["right", 639, 639.49, (metres) => [-metres, 0, 0]],
    ["left", 599, 599.49, (metres) => [metres, 0, 0]],
    ["down", 479, 479.49, (metres) => [0, -metres, 0]],
    ["up", 399, 399.49, (metres) => [0, metres, 0]],
  ])("a camera far to the %s sees the last column or row at 60 m", (_, last, within, moved) => {
    const at = (pixels: number) => () =>
      view({ K: own, imageSize: { width: 600, height: 400 }, T: moved((pixels * 60) / focalPixels) });
    expect(at(last)()).toMatchObject({ camera: "rgb" });
    expect(at(within)()).toMatchObject({ camera: "rgb" });
    expect(at(within + 0.02)).toThrow(/expected a camera that sees a part of the left image/);
  });

  test("a camera that looks back at the pair from 0.21 m sees a point at 0.2 m, from 0.19 m it sees nothing", () => {
    const back = (metres: number) => () =>
      view({ K: own, R: [-1, 0, 0, 0, 1, 0, 0, 0, -1], T: [0, 0, metres] });
    expect(back(0.21)()).toMatchObject({ camera: "rgb" });
    expect(back(0.19)).toThrow(/between 0.2 m and 60 m/);
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
