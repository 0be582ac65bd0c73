// SPDX-License-Identifier: Apache-2.0
// The small dense float64 algebra of calibration: Cholesky, the smallest eigenvector, rotations. Row-major throughout.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace depthwatt::calibrate {

using Matrix3 = std::array<double, 9>;
using Vector3 = std::array<double, 3>;

Matrix3 multiply(const Matrix3& a, const Matrix3& b);
Matrix3 transpose(const Matrix3& a);
Vector3 transformed(const Matrix3& a, const Vector3& v);
double determinant(const Matrix3& a);
/// Returns the inverse by cofactors. The determinant must not be 0.
Matrix3 inverse(const Matrix3& a);
Vector3 cross(const Vector3& a, const Vector3& b);
double length(const Vector3& v);

/// Returns the rotation by |v| radians about v (Rodrigues' formula).
Matrix3 rotationMatrix(const Vector3& v);
/// Returns the orthogonal factor of the polar decomposition by Newton's iteration (Higham 1986, eq. 3.1).
Matrix3 nearestRotation(const Matrix3& a);

/// Solves A x = b for `columns` right-hand sides at once, A symmetric and positive definite, n x n; b is n x columns
/// and becomes x, A becomes its Cholesky factor. Returns false if A is not positive definite.
bool solvePositive(double* a, int n, double* b, int columns);

/// Returns the eigenvector of the smallest eigenvalue of a symmetric n x n matrix, of length 1 (Jacobi's rotations).
std::vector<double> smallestEigenvector(std::vector<double> a, int n);

}  // namespace depthwatt::calibrate
