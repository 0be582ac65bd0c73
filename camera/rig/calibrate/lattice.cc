// SPDX-License-Identifier: Apache-2.0
// Spacing of a lattice's corners, and the prediction of a corner from its neighbours; see lattice.h.
#include "lattice.h"

#include <cmath>

namespace depthwatt::calibrate {

double Lattice::spacing(Place place) const {
  const Corner* here = find(place.first, place.second);
  double least = 0;
  for (const auto& [di, dj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
    const Corner* other = find(place.first + di, place.second + dj);
    if (here == nullptr || other == nullptr) continue;
    const double distance = std::hypot(other->x - here->x, other->y - here->y);
    if (least == 0 || distance < least) least = distance;
  }
  return least;
}

bool predict(const Lattice& lattice, int i, int j, double& x, double& y) {
  double sx = 0, sy = 0, weight = 0;
  const auto add = [&](double px, double py, double w) {
    sx += w * px;
    sy += w * py;
    weight += w;
  };
  for (const auto& [di, dj] : {Place{1, 0}, Place{0, 1}}) {
    const Corner* before = lattice.find(i - di, j - dj);
    const Corner* after = lattice.find(i + di, j + dj);
    if (before != nullptr && after != nullptr) add((before->x + after->x) / 2, (before->y + after->y) / 2, 3);
    for (const int side : {-1, 1}) {
      const Corner* a = lattice.find(i + side * di, j + side * dj);
      const Corner* b = lattice.find(i + 2 * side * di, j + 2 * side * dj);
      const Corner* c = lattice.find(i + 3 * side * di, j + 3 * side * dj);
      if (a == nullptr || b == nullptr) continue;
      // With a third corner the spacing may change along the line.
      if (c != nullptr) add(3 * a->x - 3 * b->x + c->x, 3 * a->y - 3 * b->y + c->y, 1);
      else add(2 * a->x - b->x, 2 * a->y - b->y, 1);
    }
  }
  for (const int si : {-1, 1}) {
    for (const int sj : {-1, 1}) {
      const Corner* a = lattice.find(i + si, j);
      const Corner* b = lattice.find(i, j + sj);
      const Corner* c = lattice.find(i + si, j + sj);
      if (a != nullptr && b != nullptr && c != nullptr) add(a->x + b->x - c->x, a->y + b->y - c->y, 0.5);
    }
  }
  if (weight == 0) return false;
  x = sx / weight;
  y = sy / weight;
  return true;
}

}  // namespace depthwatt::calibrate
