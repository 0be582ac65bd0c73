// SPDX-License-Identifier: Apache-2.0
// Tests that depthwatt reads back the files of depthwatt calibrate: each lens model in each format that can hold it,
// and the refusals.
import { describe, expect, test } from "vitest";
import {
  type Distortion,
  loadStereoCalibration,
  type StereoCalibration,
  stringifyCalibration,
  stringifyKalibr,
  stringifyOpenCv,
  stringifyRos,
  withHash,
} from "../../../../camera/calibration/index.js";
import { barrel, fisheye, plumbBob, rational, temporaryFiles, thinPrism, wideFisheye } from "./fixtures.js";

const write = temporaryFiles();

const withLenses = (rig: StereoCalibration, left: Distortion, right: Distortion): StereoCalibration =>
  withHash({
    ...rig,
    left: { ...rig.left, distortion: left },
    right: { ...rig.right, distortion: right },
  });

const none: Distortion = { model: "none", coefficients: [] };
const RIGS = {
  "radtan with k3": barrel,
  "radtan without k3": withLenses(
    barrel,
    plumbBob(-0.31, 0.12, 0.0008, -0.0005, 0),
    plumbBob(-0.3, 0.11, -0.0004, 0.0007, 0),
  ),
  rational,
  "thin prism": thinPrism,
  equidistant: fisheye,
  "equidistant, 136 degrees": wideFisheye,
  "no distortion": withLenses(barrel, none, none),
};
type Name = keyof typeof RIGS;

const FORMS = {
  own: (rig: StereoCalibration) => [stringifyCalibration(rig)],
  OpenCV: (rig: StereoCalibration) => [stringifyOpenCv(rig)],
  ROS: (rig: StereoCalibration) => {
    const { left, right } = stringifyRos(rig);
    return [left, right];
  },
  Kalibr: (rig: StereoCalibration) => [stringifyKalibr(rig)],
};

/** Pixels by which two lenses differ at most is what counts, but the numbers themselves come back as well. */
function expectSame(read: StereoCalibration, rig: StereoCalibration, digits: number): void {
  expect(read.imageSize).toEqual(rig.imageSize);
  for (const side of ["left", "right"] as const) {
    expect(read[side].K).toEqual(rig[side].K);
    const { model, coefficients } = rig[side].distortion;
    const found = read[side].distortion;
    // Forms without a word for it hold "no distortion" as zeros.
    if (model === "none") expect(found.coefficients.every((value) => value === 0)).toBe(true);
    else expect(found).toEqual({ model, coefficients });
  }
  for (const [i, value] of rig.R.entries()) expect(read.R[i]).toBeCloseTo(value, digits);
  for (const [i, value] of rig.T.entries()) expect(read.T[i]).toBeCloseTo(value, digits);
}

const HELD_BY_KALIBR: readonly Name[] = [
  "radtan without k3",
  "equidistant",
  "equidistant, 136 degrees",
  "no distortion",
];

describe.each(Object.keys(FORMS) as (keyof typeof FORMS)[])("%s", (form) => {
  const held = (Object.keys(RIGS) as Name[]).filter(
    (name) => form !== "Kalibr" || HELD_BY_KALIBR.includes(name),
  );

  test.each(held)("%s comes back as it was", (name) => {
    const rig = RIGS[name];
    const files = FORMS[form](rig).map((text, at) =>
      write(`${form}-${name.replaceAll(/\W/g, "-")}-${at}.${form === "own" ? "json" : "yaml"}`, text),
    );
    const { calibration, warnings } = loadStereoCalibration(files);
    expect(warnings).toEqual([]);
    // ROS reports rotation and baseline through rectification and projection matrices.
    expectSame(calibration, rig, form === "ROS" ? 10 : 14);
  });
});

test.each([
  ["radtan with k3", /radtan of k1 k2 p1 p2, or equidistant.*found radtan with a k3/],
  ["rational", /found rational_polynomial/],
  ["thin prism", /found thin_prism/],
] as const)("Kalibr's form refuses %s, and says what it holds", (name, message) => {
  let refusal: unknown;
  try {
    stringifyKalibr(RIGS[name]);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toMatchObject({
    code: "CALIBRATION_INVALID",
    message: expect.stringMatching(message),
    hint: expect.stringContaining("--no-k3"),
  });
});
