// SPDX-License-Identifier: Apache-2.0
// Levenberg and Marquardt's method over lenses, rig and poses; see bundle.h.
#include "bundle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "normal.h"

namespace depthwatt::calibrate {
namespace {

constexpr int kMaxIterations = 200;

Pose moved(const Pose& pose, const double* step) {
  const Matrix3 turn = rotationMatrix({step[0], step[1], step[2]});
  return {nearestRotation(multiply(turn, pose.R)), {pose.t[0] + step[3], pose.t[1] + step[4], pose.t[2] + step[5]}};
}

double robustCost(const Problem& problem, const Solution& s, const Layout& layout, double limit) {
  double cost = 0;
  for (const Observation& o : problem.observations) {
    if (!o.used) continue;
    double r[2], weight;
    if (!evaluateResidual(s, layout, o, r, nullptr, nullptr)) return std::numeric_limits<double>::infinity();
    cost += huber(r[0] * r[0] + r[1] * r[1], limit, weight);
  }
  return cost;
}

Solution stepped(const Solution& from, const Layout& layout, const std::vector<double>& global,
                 const std::vector<double>& solved) {
  Solution to = from;
  const int n = layout.size;
  for (size_t camera = 0; camera < to.lens.size(); ++camera) {
    Lens& lens = to.lens[camera];
    for (int i = 0; i < lens.size(); ++i) {
      lens.p[static_cast<size_t>(i)] += global[static_cast<size_t>(layout.lens[camera] + i)];
    }
    if (camera > 0) to.rigs[camera - 1] = moved(from.rigs[camera - 1], global.data() + layout.rig[camera]);
  }
  for (size_t view = 0; view < to.poses.size(); ++view) {
    const double* x = solved.data() + view * kPose * (n + 1);
    double step[kPose];
    for (int k = 0; k < kPose; ++k) {
      step[k] = x[k * (n + 1) + n];
      for (int i = 0; i < n; ++i) step[k] -= x[k * (n + 1) + i] * global[static_cast<size_t>(i)];
    }
    to.poses[view] = moved(from.poses[view], step);
  }
  return to;
}

bool sane(const Problem& problem, const Solution& s) {
  for (size_t c = 0; c < problem.cameras.size(); ++c) {
    const auto& p = s.lens[c].p;
    const double side = std::max(problem.cameras[c].width, problem.cameras[c].height);
    if (!(p[0] > 0.05 * side && p[0] < 100 * side && p[1] > 0.05 * side && p[1] < 100 * side)) return false;
    for (double value : p) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

/// Runs to convergence with one Huber limit. Returns false if the initial values cannot be projected.
bool descend(const Problem& problem, const Layout& layout, double limit, int rounds, Solution& s) {
  double cost = robustCost(problem, s, layout, limit);
  if (!std::isfinite(cost)) return false;
  Normal normal(layout.size, problem.views);
  std::vector<double> system, right, solved;
  double lambda = 1e-3;
  int flat = 0;
  for (int round = 0; round < rounds; ++round) {
    if (!accumulate(problem, s, layout, limit, normal)) return false;
    bool better = false;
    for (int attempt = 0; attempt < 12 && !better; ++attempt) {
      eliminate(normal, lambda, system, right, solved);
      // Fixed parameters have no equation: their step is 0.
      for (int i = 0; i < layout.size; ++i) {
        double& d = system[static_cast<size_t>(i) * layout.size + i];
        if (normal.a[static_cast<size_t>(i) * layout.size + i] == 0) d = 1;
      }
      if (solvePositive(system.data(), layout.size, right.data(), 1)) {
        Solution next = stepped(s, layout, right, solved);
        const double after =
            sane(problem, next) ? robustCost(problem, next, layout, limit) : std::numeric_limits<double>::infinity();
        if (after <= cost) {
          flat = cost - after < 1e-10 * cost ? flat + 1 : 0;
          s = std::move(next);
          cost = after;
          better = true;
          lambda = std::max(lambda / 10, 1e-12);
          break;
        }
      }
      lambda *= 10;
    }
    ++s.iterations;
    if (!better || flat >= 2) break;
  }
  return true;
}

double medianDistance(const Problem& problem, const Solution& s, const Layout& layout) {
  std::vector<double> all;
  for (const Observation& o : problem.observations) {
    double r[2];
    if (o.used && evaluateResidual(s, layout, o, r, nullptr, nullptr)) all.push_back(std::hypot(r[0], r[1]));
  }
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

Status adjust(const Problem& problem, Solution& s) {
  const Layout layout(s);
  const auto failed = [] {
    return Status::error(Code::kFailed, "The corners fit no camera: the adjustment found no beginning.");
  };
  s.iterations = 0;
  if (problem.robust) {
    // A rough run first, so that the limit reflects the noise and not poor initial values.
    if (!descend(problem, layout, 0, 10, s)) return failed();
    for (int round = 0; round < 4; ++round) {
      const double limit = std::max(0.05, 2.5 * medianDistance(problem, s, layout) / 1.1774);
      if (!descend(problem, layout, limit, 30, s)) return failed();
    }
  } else if (!descend(problem, layout, 0, kMaxIterations, s)) {
    return failed();
  }
  finish(problem, layout, s);
  return {};
}

}  // namespace depthwatt::calibrate
