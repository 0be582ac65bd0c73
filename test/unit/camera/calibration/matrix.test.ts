// SPDX-License-Identifier: Apache-2.0
// The algebra of stereo geometry, by hand.
import { expect, test } from "vitest";
import {
  apply,
  cross,
  determinant,
  IDENTITY3,
  inverse,
  length,
  type Matrix3,
  multiply,
  nearestRotation,
  orthonormalityError,
  rotationMatrix,
  rotationVector,
  transpose,
  type Vector3,
} from "../../../../camera/calibration/matrix.js";

const A: Matrix3 = [2, 3, 5, 7, 11, 13, 17, 19, 23];
const B: Matrix3 = [1, -2, 0, 4, 3, -1, 0, 5, 6];

const expectNear = (got: readonly number[], expected: readonly number[], digits = 12) => {
  expect(got).toHaveLength(expected.length);
  for (const [i, value] of expected.entries()) expect(got[i], `element ${i}`).toBeCloseTo(value, digits);
};

test("products, the transpose and the determinant", () => {
  expect(multiply(A, B)).toEqual([14, 30, 27, 51, 84, 67, 93, 138, 119]);
  expect(transpose(A)).toEqual([2, 7, 17, 3, 11, 19, 5, 13, 23]);
  expect(apply(A, [1, -1, 2])).toEqual([9, 22, 44]);
  expect(determinant(A)).toBe(-78);
  expect(determinant(B)).toBe(71);
  expect(cross([1, 2, 3], [4, 5, 7])).toEqual([-1, 5, -3]);
  expect(length([2, -3, 6])).toBe(7);
});

test("the inverse undoes a matrix from either side", () => {
  expectNear(multiply(inverse(A), A), IDENTITY3);
  expectNear(multiply(B, inverse(B)), IDENTITY3);
  expectNear(inverse([2, 0, 0, 0, 4, 0, 0, 0, 5]), [0.5, 0, 0, 0, 0.25, 0, 0, 0, 0.2]);
});

test.each<[string, Vector3, Matrix3]>([
  ["x", [Math.PI / 2, 0, 0], [1, 0, 0, 0, 0, -1, 0, 1, 0]],
  ["y", [0, Math.PI / 2, 0], [0, 0, 1, 0, 1, 0, -1, 0, 0]],
  ["z", [0, 0, Math.PI / 2], [0, -1, 0, 1, 0, 0, 0, 0, 1]],
])("a quarter turn about %s, and back to its vector", (_, vector, matrix) => {
  expectNear(rotationMatrix(vector), matrix);
  expectNear(rotationVector(matrix), vector);
});

test.each<[Vector3, Matrix3]>([
  [
    [Math.PI, 0, 0],
    [1, 0, 0, 0, -1, 0, 0, 0, -1],
  ],
  [
    [0, Math.PI, 0],
    [-1, 0, 0, 0, 1, 0, 0, 0, -1],
  ],
  [
    [0, 0, Math.PI],
    [-1, 0, 0, 0, -1, 0, 0, 0, 1],
  ],
  [
    [0, 0.6 * Math.PI, 0.8 * Math.PI],
    [-1, 0, 0, 0, -0.28, 0.96, 0, 0.96, 0.28],
  ],
])("half a turn has an axis, too: %j", (vector, matrix) => {
  expectNear(rotationVector(matrix), vector);
  expectNear(rotationMatrix(vector), matrix);
});

test("a turn as small as a rounding error, and none", () => {
  expect(rotationMatrix([0, 0, 0])).toBe(IDENTITY3);
  expect(rotationVector(IDENTITY3)).toEqual([0, 0, 0]);
  for (const angle of [1e-12, 1e-8, 1e-3]) {
    const [x, y, z] = rotationVector(rotationMatrix([0, angle, 0]));
    expect([x, z]).toEqual([0, 0]);
    expect(y! / angle).toBeCloseTo(1, 6);
  }
});

test("the nearest rotation takes the stretch out and keeps the turn", () => {
  const turn = rotationMatrix([0.2, -0.1, 0.3]);
  expect(nearestRotation(turn)).toBe(turn);
  // M = R S with a symmetric S: the nearest rotation is R (Higham 1986).
  const stretched = multiply(turn, [1.001, 0.0003, 0, 0.0003, 0.999, 0.0002, 0, 0.0002, 1.0005]);
  expect(orthonormalityError(stretched)).toBeCloseTo(2 * 0.001 + 0.001 ** 2 + 0.0003 ** 2, 12);
  expectNear(nearestRotation(stretched), turn, 14);
  expect(orthonormalityError(nearestRotation(stretched))).toBeLessThan(4e-15);
});
