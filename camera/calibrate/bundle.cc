// SPDX-License-Identifier: Apache-2.0
// Levenberg and Marquardt's method over lenses, rig and poses; see bundle.h. Each pose meets only its own view's corners, so the
// poses are eliminated view by view (Schur complement) and the system that is solved has at most 30 unknowns.
#include "bundle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace depthwatt::calibrate {
namespace {

constexpr int kPose = 6;
constexpr int kMaxGlobal = 2 * kMaxLens + kPose;
constexpr int kMaxIterations = 200;

Pose moved(const Pose& pose, const double* step) {
  const Matrix3 turn = rotationOf({step[0], step[1], step[2]});
  return {nearestRotation(multiply(turn, pose.R)), {pose.t[0] + step[3], pose.t[1] + step[4], pose.t[2] + step[5]}};
}

/// 2 x 3 times the derivative of (exp(w) R x) by w, which is -[R x] as a cross product.
void byTurn(const double* j, const Vector3& turned, double* out, int stride) {
  for (int row = 0; row < 2; ++row) {
    const double a = j[3 * row], b = j[3 * row + 1], c = j[3 * row + 2];
    double* o = out + row * stride;
    o[0] = c * turned[1] - b * turned[2];
    o[1] = a * turned[2] - c * turned[0];
    o[2] = b * turned[0] - a * turned[1];
  }
}

struct Layout {
  explicit Layout(const Problem& problem, const Solution& s)
      : lens0(0), lens1(s.lens[0].size()), rig(lens1 + (problem.cameras == 2 ? s.lens[1].size() : 0)),
        size(problem.cameras == 2 ? rig + kPose : rig) {}
  int lens0, lens1, rig, size;
};

/// Residual of one corner and its derivatives by all globals (2 x layout.size) and by its board's pose (2 x 6).
bool residualOf(const Solution& s, const Layout& layout, const Observation& o, double r[2], double* byGlobal,
                double* byPose) {
  const Pose& pose = s.poses[static_cast<size_t>(o.view)];
  const Vector3 turned = transformed(pose.R, o.object);
  const Vector3 left = {turned[0] + pose.t[0], turned[1] + pose.t[1], turned[2] + pose.t[2]};
  const bool right = o.camera == 1;
  const Lens& lens = s.lens[o.camera];
  const Vector3 rotated = right ? transformed(s.rig.R, left) : left;
  const Vector3 point =
      right ? Vector3{rotated[0] + s.rig.t[0], rotated[1] + s.rig.t[1], rotated[2] + s.rig.t[2]} : left;
  double pixel[2], byPoint[6], byLens[2 * kMaxLens];
  const bool wanted = byGlobal != nullptr;
  if (!project(lens, point, pixel, wanted ? byPoint : nullptr, wanted ? byLens : nullptr)) return false;
  r[0] = o.pixel[0] - pixel[0];
  r[1] = o.pixel[1] - pixel[1];
  if (!wanted) return true;
  const int n = layout.size;
  std::fill(byGlobal, byGlobal + 2 * n, 0.0);
  const int first = right ? layout.lens1 : layout.lens0;
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < lens.size(); ++i) byGlobal[row * n + first + i] = byLens[row * lens.size() + i];
  }
  double byLeft[6];
  if (right) {
    byTurn(byPoint, rotated, byGlobal + layout.rig, n);
    for (int row = 0; row < 2; ++row) {
      for (int i = 0; i < 3; ++i) byGlobal[row * n + layout.rig + 3 + i] = byPoint[3 * row + i];
      for (int i = 0; i < 3; ++i) {
        byLeft[3 * row + i] = byPoint[3 * row] * s.rig.R[static_cast<size_t>(i)] +
                              byPoint[3 * row + 1] * s.rig.R[static_cast<size_t>(3 + i)] +
                              byPoint[3 * row + 2] * s.rig.R[static_cast<size_t>(6 + i)];
      }
    }
  } else {
    std::copy(byPoint, byPoint + 6, byLeft);
  }
  byTurn(byLeft, turned, byPose, kPose);
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 3; ++i) byPose[row * kPose + 3 + i] = byLeft[3 * row + i];
  }
  return true;
}

/// Huber's cost of a distance, and the weight of its square.
double huber(double distance2, double limit, double& weight) {
  weight = 1;
  if (limit <= 0 || distance2 <= limit * limit) return distance2;
  const double distance = std::sqrt(distance2);
  weight = limit / distance;
  return 2 * limit * distance - limit * limit;
}

