// SPDX-License-Identifier: Apache-2.0
// Initial poses of several cameras next to the left one: each is solved alone; the pose that the views agree on counts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "initial.h"

namespace depthwatt::calibrate {
namespace {

Problem only(const Problem& problem, int32_t camera) {
  Problem out = problem;
  out.cameras = {problem.cameras[static_cast<size_t>(camera)]};
  out.observations.clear();
  for (Observation o : problem.observations) {
    if (o.camera != camera) continue;
    o.camera = 0;
    out.observations.push_back(o);
  }
  return out;
}

Pose relative(const Pose& left, const Pose& right) {
  Pose out;
  out.R = multiply(right.R, transpose(left.R));
  const Vector3 turned = transformed(out.R, left.t);
  out.t = {right.t[0] - turned[0], right.t[1] - turned[1], right.t[2] - turned[2]};
  return out;
}

/// The views of one camera, and its solution alone.
struct Alone {
  Views views;
  Solution mono;
};

/// Returns the median, the higher one of two. NaN does not count; the median of nothing is NaN.
double medianOf(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double value) { return std::isnan(value); }),
               values.end());
  std::sort(values.begin(), values.end());
  return values.empty() ? std::nan("") : values[values.size() / 2];
}

/// Finds the pose of `other` next to the left camera: each view gives one; the one with the best median over all views.
/// `distances`: rms distance of each view's corners with that pose, pixels; infinite where no pose fits, NaN where a
/// camera has no view. Returns false if no view fits both.
bool estimateRig(const Alone& left, const Alone& other, Pose& rig, std::vector<double>& distances) {
  const Lens& lens = other.mono.lens[0];
  const size_t count = left.views.size();
  double bestCost = std::numeric_limits<double>::infinity();
  const auto shared = [&](size_t v) { return !left.views[v].empty() && !other.views[v].empty(); };
  for (size_t v = 0; v < count; ++v) {
    if (!shared(v)) continue;
    const Pose candidate = relative(left.mono.poses[v], other.mono.poses[v]);
    std::vector<double> here(count, std::nan(""));
    for (size_t w = 0; w < count; ++w) {
      if (!shared(w)) continue;
      const Pose& board = left.mono.poses[w];
      const Vector3 t = transformed(candidate.R, board.t);
      const Pose seen = {multiply(candidate.R, board.R),
                         {t[0] + candidate.t[0], t[1] + candidate.t[1], t[2] + candidate.t[2]}};
      here[w] = std::sqrt(poseCost(lens, other.views[w], seen) / static_cast<double>(other.views[w].size()));
    }
    const double cost = medianOf(here);
    if (cost < bestCost) {
      bestCost = cost;
      rig = candidate;
      distances = std::move(here);
    }
  }
  return std::isfinite(bestCost);
}

}  // namespace

Status solve(const Problem& problem, Solution& s) {
  const size_t cameras = problem.cameras.size();
  if (cameras == 1) return solveMono(problem, s);
  std::vector<Alone> alone(cameras);
  s.lens.clear();
  s.rigs.assign(cameras - 1, {});
  for (size_t c = 0; c < cameras; ++c) {
    const Problem part = only(problem, static_cast<int32_t>(c));
    const Status status = solveMono(part, alone[c].mono);
    if (!status.ok()) return status;
    alone[c].views = groupByView(part);
    s.lens.push_back(alone[c].mono.lens[0]);
  }
  Problem consistent = problem;
  s.poses = alone[0].mono.poses;
  std::vector<bool> has(s.poses.size());
  for (size_t v = 0; v < s.poses.size(); ++v) has[v] = !alone[0].views[v].empty();
  for (size_t c = 1; c < cameras; ++c) {
    Pose& rig = s.rigs[c - 1];
    std::vector<double> distances;
    if (!estimateRig(alone[0], alone[c], rig, distances)) {
      return Status::error(Code::kFailed, "No view shows the board to both cameras in a way that fits both.");
    }
    // A board that moved between the cameras would pull the rig from its place, even with a small weight.
    const double limit = std::max(5 * medianOf(distances), medianOf(distances) + 0.4);
    for (Observation& o : consistent.observations) {
      const bool moved = o.camera == static_cast<int32_t>(c) && distances[static_cast<size_t>(o.view)] > limit;
      if (problem.robust && moved) o.used = false;
    }
    // The pose of a board that the left camera did not observe comes from the first other camera that did.
    for (size_t v = 0; v < s.poses.size(); ++v) {
      if (has[v] || alone[c].views[v].empty()) continue;
      const Matrix3 back = transpose(rig.R);
      const Pose& seen = alone[c].mono.poses[v];
      s.poses[v].R = multiply(back, seen.R);
      s.poses[v].t = transformed(back, {seen.t[0] - rig.t[0], seen.t[1] - rig.t[1], seen.t[2] - rig.t[2]});
      has[v] = true;
    }
  }
  return adjust(consistent, s);
}

}  // namespace depthwatt::calibrate
