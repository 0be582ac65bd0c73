// SPDX-License-Identifier: Apache-2.0
// The uncertainty of an adjustment: the covariance of its parameters, and the depth error from it; see bundle.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "normal.h"

namespace depthwatt::calibrate {

void finish(const Problem& problem, const Layout& layout, Solution& s) {
  s.residuals.assign(2 * problem.observations.size(), std::numeric_limits<double>::quiet_NaN());
  double sum = 0;
  size_t used = 0;
  for (size_t i = 0; i < problem.observations.size(); ++i) {
    const Observation& o = problem.observations[i];
    double r[2];
    if (!evaluateResidual(s, layout, o, r, nullptr, nullptr)) continue;
    s.residuals[2 * i] = r[0];
    s.residuals[2 * i + 1] = r[1];
    if (!o.used) continue;
    sum += r[0] * r[0] + r[1] * r[1];
    ++used;
  }
  s.rms = used == 0 ? 0 : std::sqrt(sum / static_cast<double>(used));
  s.parameters = layout.size;
  s.covariance.clear();
  Normal normal(layout.size, problem.views);
  std::vector<double> system, right, solved;
  const double freedom = 2.0 * static_cast<double>(used) - layout.size - kPose * static_cast<double>(problem.views);
  if (!(freedom > 0) || !accumulate(problem, s, layout, 0, normal)) return;
  eliminate(normal, 0, system, right, solved);
  const int n = layout.size;
  // Pixels and coefficients differ by many powers of ten, so the matrix is scaled to a diagonal of 1 before it is
  // inverted.
  std::vector<double> scale(static_cast<size_t>(n)), inverse(static_cast<size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    double& d = system[static_cast<size_t>(i) * n + i];
    const bool held = normal.a[static_cast<size_t>(i) * n + i] == 0;
    if (held) d = 1;
    if (!(d > 0)) return;
    scale[static_cast<size_t>(i)] = 1 / std::sqrt(d);
  }
  for (int i = 0; i < n; ++i) {
    inverse[static_cast<size_t>(i) * n + i] = 1;
    for (int j = 0; j < n; ++j) {
      system[static_cast<size_t>(i) * n + j] *= scale[static_cast<size_t>(i)] * scale[static_cast<size_t>(j)];
    }
  }
  // Rational coefficients can compensate each other to the last digit. The smallest ridge that makes the matrix
  // invertible keeps the determined directions, and leaves the others as uncertain as float64 allows.
  const std::vector<double> identity = inverse, scaled = system;
  bool invertible = false;
  for (double ridge = 0; ridge < 1e-7 && !invertible; ridge = ridge == 0 ? 1e-14 : ridge * 10) {
    system = scaled;
    inverse = identity;
    for (int i = 0; i < n; ++i) system[static_cast<size_t>(i) * n + i] += ridge;
    invertible = solvePositive(system.data(), n, inverse.data(), n);
  }
  if (!invertible) return;
  const double variance = sum / freedom;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      inverse[static_cast<size_t>(i) * n + j] *=
          variance * scale[static_cast<size_t>(i)] * scale[static_cast<size_t>(j)];
    }
  }
  for (int i = 0; i < n; ++i) {
    if (normal.a[static_cast<size_t>(i) * n + i] == 0) inverse[static_cast<size_t>(i) * n + i] = 0;
  }
  s.covariance = std::move(inverse);
}

bool depthDeviation(const Solution& s, const Vector3& point, double disparityPixels, double out[2]) {
  if (s.covariance.empty() || s.lens.size() < 2) return false;
  const Layout layout(s);
  if (s.parameters != layout.size) return false;
  // The point as a board of one corner: its derivative by a shift is the derivative by its place.
  Solution here;
  here.lens = s.lens;
  here.rigs = s.rigs;
  here.poses = {{Matrix3{1, 0, 0, 0, 1, 0, 0, 0, 1}, point}};
  const int n = layout.size;
  double a[12], byGlobal[4 * kMaxGlobal];
  for (int camera = 0; camera < 2; ++camera) {
    Observation o;
    o.camera = camera;
    double r[2];
    PoseDerivatives byPose;
    if (!evaluateResidual(here, layout, o, r, byGlobal + camera * 2 * n, &byPose)) return false;
    for (int row = 0; row < 2; ++row) std::copy_n(byPose.data() + row * kPose + 3, 3, a + (2 * camera + row) * 3);
  }
  // Point = argmin |pixels - projection|: its derivative is (A^T A)^-1 A^T by the pixels and minus that times B by the
  // globals.
  Matrix3 ata{};
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) ata[static_cast<size_t>(3 * i + j)] += a[3 * row + i] * a[3 * row + j];
    }
  }
  if (!(determinant(ata) > 0)) return false;
  const Matrix3 back = inverse(ata);
  double z[4];  // of depth by the four pixel coordinates
  for (int row = 0; row < 4; ++row) {
    z[row] = back[6] * a[3 * row] + back[7] * a[3 * row + 1] + back[8] * a[3 * row + 2];
  }
  std::vector<double> gradient(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (int row = 0; row < 4; ++row) gradient[static_cast<size_t>(i)] -= z[row] * byGlobal[row * n + i];
  }
  double variance = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      variance += gradient[static_cast<size_t>(i)] * s.covariance[static_cast<size_t>(i) * n + j] *
                  gradient[static_cast<size_t>(j)];
    }
  }
  out[0] = std::sqrt(std::max(variance, 0.0));
  out[1] = std::fabs(z[2]) * disparityPixels;
  return true;
}

}  // namespace depthwatt::calibrate