double costOf(const Problem& problem, const Solution& s, const Layout& layout, double limit) {
  double cost = 0;
  for (const Observation& o : problem.observations) {
    if (!o.used) continue;
    double r[2], weight;
    if (!residualOf(s, layout, o, r, nullptr, nullptr)) return std::numeric_limits<double>::infinity();
    cost += huber(r[0] * r[0] + r[1] * r[1], limit, weight);
  }
  return cost;
}

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

bool accumulate(const Problem& problem, const Solution& s, const Layout& layout, double limit, Normal& out) {
  for (auto* part : {&out.a, &out.g, &out.w, &out.v, &out.gv}) std::fill(part->begin(), part->end(), 0.0);
  const int n = layout.size;
  double jg[2 * kMaxGlobal], jp[2 * kPose], r[2], weight;
  for (const Observation& o : problem.observations) {
    if (!o.used) continue;
    if (!residualOf(s, layout, o, r, jg, jp)) return false;
    if (problem.withoutK3 && problem.model == Model::kRadtan) {
      // The fifth coefficient, the ninth number of each lens.
      for (const int first : {layout.lens0, layout.lens1}) {
        if (first + 8 < n) jg[first + 8] = jg[n + first + 8] = 0;
        if (problem.cameras == 1) break;
      }
    }
    huber(r[0] * r[0] + r[1] * r[1], limit, weight);
    const auto view = static_cast<size_t>(o.view);
    double* w = out.w.data() + view * n * kPose;
    double* v = out.v.data() + view * kPose * kPose;
    double* gv = out.gv.data() + view * kPose;
    for (int row = 0; row < 2; ++row) {
      const double* g = jg + row * n;
      const double* p = jp + row * kPose;
      for (int i = 0; i < n; ++i) {
        if (g[i] == 0) continue;
        const double x = weight * g[i];
        for (int j = 0; j <= i; ++j) out.a[static_cast<size_t>(i) * n + j] += x * g[j];
        for (int j = 0; j < kPose; ++j) w[i * kPose + j] += x * p[j];
        out.g[static_cast<size_t>(i)] += x * r[row];
      }
      for (int i = 0; i < kPose; ++i) {
        const double x = weight * p[i];
        for (int j = 0; j < kPose; ++j) v[i * kPose + j] += x * p[j];
        gv[i] += x * r[row];
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) out.a[static_cast<size_t>(i) * n + j] = out.a[static_cast<size_t>(j) * n + i];
  }
  return true;
}

/// Schur complement and its right side with the damping `lambda`. Views whose block is singular (no used corner) are left out.
void eliminate(const Normal& normal, double lambda, std::vector<double>& s, std::vector<double>& b,
               std::vector<double>& solved) {
  const int n = normal.n;
  s = normal.a;
  b = normal.g;
  for (int i = 0; i < n; ++i) {
    double& d = s[static_cast<size_t>(i) * n + i];
    d += lambda * d;
  }
  const size_t views = normal.gv.size() / kPose;
  solved.assign(views * kPose * (n + 1), 0.0);  // V^-1 [W^T g], 6 x (n + 1) a view
  for (size_t view = 0; view < views; ++view) {
    double v[kPose * kPose];
    std::copy_n(normal.v.data() + view * kPose * kPose, kPose * kPose, v);
    for (int i = 0; i < kPose; ++i) v[i * kPose + i] *= 1 + lambda;
    const double* w = normal.w.data() + view * n * kPose;
    const double* gv = normal.gv.data() + view * kPose;
    double* x = solved.data() + view * kPose * (n + 1);
    for (int k = 0; k < kPose; ++k) {
      for (int i = 0; i < n; ++i) x[k * (n + 1) + i] = w[i * kPose + k];
      x[k * (n + 1) + n] = gv[k];
    }
    if (!solvePositive(v, kPose, x, n + 1)) {
      std::fill_n(x, kPose * (n + 1), 0.0);
      continue;
    }
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < kPose; ++k) {
        const double wik = w[i * kPose + k];
        if (wik == 0) continue;
        for (int j = 0; j < n; ++j) s[static_cast<size_t>(i) * n + j] -= wik * x[k * (n + 1) + j];
        b[static_cast<size_t>(i)] -= wik * x[k * (n + 1) + n];
      }
    }
  }
}

