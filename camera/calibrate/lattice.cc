// SPDX-License-Identifier: Apache-2.0
// From corners to a lattice, by links that both ends agree on; see lattice.h.
#include "lattice.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace depthwatt::calibrate {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLinkAngle = 0.4;  ///< radians between an axis and the line to the neighbour
constexpr size_t kMaxLinked = 1500;
constexpr size_t kNearest = 40;

/// The angle between two lines, 0..pi/2.
double lineAngle(double a, double b) {
  double d = std::fabs(std::fmod(a - b, kPi));
  return std::min(d, kPi - d);
}

/// The angle between two directions, 0..pi.
double turn(double a, double b) {
  double d = std::fabs(std::fmod(a - b, 2 * kPi));
  return std::min(d, 2 * kPi - d);
}

/// Links of one corner: by axis, then along it (0) or against it (1). -1: none.
struct Links {
  int to[2][2] = {{-1, -1}, {-1, -1}};
};

Links wishes(const std::vector<const Corner*>& corners, size_t at) {
  Links out;
  const Corner& p = *corners[at];
  double best[2][2] = {{1e30, 1e30}, {1e30, 1e30}};
  // The nearest alone: a neighbour on the board is among them.
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
      // With a third the spacing may change along the line.
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

std::vector<Lattice> linkCorners(const std::vector<Corner>& all, size_t least) {
  std::vector<const Corner*> corners;
  for (const Corner& corner : all) {
    if (corner.checked && corners.size() < kMaxLinked) corners.push_back(&corner);
  }
  std::vector<Links> links(corners.size());
  for (size_t i = 0; i < corners.size(); ++i) links[i] = wishes(corners, i);
  // The side by which q sees p: along its other axis, towards p.
  const auto backOf = [&](size_t p, size_t q, int axis) {
    const double direction = std::atan2(corners[p]->y - corners[q]->y, corners[p]->x - corners[q]->x);
    return turn(direction, corners[q]->axis[1 - axis]) < kPi / 2 ? 0 : 1;
  };
  const auto agreed = [&](size_t p, int axis, int side) {
    const int q = links[p].to[axis][side];
    if (q < 0) return -1;
    const auto at = static_cast<size_t>(q);
    return links[at].to[1 - axis][backOf(p, at, axis)] == static_cast<int>(p) ? q : -1;
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
      // Axes exchange their parts from corner to corner.
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
        const double theirs = corners[q]->axis[parityAxis];
        places[place] = q;
        taken[q] = true;
        queue.push_back({q, place.first, place.second, turn(theirs, forI) < kPi / 2 ? theirs : theirs + kPi});
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

namespace {

constexpr Place kFour[4] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
constexpr double kStretch = 1.7;  ///< by which neighbouring edges of a board differ at the utmost

/// The smallest spacing of a corner and its neighbours.
double around(const Lattice& lattice, Place place) {
  double least = lattice.spacing(place);
  for (const auto& [di, dj] : kFour) {
    const Place next{place.first + di, place.second + dj};
    if (lattice.corners.count(next) != 0) least = std::min(least, lattice.spacing(next));
  }
  return least;
}

/// The vector of an edge; false where one of its ends is not there.
bool edgeOf(const Lattice& lattice, int i, int j, Place step, double& x, double& y) {
  const Corner* a = lattice.find(i, j);
  const Corner* b = lattice.find(i + step.first, j + step.second);
  if (a == nullptr || b == nullptr) return false;
  x = b->x - a->x;
  y = b->y - a->y;
  return true;
}

/// The share of a corner's edges that no parallel edge beside or before them resembles; 0 where none can be compared.
double strangeness(const Lattice& lattice, Place place) {
  int edges = 0, bad = 0;
  for (const Place& step : kFour) {
    double x, y, u, v;
    if (!edgeOf(lattice, place.first, place.second, step, x, y)) continue;
    const double length = std::hypot(x, y);
    int alike = 0, compared = 0;
    const Place beside{step.second, step.first};
    for (const auto& [i, j] : {Place{-step.first, -step.second}, step, beside, Place{-beside.first, -beside.second}}) {
      if (!edgeOf(lattice, place.first + i, place.second + j, step, u, v)) continue;
      const double other = std::hypot(u, v);
      const double cosine = (x * u + y * v) / (length * other);
      ++compared;
      alike += length < kStretch * other && other < kStretch * length && cosine > 0.87 ? 1 : 0;
    }
    if (compared == 0) continue;
    ++edges;
    bad += 2 * alike < compared ? 1 : 0;
  }
  return edges == 0 ? 0 : static_cast<double>(bad) / edges;
}

}  // namespace

void dropStrangers(Lattice& lattice) {
  for (;;) {
    double worst = 0.34;
    const Place* drop = nullptr;
    for (const auto& [place, corner] : lattice.corners) {
      const double here = strangeness(lattice, place);
      if (here > worst) {
        worst = here;
        drop = &place;
      }
    }
    // A wrong corner makes its neighbours look wrong: the places that lines expect are asked only of what is left.
    if (drop == nullptr) {
      worst = 0.3;
      for (const auto& [place, corner] : lattice.corners) {
        double x, y;
        const double spacing = around(lattice, place);
        if (spacing == 0 || !predict(lattice, place.first, place.second, x, y)) continue;
        const double off = std::hypot(x - corner.x, y - corner.y) / spacing;
        if (off > worst) {
          worst = off;
          drop = &place;
        }
      }
    }
    if (drop == nullptr) break;
    lattice.corners.erase(Place(*drop));
  }
  std::map<Place, int> part;
  std::vector<size_t> sizes;
  for (const auto& [seed, corner] : lattice.corners) {
    if (part.count(seed) != 0) continue;
    const int number = static_cast<int>(sizes.size());
    std::deque<Place> queue{seed};
    part[seed] = number;
    sizes.push_back(0);
    while (!queue.empty()) {
      const Place at = queue.front();
      queue.pop_front();
      ++sizes.back();
      for (const auto& [di, dj] : kFour) {
        const Place next{at.first + di, at.second + dj};
        if (lattice.corners.count(next) == 0 || part.count(next) != 0) continue;
        part[next] = number;
        queue.push_back(next);
      }
    }
  }
  if (sizes.empty()) return;
  const auto largest = static_cast<int>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  for (const auto& [place, number] : part) {
    if (number != largest) lattice.corners.erase(place);
  }
}

void completeLattice(const Plane& soft, const std::vector<Corner>& candidates, Lattice& lattice) {
  const auto misfit = [&](Place place, double limit) {
    const Corner* here = lattice.find(place.first, place.second);
    double x, y;
    if (!predict(lattice, place.first, place.second, x, y)) return false;
    return std::hypot(x - here->x, y - here->y) > limit * around(lattice, place);
  };
  dropStrangers(lattice);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::pair<Place, Corner>> grown;
    std::map<Place, bool> asked;
    for (const auto& [place, corner] : lattice.corners) {
      for (const auto& [di, dj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
        const Place next{place.first + di, place.second + dj};
        if (lattice.corners.count(next) != 0 || asked[next]) continue;
        asked[next] = true;
        double x, y;
        if (!predict(lattice, next.first, next.second, x, y) || !soft.holds(x, y, 3)) continue;
        const double spacing = std::max(lattice.spacing(place), 4.0);
        // Outwards, where one neighbour alone calls for it, only what is a corner by itself counts: the board ends somewhere.
        int neighbours = 0;
        for (const auto& [ni, nj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
          neighbours += lattice.corners.count({next.first + ni, next.second + nj}) != 0 ? 1 : 0;
        }
        const bool outwards = neighbours < 2;
        const Corner* best = nullptr;
        double nearest = 0.25 * spacing;
        for (const Corner& candidate : candidates) {
          if (candidate.strength < (outwards ? 0.4 : 0.15) * corner.strength) continue;
          if (outwards && !candidate.checked) continue;
          const double distance = std::hypot(candidate.x - x, candidate.y - y);
          if (distance < nearest) {
            nearest = distance;
            best = &candidate;
          }
        }
        Corner found;
        if (best != nullptr) {
          found = *best;
        } else if (outwards) {
          continue;
        } else {
          found.x = x;
          found.y = y;
          found.strength = 0;
          if (!refineCorner(soft, std::max(2, static_cast<int>(0.3 * spacing)), found.x, found.y)) continue;
          if (std::hypot(found.x - x, found.y - y) > 0.25 * spacing) continue;
        }
        // The same polarity as its place asks for, or it is a corner of something else.
        Corner seen = found;
        seen.checked = false;
        const double radius = std::min(4.5, std::max(2.5, 0.35 * spacing));
        if (!checkRing(soft, radius, 0.4, seen) && !checkRing(soft, 0.6 * radius, 0.4, seen)) continue;
        const double along = std::atan2(y - corner.y, x - corner.x);
        const int parity = (next.first + next.second) % 2 == 0 ? 0 : 1;
        const int axis = di != 0 ? parity : 1 - parity;
        if (lineAngle(along, seen.axis[axis]) > 0.6) continue;
        seen.strength = std::max(found.strength, 0.2 * corner.strength);
        grown.emplace_back(next, seen);
      }
    }
    if (grown.empty()) break;
    for (const auto& one : grown) {
      const auto& corner = one.second;
      const auto twin = std::find_if(lattice.corners.begin(), lattice.corners.end(), [&](const auto& entry) {
        return std::hypot(entry.second.x - corner.x, entry.second.y - corner.y) < 2;
      });
      if (twin == lattice.corners.end()) lattice.corners[one.first] = corner;
    }
    for (const auto& [place, corner] : grown) {
      if (lattice.corners.count(place) != 0 && misfit(place, 0.3)) lattice.corners.erase(place);
    }
  }
}

}  // namespace depthwatt::calibrate
