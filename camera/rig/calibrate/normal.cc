// SPDX-License-Identifier: Apache-2.0
// Residuals, derivatives and the blocks of the normal equations; see normal.h.
#include "normal.h"

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {
namespace {

/// Computes 2 x 3 times the derivative of (exp(w) R x) by w, which is -[R x] as a cross product.
void byTurn(const double* j, const Vector3& turned, double* out, int stride) {
  for (int row = 0; row < 2; ++row) {
    const double a = j[3 * row], b = j[3 * row + 1], c = j[3 * row + 2];
    double* o = out + row * stride;
    o[0] = c * turned[1] - b * turned[2];
    o[1] = a * turned[2] - c * turned[0];
    o[2] = b * turned[0] - a * turned[1];
  }
}

}  // namespace

bool evaluateResidual(const Solution& s, const Layout& layout, const Observation& o, double (&r)[2], double* byGlobal,
                      PoseDerivatives* byPose) {
  const Pose& pose = s.poses[static_cast<size_t>(o.view)];
  const Vector3 turned = transformed(pose.R, o.object);
  const Vector3 left = {turned[0] + pose.t[0], turned[1] + pose.t[1], turned[2] + pose.t[2]};
  const auto camera = static_cast<size_t>(o.camera);
  const bool other = camera > 0;
  const Lens& lens = s.lens[camera];
  const Pose rig = other ? s.rigs[camera - 1] : Pose{};
  const Vector3 rotated = other ? transformed(rig.R, left) : left;
  const Vector3 point = other ? Vector3{rotated[0] + rig.t[0], rotated[1] + rig.t[1], rotated[2] + rig.t[2]} : left;
  double pixel[2], byPoint[6], byLens[2 * kMaxLens];
  const bool wanted = byGlobal != nullptr;
  if (!project(lens, point, pixel, wanted ? byPoint : nullptr, wanted ? byLens : nullptr)) return false;
  r[0] = o.pixel[0] - pixel[0];
  r[1] = o.pixel[1] - pixel[1];
  if (!wanted) return true;
  const int n = layout.size;
  std::fill(byGlobal, byGlobal + 2 * n, 0.0);
  const int first = layout.lens[camera], pose0 = layout.rig[camera];
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < lens.size(); ++i) byGlobal[row * n + first + i] = byLens[row * lens.size() + i];
  }
  double byLeft[6];
  if (other) {
    byTurn(byPoint, rotated, byGlobal + pose0, n);
    for (int row = 0; row < 2; ++row) {
      for (int i = 0; i < 3; ++i) byGlobal[row * n + pose0 + 3 + i] = byPoint[3 * row + i];
      for (int i = 0; i < 3; ++i) {
        byLeft[3 * row + i] = byPoint[3 * row] * rig.R[static_cast<size_t>(i)] +
                              byPoint[3 * row + 1] * rig.R[static_cast<size_t>(3 + i)] +
                              byPoint[3 * row + 2] * rig.R[static_cast<size_t>(6 + i)];
      }
    }
  } else {
    std::copy(byPoint, byPoint + 6, byLeft);
  }
  byTurn(byLeft, turned, byPose->data(), kPose);
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 3; ++i) (*byPose)[static_cast<size_t>(row * kPose + 3 + i)] = byLeft[3 * row + i];
  }
  return true;
}

double huber(double distance2, double limit, double& weight) {
  weight = 1;
  if (limit <= 0 || distance2 <= limit * limit) return distance2;
  const double distance = std::sqrt(distance2);
  weight = limit / distance;
  return 2 * limit * distance - limit * limit;
}

bool accumulate(const Problem& problem, const Solution& s, const Layout& layout, double limit, Normal& out) {
  for (auto* part : {&out.a, &out.g, &out.w, &out.v, &out.gv}) std::fill(part->begin(), part->end(), 0.0);
  const int n = layout.size;
  double jg[2 * kMaxGlobal], r[2], weight;
  PoseDerivatives jp;
  for (const Observation& o : problem.observations) {
    if (!o.used) continue;
    if (!evaluateResidual(s, layout, o, r, jg, &jp)) return false;
    const auto camera = static_cast<size_t>(o.camera);
    if (problem.withoutK3 && s.lens[camera].model == Model::kRadtan) {
      // The fifth coefficient is the ninth number of the lens.
      jg[layout.lens[camera] + 8] = jg[n + layout.lens[camera] + 8] = 0;
    }
    huber(r[0] * r[0] + r[1] * r[1], limit, weight);
    const auto view = static_cast<size_t>(o.view);
    double* w = out.w.data() + view * n * kPose;
    double* v = out.v.data() + view * kPose * kPose;
    double* gv = out.gv.data() + view * kPose;
    for (int row = 0; row < 2; ++row) {
      const double* g = jg + row * n;
      const double* p = jp.data() + row * kPose;
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

}  // namespace depthwatt::calibrate
