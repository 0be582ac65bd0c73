// SPDX-License-Identifier: Apache-2.0
// The small float64 algebra of stereo geometry: 3x3 matrices, rotation vectors, nearest rotation.

export type Vector3 = readonly [number, number, number];
/** Row-major 3x3. */
export type Matrix3 = readonly [number, number, number, number, number, number, number, number, number];

export const IDENTITY3: Matrix3 = [1, 0, 0, 0, 1, 0, 0, 0, 1];

export function multiply(a: Matrix3, b: Matrix3): Matrix3 {
  const cell = (row: number, column: number): number =>
    a[3 * row]! * b[column]! + a[3 * row + 1]! * b[3 + column]! + a[3 * row + 2]! * b[6 + column]!;
  return [
    cell(0, 0),
    cell(0, 1),
    cell(0, 2),
    cell(1, 0),
    cell(1, 1),
    cell(1, 2),
    cell(2, 0),
    cell(2, 1),
    cell(2, 2),
  ];
}

export function transpose(m: Matrix3): Matrix3 {
  return [m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]];
}

export function apply(m: Matrix3, v: Vector3): Vector3 {
  return [
    m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
    m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
    m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
  ];
}

export function cross(a: Vector3, b: Vector3): Vector3 {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

export function scale(v: Vector3, factor: number): Vector3 {
  return [v[0] * factor, v[1] * factor, v[2] * factor];
}

export function length(v: Vector3): number {
  return Math.hypot(v[0], v[1], v[2]);
}

export function determinant(m: Matrix3): number {
  return (
    m[0] * (m[4] * m[8] - m[5] * m[7]) -
    m[1] * (m[3] * m[8] - m[5] * m[6]) +
    m[2] * (m[3] * m[7] - m[4] * m[6])
  );
}

/** The inverse by cofactors. The caller guarantees a determinant that is not 0. */
export function inverse(m: Matrix3): Matrix3 {
  const d = determinant(m);
  return [
    (m[4] * m[8] - m[5] * m[7]) / d,
    (m[2] * m[7] - m[1] * m[8]) / d,
    (m[1] * m[5] - m[2] * m[4]) / d,
    (m[5] * m[6] - m[3] * m[8]) / d,
    (m[0] * m[8] - m[2] * m[6]) / d,
    (m[2] * m[3] - m[0] * m[5]) / d,
    (m[3] * m[7] - m[4] * m[6]) / d,
    (m[1] * m[6] - m[0] * m[7]) / d,
    (m[0] * m[4] - m[1] * m[3]) / d,
  ];
}

/** Largest entry of |M^T M - I|: 0 for an orthonormal matrix. */
export function orthonormalityError(m: Matrix3): number {
  const product = multiply(transpose(m), m);
  return Math.max(...product.map((value, index) => Math.abs(value - IDENTITY3[index]!)));
}

/**
 * The rotation nearest to `m` (the orthogonal factor of its polar decomposition): files round their digits. Newton's
 * iteration M <- (M + M^-T) / 2 (Higham 1986, eq. 3.1) converges quadratically from a matrix this close to a rotation.
 */
export function nearestRotation(m: Matrix3): Matrix3 {
  // As near as float64 gets: left bit for bit as it is, so that a file written by us reads back with the same hash.
  if (orthonormalityError(m) < 4e-15) return m;
  let current = m;
  for (let step = 0; step < 20; step++) {
    const inverted = transpose(inverse(current));
    const next = current.map((value, index) => (value + inverted[index]!) / 2) as unknown as Matrix3;
    const change = Math.max(...next.map((value, index) => Math.abs(value - current[index]!)));
    current = next;
    if (change < 1e-15) break;
  }
  return current;
}

/** Rotation vector (axis times angle, radians, angle in 0..pi) of a rotation matrix. */
export function rotationVector(m: Matrix3): Vector3 {
  const axis: Vector3 = [(m[7] - m[5]) / 2, (m[2] - m[6]) / 2, (m[3] - m[1]) / 2];
  const sine = length(axis);
  const cosine = (m[0] + m[4] + m[8] - 1) / 2;
  const angle = Math.atan2(sine, cosine);
  if (sine > 1e-9) return scale(axis, angle / sine);
  if (cosine > 0) return axis;
  // Half a turn: the axis is a column of (M + I) / 2, the longest one for precision.
  const columns: Vector3[] = [
    [m[0] + 1, m[3], m[6]],
    [m[1], m[4] + 1, m[7]],
    [m[2], m[5], m[8] + 1],
  ];
  const longest = columns.reduce((best, column) => (length(column) > length(best) ? column : best));
  return scale(longest, angle / length(longest));
}

/** Rotation matrix of a rotation vector (Rodrigues' formula). */
export function rotationMatrix(v: Vector3): Matrix3 {
  const angle = length(v);
  if (angle < 1e-300) return IDENTITY3;
  const [x, y, z] = scale(v, 1 / angle);
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const rest = 1 - cosine;
  return [
    cosine + rest * x * x,
    rest * x * y - sine * z,
    rest * x * z + sine * y,
    rest * x * y + sine * z,
    cosine + rest * y * y,
    rest * y * z - sine * x,
    rest * x * z - sine * y,
    rest * y * z + sine * x,
    cosine + rest * z * z,
  ];
}