Solution stepped(const Problem& problem, const Solution& from, const Layout& layout, const std::vector<double>& global,
                 const std::vector<double>& solved) {
  Solution to = from;
  const int n = layout.size;
  for (int i = 0; i < to.lens[0].size(); ++i) to.lens[0].p[static_cast<size_t>(i)] += global[static_cast<size_t>(i)];
  if (problem.cameras == 2) {
    for (int i = 0; i < to.lens[1].size(); ++i) {
      to.lens[1].p[static_cast<size_t>(i)] += global[static_cast<size_t>(layout.lens1 + i)];
    }
    to.rig = moved(from.rig, global.data() + layout.rig);
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
  for (int c = 0; c < problem.cameras; ++c) {
    const auto& p = s.lens[c].p;
    const double side = std::max(problem.width, problem.height);
    if (!(p[0] > 0.05 * side && p[0] < 100 * side && p[1] > 0.05 * side && p[1] < 100 * side)) return false;
    for (double value : p) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

/// Runs to the end with one Huber limit; false where not even the beginning can be projected.
bool descend(const Problem& problem, const Layout& layout, double limit, int rounds, Solution& s) {
  double cost = costOf(problem, s, layout, limit);
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
      // What is held fixed has no equation: its step is 0.
      for (int i = 0; i < layout.size; ++i) {
        double& d = system[static_cast<size_t>(i) * layout.size + i];
        if (normal.a[static_cast<size_t>(i) * layout.size + i] == 0) d = 1;
      }
      if (solvePositive(system.data(), layout.size, right.data(), 1)) {
        Solution next = stepped(problem, s, layout, right, solved);
        const double after =
            sane(problem, next) ? costOf(problem, next, layout, limit) : std::numeric_limits<double>::infinity();
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
    if (o.used && residualOf(s, layout, o, r, nullptr, nullptr)) all.push_back(std::hypot(r[0], r[1]));
  }
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void finish(const Problem& problem, const Layout& layout, Solution& s) {
  s.residuals.assign(2 * problem.observations.size(), std::numeric_limits<double>::quiet_NaN());
  double sum = 0;
  size_t used = 0;
  for (size_t i = 0; i < problem.observations.size(); ++i) {
    const Observation& o = problem.observations[i];
    double r[2];
    if (!residualOf(s, layout, o, r, nullptr, nullptr)) continue;
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
  // Pixels and coefficients differ by many powers of ten: scaled to a diagonal of 1 before it is inverted.
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
  // Rational coefficients can stand in for each other to the last digit: the least ridge that makes the matrix invertible keeps
  // what is determined, and leaves the rest as uncertain as float64 can tell.
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

}  // namespace

Status adjust(const Problem& problem, Solution& s) {
  const Layout layout(problem, s);
  const auto failed = [] {
    return Status::error(Code::kFailed, "The corners fit no camera: the adjustment found no beginning.");
  };
  s.iterations = 0;
  if (problem.robust) {
    // A rough run first, so that the limit is one of the noise and not of a bad beginning.
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

bool depthDeviation(const Solution& s, const Vector3& point, double disparityPixels, double out[2]) {
  if (s.covariance.empty()) return false;
  Problem problem;
  problem.cameras = 2;
  const Layout layout(problem, s);
  if (s.parameters != layout.size) return false;
  // The point as a board of one corner: its derivative by a shift is the derivative by its place.
  Solution here;
  here.lens[0] = s.lens[0];
  here.lens[1] = s.lens[1];
  here.rig = s.rig;
  here.poses = {{Matrix3{1, 0, 0, 0, 1, 0, 0, 0, 1}, point}};
  const int n = layout.size;
  double a[12], byGlobal[4 * kMaxGlobal];
  for (int camera = 0; camera < 2; ++camera) {
    Observation o;
    o.camera = camera;
    double r[2], byPose[2 * kPose];
    if (!residualOf(here, layout, o, r, byGlobal + camera * 2 * n, byPose)) return false;
    for (int row = 0; row < 2; ++row) std::copy_n(byPose + row * kPose + 3, 3, a + (2 * camera + row) * 3);
  }
  // Point = argmin |pixels - projection|: its derivative is (A^T A)^-1 A^T by the pixels and minus that times B by the globals.
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
