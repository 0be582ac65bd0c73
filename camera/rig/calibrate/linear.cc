// SPDX-License-Identifier: Apache-2.0
// Small dense algebra; see linear.h.
#include "linear.h"

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {

Matrix3 multiply(const Matrix3& a, const Matrix3& b) {
  Matrix3 out{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    }
  }
  return out;
}

Matrix3 transpose(const Matrix3& a) { return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]}; }

Vector3 transformed(const Matrix3& a, const Vector3& v) {
  return {a[0] * v[0] + a[1] * v[1] + a[2] * v[2], a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
          a[6] * v[0] + a[7] * v[1] + a[8] * v[2]};
}

double determinant(const Matrix3& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

Matrix3 inverse(const Matrix3& m) {
  const double d = 1 / determinant(m);
  return {(m[4] * m[8] - m[5] * m[7]) * d, (m[2] * m[7] - m[1] * m[8]) * d, (m[1] * m[5] - m[2] * m[4]) * d,
          (m[5] * m[6] - m[3] * m[8]) * d, (m[0] * m[8] - m[2] * m[6]) * d, (m[2] * m[3] - m[0] * m[5]) * d,
          (m[3] * m[7] - m[4] * m[6]) * d, (m[1] * m[6] - m[0] * m[7]) * d, (m[0] * m[4] - m[1] * m[3]) * d};
}

Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double length(const Vector3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

Matrix3 rotationMatrix(const Vector3& v) {
  const double angle = length(v);
  // Below this angle, sin and 1 - cos equal their first terms to the last bit.
  const double s = angle < 1e-9 ? 1 : std::sin(angle) / angle;
  const double c = angle < 1e-9 ? 0.5 : (1 - std::cos(angle)) / (angle * angle);
  const double x = v[0], y = v[1], z = v[2];
  return {1 - c * (y * y + z * z), c * x * y - s * z,       c * x * z + s * y,
          c * x * y + s * z,       1 - c * (x * x + z * z), c * y * z - s * x,
          c * x * z - s * y,       c * y * z + s * x,       1 - c * (x * x + y * y)};
}

Matrix3 nearestRotation(const Matrix3& a) {
  Matrix3 current = a;
  for (int step = 0; step < 50; ++step) {
    const Matrix3 inverted = transpose(inverse(current));
    double change = 0;
    for (size_t i = 0; i < 9; ++i) {
      const double next = (current[i] + inverted[i]) / 2;
      change = std::max(change, std::fabs(next - current[i]));
      current[i] = next;
    }
    if (!(change > 1e-15)) break;
  }
  return current;
}

bool solvePositive(double* a, int n, double* b, int columns) {
  for (int j = 0; j < n; ++j) {
    double d = a[j * n + j];
    for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k];
    if (!(d > 0) || !std::isfinite(d)) return false;
    d = std::sqrt(d);
    a[j * n + j] = d;
    for (int i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (int k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / d;
    }
  }
  for (int c = 0; c < columns; ++c) {
    for (int i = 0; i < n; ++i) {
      double sum = b[i * columns + c];
      for (int k = 0; k < i; ++k) sum -= a[i * n + k] * b[k * columns + c];
      b[i * columns + c] = sum / a[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
      double sum = b[i * columns + c];
      for (int k = i + 1; k < n; ++k) sum -= a[k * n + i] * b[k * columns + c];
      b[i * columns + c] = sum / a[i * n + i];
    }
  }
  return true;
}

std::vector<double> smallestEigenvector(std::vector<double> a, int n) {
  std::vector<double> v(static_cast<size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) v[static_cast<size_t>(i) * n + i] = 1;
  const auto at = [n](std::vector<double>& m, int r, int c) -> double& { return m[static_cast<size_t>(r) * n + c]; };
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, diagonal = 0;
    for (int p = 0; p < n; ++p) {
      diagonal += at(a, p, p) * at(a, p, p);
      for (int q = p + 1; q < n; ++q) off += at(a, p, q) * at(a, p, q);
    }
    if (off <= 1e-30 * diagonal) break;
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (at(a, p, q) == 0) continue;
        const double theta = (at(a, q, q) - at(a, p, p)) / (2 * at(a, p, q));
        const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double kp = at(a, k, p), kq = at(a, k, q);
          at(a, k, p) = c * kp - s * kq;
          at(a, k, q) = s * kp + c * kq;
        }
        for (int k = 0; k < n; ++k) {
          const double pk = at(a, p, k), qk = at(a, q, k);
          at(a, p, k) = c * pk - s * qk;
          at(a, q, k) = s * pk + c * qk;
        }
        for (int k = 0; k < n; ++k) {
          const double kp = at(v, k, p), kq = at(v, k, q);
          at(v, k, p) = c * kp - s * kq;
          at(v, k, q) = s * kp + c * kq;
        }
      }
    }
  }
  int best = 0;
  for (int i = 1; i < n; ++i) {
    if (at(a, i, i) < at(a, best, best)) best = i;
  }
  std::vector<double> out(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) out[static_cast<size_t>(i)] = at(v, i, best);
  return out;
}

}  // namespace depthwatt::calibrate
