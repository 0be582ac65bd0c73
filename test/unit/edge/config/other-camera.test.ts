// SPDX-License-Identifier: Apache-2.0
// Settings of a third camera that cannot be: a device twice, colours of a camera without a name, images of another size.
import { expect, test } from "vitest";
import { rectify, SCENE_BASELINE_METRES, sceneCalibration, sceneView } from "../../../../camera/index.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { engineOptionsFrom } from "../../../../edge/pipeline/engine-options.js";

const load = (...set: string[]) => loadConfig({ set, environment: {} }).config;
const V4L2 = ["source.kind=v4l2", "source.v4l2.left=/dev/video0", "source.v4l2.right=/dev/video2"];

test.each([
  [
    [...V4L2, "source.v4l2.other.device=/dev/video2"],
    /another device than source\.v4l2\.right, got \/dev\/video2/,
  ],
  [["points.colour=registered"], /registration\.camera.*whose images colour points, got none/],
  [["points.colour=registered", "registration.camera=right"], /whose images colour points, got right/],
])("%j is refused", (set, message) => {
  expect(() => load(...set)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
  );
});

/** Engine options of the scene with a third camera whose images have a size. */
function optionsWith(
  other: { width: number; height: number } | undefined,
  settings = ["points.colour=registered", "registration.camera=rgb"],
  wishes: object = { points: true },
) {
  const [width, height] = [160, 96];
  const calibration = sceneCalibration({ width, height, other: true });
  const { focalPixels } = sceneView(width, height);
  const description = {
    width,
    height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: width,
    rightStrideBytes: width,
    ...(other && { other: { ...other, format: "RGB8" as const, strideBytes: 3 * other.width } }),
  } as const;
  const depth = { focalPixels, baselineMetres: SCENE_BASELINE_METRES, disparityOffsetPixels: 0 };
  const rig = { calibration, rectification: rectify(calibration) };
  const geometry = { width, height, depth, maps: undefined, rig } as never;
  return engineOptionsFrom(load(...settings), { description }, geometry, wishes);
}

test("the source's images must exist and have the size of the calibration", () => {
  expect(optionsWith({ width: 160, height: 96 })).toMatchObject({
    points: { colours: "registered" },
    registration: { camera: "rgb", image: { format: "RGB8", strideBytes: 480 } },
  });
  expect(() => optionsWith({ width: 320, height: 96 })).toThrow(
    expect.objectContaining({
      code: "CALIBRATION_SIZE_MISMATCH",
      message: expect.stringContaining(
        "160x96 of the camera rgb, as it was calibrated; the source delivers 320x96",
      ),
    }),
  );
  expect(() => optionsWith(undefined)).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("no images of another camera"),
    }),
  );
});

test("a camera that the calibration lacks is refused even if no output asks for it", () => {
  expect(() => optionsWith(undefined, ["registration.camera=thermal"], {})).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining("right, rgb") }),
  );
  expect(optionsWith(undefined, ["registration.camera=rgb"], {})).not.toHaveProperty("registration");
});
