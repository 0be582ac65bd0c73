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

test("a plane that is tilted both ways, from three rays and from any", () => {
  const rays = [
    [0, -0.1],
    [0.1, 0.3],
    [0.4, 0.2],
    [0.2, -0.3],
  ] as const;
  const [a, b, c] = [0.1, -0.2, 0.5];
  for (const count of [3, 4]) {
    const inverses = rays.slice(0, count).map(([u, v]) => a * u + b * v + c);
    const samples = rays.slice(0, count).map(([u, v], i) => ({ u, v, depthMetres: 1 / inverses[i]! }));
    const near = (value: number) => expect.closeTo(value, 10);
    expect(fitPlane(samples)).toEqual({
      a: near(a),
      b: near(b),
      c: near(c),
      distanceMetres: near(count / inverses.reduce((sum, one) => sum + one, 0)),
      // The normal is (a, b, c), whose length is the root of 0.01 + 0.04 + 0.25.
      angleDegrees: near((Math.acos(0.5 / Math.sqrt(0.3)) * 180) / Math.PI),
      rmsMetres: near(0),
      rmsInverse: near(0),
    });
  }
});

test("errors that no plane can follow are its residuals", () => {
  // A saddle at the corners of a square: the best plane is level, and 1/z is off by e at each corner.
  const [level, e] = [0.5, 0.02];
  const samples = [-1, 1].flatMap((u) =>
    [-1, 1].map((v) => ({ u, v, depthMetres: 1 / (level + e * u * v) })),
  );
  const plane = fitPlane(samples)!;
  expect([plane.a, plane.b, plane.c]).toEqual([0, 0, level].map((value) => expect.closeTo(value, 12)));
  expect(plane.angleDegrees).toBeCloseTo(0, 5);
  expect(plane.rmsInverse).toBeCloseTo(e, 12);
  // A point at depth z along the normal is off by z e / c.
  const [near, far] = [1 / 0.52, 1 / 0.48].map((z) => (z * e) / level);
  expect(plane.rmsMetres).toBeCloseTo(Math.sqrt((near! ** 2 + far! ** 2) / 2), 12);
});

test("samples are on one line if they leave it by less than about a 30 000th of their spread", () => {
  const bent = (by: number) =>
    fitPlane([0, 1, 2, 3].map((u) => ({ u, v: u + (u % 2 === 0 ? by : -by), depthMetres: 2 })));
  expect(bent(1e-5)).toBeUndefined();
  expect(bent(1e-4)).toMatchObject({ distanceMetres: expect.closeTo(2, 9) });
  expect(fitPlane([0, 1, 2].map((v) => ({ u: 0, v, depthMetres: 2 })))).toBeUndefined();
});
