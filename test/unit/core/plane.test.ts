// SPDX-License-Identifier: Apache-2.0
// A plane fitted to depths: one by hand, one with noise of a known size, and samples that give none.
import { expect, test } from "vitest";
import { type DepthSample, fitPlane } from "../../../core/index.js";
import { seededRandom } from "../../doubles/rvl-pictures.js";

/** 1/z = a u + b v + c over a square of rays. */
function planeSamples(a: number, b: number, c: number, noise = () => 0): DepthSample[] {
  const steps = [-0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4];
  return steps.flatMap((u) => steps.map((v) => ({ u, v, depthMetres: 1 / (a * u + b * v + c + noise()) })));
}

test("a wall at 2 m, turned by 45 degrees", () => {
  const plane = fitPlane(planeSamples(0.5, 0, 0.5))!;
  expect(plane.distanceMetres).toBeCloseTo(2, 9);
  expect(plane.angleDegrees).toBeCloseTo(45, 9);
  expect(plane.rmsMetres).toBeCloseTo(0, 9);
});

test("noise of the inverse depth is the RMS", () => {
  const random = seededRandom(3);
  const plane = fitPlane(planeSamples(0.01, -0.02, 0.5, () => (random() < 0.5 ? -0.001 : 0.001)))!;
  expect(plane.rmsInverse).toBeGreaterThan(0.0009);
  expect(plane.rmsInverse).toBeLessThanOrEqual(0.001);
  // dz = z^2 d(1/z): 4 mm at 2 m.
  expect(plane.rmsMetres).toBeGreaterThan(0.0035);
  expect(plane.rmsMetres).toBeLessThan(0.0045);
});

test("too few samples, or samples on a line, give no plane", () => {
  const line = [0, 0.1, 0.2, 0.3].map((u) => ({ u, v: 2 * u, depthMetres: 2 }));
  expect(fitPlane(line)).toBeUndefined();
  expect(fitPlane(line.slice(0, 2))).toBeUndefined();
});
