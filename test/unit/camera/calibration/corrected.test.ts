// SPDX-License-Identifier: Apache-2.0
// A corrected calibration describes the rig after its right camera has turned.
import { describe, expect, test } from "vitest";
import {
  correctedCalibration,
  parseStereoCalibration,
  rectify,
  stringifyCalibration,
  withHash,
} from "../../../../camera/calibration/index.js";
import {
  apply,
  type Matrix3,
  multiply,
  rotationMatrix,
  transpose,
  type Vector3,
} from "../../../../camera/calibration/matrix.js";
import { barrel, convergent } from "./fixtures.js";

const CORRECTION = { date: "2026-11-26T10:00:00.000Z", from: "/rig.json", pitch: 0.3, yaw: -0.2, roll: 0.5 };
const DEGREES = 180 / Math.PI;

const project = ([x, y, z]: Vector3, [f, , cx, , , , cy]: readonly number[]) => [
  (f! * x) / z + cx!,
  (f! * y) / z + cy!,
];

describe.each([
  ["barrel", barrel],
  ["convergent", convergent],
] as const)("%s", (_, before) => {
  test("points that the turned rig sees are on one row again, at their true depth", () => {
    const { R2 } = rectify(before);
    // The rectified right camera turned.
    const { pitch, yaw, roll } = CORRECTION;
    const turn = rotationMatrix([pitch / DEGREES, yaw / DEGREES, roll / DEGREES]);
    const happened = multiply(transpose(R2), multiply(turn, R2)) as Matrix3;
    const corrected = correctedCalibration(before, { R2 }, CORRECTION);
    const { R1, R2: R2Now, P1, P2, focalPixels, baselineMetres, disparityOffsetPixels } = rectify(corrected);
    for (const point of [
      [0.2, -0.1, 1],
      [-0.4, 0.3, 2.5],
      [1, 0.8, 6],
    ] as Vector3[]) {
      const x = apply(before.R, point).map((value, at) => value + before.T[at]!) as unknown as Vector3;
      const left = project(apply(R1, point), P1);
      const right = project(apply(R2Now, apply(happened, x)), P2);
      expect(right[1]).toBeCloseTo(left[1]!, 9);
      const depth = (focalPixels * baselineMetres) / (left[0]! - right[0]! + disparityOffsetPixels);
      expect(depth).toBeCloseTo(apply(R1, point)[2], 9);
    }
    // The same rig without the correction has rows apart.
    const stale = rectify(before);
    const point: Vector3 = [0.2, -0.1, 1];
    const x = apply(before.R, point).map((value, at) => value + before.T[at]!) as unknown as Vector3;
    const rows =
      project(apply(stale.R2, apply(happened, x)), stale.P2)[1]! -
      project(apply(stale.R1, point), stale.P1)[1]!;
    expect(Math.abs(rows)).toBeGreaterThan(2);
  });

  test("its file keeps every correction, and leaves out a rectification that fits no more", () => {
    const { R1, R2, P1, P2 } = rectify(before);
    const given = withHash({ ...before, given: { R1, R2, P1, P2 } });
    const once = correctedCalibration(given, { R2 }, CORRECTION);
    const twice = correctedCalibration(once, rectify(once), {
      ...CORRECTION,
      from: "/once.json",
      roll: -0.5,
    });
    const text = stringifyCalibration(twice);
    const { calibration } = parseStereoCalibration(text, "twice.json");
    expect(calibration.hash).toBe(twice.hash);
    expect(calibration.hash).not.toBe(given.hash);
    expect(calibration.given).toBeUndefined();
    expect(calibration.corrections!.map(({ from }) => from)).toEqual(["/rig.json", "/once.json"]);
  });
});
