// SPDX-License-Identifier: Apache-2.0
// The cameras of the built-in scene: their numbers by hand, and a calibration that projects as the renderer does.
import { expect, test } from "vitest";
import { apply, type Matrix3, rotationMatrix, type Vector3 } from "../../../../camera/calibration/matrix.js";
import {
  boardCellPixels,
  DEFAULT_POSE,
  otherSceneSetup,
  SCENE_ROOMS,
  type SceneOptions,
  sceneCalibration,
  sceneSetup,
  sceneView,
} from "../../../../camera/scene/scene-cameras.js";

const near = (values: Iterable<number>) => [...values].map((value) => expect.closeTo(value, 12));
const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

// A focal length of 13/16 of the width, and the principal point in the middle of the pixels' centres.
const IDEAL = {
  imageSize: { width: 640, height: 480 },
  left: {
    name: "left",
    K: [520, 0, 319.5, 0, 520, 239.5, 0, 0, 1],
    distortion: { model: "none", coefficients: [] },
  },
  right: {
    name: "right",
    K: [520, 0, 319.5, 0, 520, 239.5, 0, 0, 1],
    distortion: { model: "none", coefficients: [] },
  },
  R: near(IDENTITY),
  T: near([-0.12, 0, 0]),
  files: [],
  hash: expect.any(String),
};

test("ideal and rectified cameras are equal pinholes, 12 cm apart", () => {
  expect(sceneView(640, 480)).toEqual({ width: 640, height: 480, focalPixels: 520, cx: 319.5, cy: 239.5 });
  for (const view of ["ideal", "rectified"] as const) expect(sceneCalibration({ view })).toEqual(IDEAL);
  const pinhole = {
    fx: 520,
    fy: 520,
    cx: 319.5,
    cy: 239.5,
    distortion: [0, 0, 0, 0, 0],
    rotation: IDENTITY,
    gain: 1,
    offsetGrey: 0,
    vignetting: 0,
  };
  const common = {
    width: 640,
    height: 480,
    seed: 1,
    room: 0,
    cellPixels: 8,
    focalPixels: 520,
    baselineMetres: 0.12,
  };
  expect(sceneSetup({ view: "ideal" })).toEqual({
    ...common,
    noiseGrey: 0,
    left: { ...pinhole, offsetMetres: 0 },
    right: { ...pinhole, offsetMetres: 0.12 },
  });
  // Real sensors: darker borders, and a right camera that is darker.
  expect(sceneSetup({ view: "rectified" })).toEqual({
    ...common,
    noiseGrey: 1.2,
    left: { ...pinhole, offsetMetres: 0, vignetting: 0.16 },
    right: { ...pinhole, offsetMetres: 0.12, vignetting: 0.18, gain: 0.93, offsetGrey: 3 },
  });
});

test("options go to the renderer: room, seed, noise, colours, size", () => {
  expect(
    sceneSetup({ width: 160, height: 120, seed: 9, room: "tiles", noiseGrey: 0, colours: true }),
  ).toMatchObject({
    width: 160,
    height: 120,
    seed: 9,
    noiseGrey: 0,
    colours: true,
    focalPixels: 130,
    cellPixels: 4,
    room: SCENE_ROOMS.indexOf("tiles"),
  });
  expect(sceneSetup({ view: "ideal", noiseGrey: 2 }).noiseGrey).toBe(2);
  expect([16, 320, 359, 360, 361, 640, 1280].map(boardCellPixels)).toEqual([4, 4, 4, 5, 5, 8, 16]);
  for (const absent of ["pose", "colours"]) expect(sceneSetup()).not.toHaveProperty(absent);
});

