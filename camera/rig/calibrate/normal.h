// SPDX-License-Identifier: Apache-2.0
// The normal equations of an adjustment: residuals and their derivatives, the blocks of their sums, and the elimination
// of the poses view by view. A pose affects only its own view's corners (Schur complement), so the remaining system has
// at most 30 unknowns for a pair, and 18 more for each further camera.
#pragma once

#include <array>
#include <vector>

#include "bundle.h"

namespace depthwatt::calibrate {

constexpr int kPose = 6;
constexpr int kMaxGlobal = kMaxLens + (kMaxCameras - 1) * (kMaxLens + kPose);

/// Offsets of the groups of parameters that all views share.
struct Layout {
  explicit Layout(const Solution& s) {
    for (size_t camera = 0; camera < s.lens.size(); ++camera) {
      lens[camera] = size;
      size += s.lens[camera].size();
      rig[camera] = size;
      if (camera > 0) size += kPose;
    }
  }
  std::array<int, kMaxCameras> lens{};
  std::array<int, kMaxCameras> rig{};  ///< of each camera but the first
  int size = 0;
};

/// Derivatives of a corner's residual by the pose of its board: 2 x kPose. A type, so that no caller has a smaller array.
using PoseDerivatives = std::array<double, 2 * kPose>;

/// Computes the residual of one corner and its derivatives by all globals (2 x layout.size) and by its board's pose.
bool evaluateResidual(const Solution& s, const Layout& layout, const Observation& o, double (&r)[2], double* byGlobal,
                      PoseDerivatives* byPose);

/// Returns Huber's cost of a distance, and the weight of its square.
double huber(double distance2, double limit, double& weight);

/// The normal equations in blocks.
struct Normal {
  explicit Normal(int globals, int views)
      : n(globals), a(static_cast<size_t>(n) * n), g(static_cast<size_t>(n)), w(static_cast<size_t>(views) * n * kPose),
        v(static_cast<size_t>(views) * kPose * kPose), gv(static_cast<size_t>(views) * kPose) {}
  int n;
  std::vector<double> a, g;  ///< globals: n x n and n
  std::vector<double> w;     ///< globals by pose, n x 6 a view
  std::vector<double> v;     ///< poses, 6 x 6 a view
  std::vector<double> gv;    ///< 6 a view
};

/// Fills `out`. Returns false if a used corner cannot be projected.
bool accumulate(const Problem& problem, const Solution& s, const Layout& layout, double limit, Normal& out);

/// Computes the Schur complement and its right side with the damping `lambda`, without views whose block is singular
/// (no used corner).
void eliminate(const Normal& normal, double lambda, std::vector<double>& s, std::vector<double>& b,
               std::vector<double>& solved);

/// Computes the quality of the adjustment (uncertainty.cc): residuals, rms and covariance of `s`.
void finish(const Problem& problem, const Layout& layout, Solution& s);

}  // namespace depthwatt::calibrate
