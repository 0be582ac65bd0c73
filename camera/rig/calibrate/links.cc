// SPDX-License-Identifier: Apache-2.0
// Builds lattices from corners, by links that both ends agree on; see lattice.h.
#include <algorithm>
#include <cmath>
#include <deque>

#include "angles.h"
#include "lattice.h"

namespace depthwatt::calibrate {
namespace {

constexpr double kLinkAngle = 0.4;  ///< radians between an axis and the line to the neighbour
constexpr size_t kMaxLinked = 1500;
constexpr size_t kNearest = 40;

/// Links of one corner: by axis, then along it (0) or against it (1). -1: none.
struct Links {
  int to[2][2] = {{-1, -1}, {-1, -1}};
};

Links wishes(const std::vector<const Corner*>& corners, size_t at) {
  Links out;
  const Corner& p = *corners[at];
  double best[2][2] = {{1e30, 1e30}, {1e30, 1e30}};
  // Only the nearest corners: a neighbour on the board is among them.
  std::vector<std::pair<double, size_t>> near;
  for (size_t k = 0; k < corners.size(); ++k) {
    const double dx = corners[k]->x - p.x, dy = corners[k]->y - p.y, distance2 = dx * dx + dy * dy;
    if (distance2 >= 9) near.emplace_back(distance2, k);
  }
  if (near.size() > kNearest) {
    std::nth_element(near.begin(), near.begin() + kNearest, near.end());
    near.resize(kNearest);
  }
  for (const auto& [distance2, k] : near) {
    const Corner& q = *corners[k];
    const double dx = q.x - p.x, dy = q.y - p.y, distance = std::sqrt(distance2);
    const double direction = std::atan2(dy, dx);
    for (int axis = 0; axis < 2; ++axis) {
      const double here = lineAngle(direction, p.axis[axis]);
      if (here > kLinkAngle || here > lineAngle(direction, p.axis[1 - axis])) continue;
      const double there = lineAngle(direction, q.axis[1 - axis]);
      if (there > kLinkAngle) continue;
      const double cost = distance * (1 + 2 * (here + there));
      const int side = turn(direction, p.axis[axis]) < kPi / 2 ? 0 : 1;
      if (cost < best[axis][side]) {
        best[axis][side] = cost;
        out.to[axis][side] = static_cast<int>(k);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Lattice> linkCorners(const std::vector<Corner>& all, size_t least) {
  std::vector<const Corner*> corners;
  for (const Corner& corner : all) {
    if (corner.checked && corners.size() < kMaxLinked) corners.push_back(&corner);
  }
  std::vector<Links> links(corners.size());
  for (size_t i = 0; i < corners.size(); ++i) links[i] = wishes(corners, i);
  // The side of q that faces p: along its other axis, towards p.
  const auto backLink = [&](size_t p, size_t q, int axis) {
    const double direction = std::atan2(corners[p]->y - corners[q]->y, corners[p]->x - corners[q]->x);
    return turn(direction, corners[q]->axis[1 - axis]) < kPi / 2 ? 0 : 1;
  };
  const auto agreed = [&](size_t p, int axis, int side) {
    const int q = links[p].to[axis][side];
    if (q < 0) return -1;
    const auto at = static_cast<size_t>(q);
    return links[at].to[1 - axis][backLink(p, at, axis)] == static_cast<int>(p) ? q : -1;
  };
  std::vector<Lattice> out;
  std::vector<bool> taken(corners.size(), false);
  for (size_t seed = 0; seed < corners.size(); ++seed) {
    if (taken[seed]) continue;
    struct Step {
      size_t corner;
      int i, j;
      double along;  ///< direction of growing i, radians
    };
    std::map<Place, size_t> places;
    std::deque<Step> queue{{seed, 0, 0, corners[seed]->axis[0]}};
    places[{0, 0}] = seed;
    taken[seed] = true;
    while (!queue.empty()) {
      const Step step = queue.front();
      queue.pop_front();
      const Corner& p = *corners[step.corner];
      // Axes swap roles from corner to corner.
      const int axisI = (step.i + step.j) % 2 == 0 ? 0 : 1;
      const double forI = turn(p.axis[axisI], step.along) < kPi / 2 ? p.axis[axisI] : p.axis[axisI] + kPi;
      double forJ = p.axis[1 - axisI];
      if (std::sin(forJ - forI) < 0) forJ += kPi;
      for (const auto& [di, dj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
        const int axis = di != 0 ? axisI : 1 - axisI;
        const double wanted = (di != 0 ? forI : forJ) + (di + dj < 0 ? kPi : 0);
        const int side = turn(wanted, p.axis[axis]) < kPi / 2 ? 0 : 1;
        const int to = agreed(step.corner, axis, side);
        if (to < 0 || taken[static_cast<size_t>(to)]) continue;
        const Place place{step.i + di, step.j + dj};
        if (places.count(place) != 0) continue;
        const auto q = static_cast<size_t>(to);
        const int parityAxis = (place.first + place.second) % 2 == 0 ? 0 : 1;
        const double neighbourAxis = corners[q]->axis[parityAxis];
        places[place] = q;
        taken[q] = true;
        queue.push_back(
            {q, place.first, place.second, turn(neighbourAxis, forI) < kPi / 2 ? neighbourAxis : neighbourAxis + kPi});
      }
    }
    if (places.size() < least) continue;
    Lattice lattice;
    for (const auto& [place, corner] : places) lattice.corners[place] = *corners[corner];
    out.push_back(std::move(lattice));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Lattice& a, const Lattice& b) { return a.corners.size() > b.corners.size(); });
  return out;
}

}  // namespace depthwatt::calibrate