test("a pose turns the pair's axes in the room, y down", () => {
  const rotation = (pitchDegrees: number, rollDegrees: number) =>
    sceneSetup({ pose: { heightMetres: 2, pitchDegrees, rollDegrees } }).pose!.rotation as Matrix3;
  // Looking straight down, the axis ahead points to the floor and the image's down points backwards.
  expect(apply(rotation(90, 0), [0, 0, 1])).toEqual(near([0, 1, 0]));
  expect(apply(rotation(90, 0), [0, 1, 0])).toEqual(near([0, 0, -1]));
  // Rolled by 90 degrees, the right side is at the bottom.
  expect(apply(rotation(0, 90), [1, 0, 0])).toEqual(near([0, 1, 0]));
  expect(apply(rotation(0, 90), [0, 0, 1])).toEqual(near([0, 0, 1]));
  // The roll is about the optical axis: the pitch alone says where it points.
  expect(apply(rotation(30, 40), [0, 0, 1])).toEqual(near([0, 0.5, Math.sqrt(0.75)]));
  expect(sceneSetup({ pose: { heightMetres: 2, pitchDegrees: 0, rollDegrees: 0 } }).pose!.heightMetres).toBe(
    2,
  );
  expect(Math.tan((DEFAULT_POSE.pitchDegrees * Math.PI) / 180)).toBeCloseTo(0.2, 12);
  expect(DEFAULT_POSE).toMatchObject({ heightMetres: 1.3, rollDegrees: 0 });
});

test.each<SceneOptions>([{}, { width: 320, height: 200 }, { view: "ideal" }])(
  "the calibration of %j projects as the renderer's cameras do",
  (options) => {
    const all = { ...options, other: true };
    const [setup, third, calibration] = [sceneSetup(all), otherSceneSetup(all), sceneCalibration(all)];
    const cameras = [
      {
        rendered: setup.left,
        written: { ...calibration.left, R: IDENTITY as unknown as Matrix3, T: [0, 0, 0] as const },
      },
      { rendered: setup.right, written: { ...calibration.right, R: calibration.R, T: calibration.T } },
      { rendered: third.left, written: calibration.others![0]! },
    ];
    for (const { rendered, written } of cameras) {
      expect(written.K).toEqual([rendered.fx, 0, rendered.cx, 0, rendered.fy, rendered.cy, 0, 0, 1]);
      if (written.distortion.model !== "none")
        expect(written.distortion.coefficients).toEqual(rendered.distortion);
      for (const point of [
        [0, 0, 1],
        [0.7, -0.4, 2],
        [-1, 0.8, 5],
      ] as Vector3[]) {
        const [x, y, z] = point;
        const seen = apply(rendered.rotation as Matrix3, [x - rendered.offsetMetres, y, z]);
        const inLeft = apply(setup.left.rotation as Matrix3, point);
        const turned = apply(written.R, inLeft);
        expect(turned.map((value, axis) => value + written.T[axis]!)).toEqual(near(seen));
      }
    }
    expect(calibration.others).toHaveLength(1);
    expect(calibration.others![0]).toMatchObject({ name: "rgb", imageSize: calibration.imageSize });
    expect(calibration.others![0]!.distortion.model).toBe("plumb_bob");
    expect(calibration.left.distortion.model).toBe(options.view === "ideal" ? "none" : "plumb_bob");
    expect(third.colours).toBe(true);
    expect(sceneCalibration(options)).not.toHaveProperty("others");
  },
);

test("raw cameras are turned against each other by equal amounts, each by a third of a degree", () => {
  const { left, right } = sceneSetup();
  const [a, b] = [left.rotation, right.rotation] as [Matrix3, Matrix3];
  // The inverse of a rotation is its transpose.
  expect([a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]]).toEqual(
    near([b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]]),
  );
  // tan of half the angle about x, y and z.
  const tangents = [0.0016, -0.0024, 0.0012];
  const half = Math.hypot(...tangents);
  const vector = tangents.map((one) => (one / half) * 2 * Math.atan(half)) as unknown as Vector3;
  expect(a).toEqual(near(rotationMatrix(vector)));
});

test("a right camera that has turned since looks elsewhere, and its calibration does not know", () => {
  const before = sceneSetup().right.rotation as Matrix3;
  const after = sceneSetup({ turnedDegrees: [0, 90, 0] });
  // A quarter turn about the axis that points down: the new x is the old z, the new z the old -x.
  const [x, y, z] = apply(before, [0.1, 0.2, 0.9]);
  expect(apply(after.right.rotation as Matrix3, [0.1, 0.2, 0.9])).toEqual(near([z, y, -x]));
  expect(after.left).toEqual(sceneSetup().left);
  expect(sceneCalibration({ turnedDegrees: [1, 2, 3] }).hash).toBe(sceneCalibration().hash);
});
