// SPDX-License-Identifier: Apache-2.0
// Removes false corners from a lattice and adds missing ones; see lattice.h.
#include <algorithm>
#include <cmath>
#include <deque>

#include "angles.h"
#include "lattice.h"

namespace depthwatt::calibrate {
namespace {

constexpr Place kFour[4] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
constexpr double kStretch = 1.7;  ///< the largest ratio of neighbouring edges of a board

/// Returns the smallest spacing of a corner and its neighbours.
double around(const Lattice& lattice, Place place) {
  double least = lattice.spacing(place);
  for (const auto& [di, dj] : kFour) {
    const Place next{place.first + di, place.second + dj};
    if (lattice.corners.count(next) != 0) least = std::min(least, lattice.spacing(next));
  }
  return least;
}

/// Computes the vector of an edge. Returns false if one of its ends is missing.
bool edgeFrom(const Lattice& lattice, int i, int j, Place step, double& x, double& y) {
  const Corner* a = lattice.find(i, j);
  const Corner* b = lattice.find(i + step.first, j + step.second);
  if (a == nullptr || b == nullptr) return false;
  x = b->x - a->x;
  y = b->y - a->y;
  return true;
}

/// Returns the share of a corner's edges that resemble no adjacent parallel edge; 0 if none can be compared.
double strangeness(const Lattice& lattice, Place place) {
  int edges = 0, bad = 0;
  for (const Place& step : kFour) {
    double x, y, u, v;
    if (!edgeFrom(lattice, place.first, place.second, step, x, y)) continue;
    const double length = std::hypot(x, y);
    int alike = 0, compared = 0;
    const Place across{step.second, step.first};
    for (const auto& [i, j] : {Place{-step.first, -step.second}, step, across, Place{-across.first, -across.second}}) {
      if (!edgeFrom(lattice, place.first + i, place.second + j, step, u, v)) continue;
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
    // A wrong corner makes its neighbours look wrong: predicted places are checked only for the remaining corners.
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
        // Outwards, where only one neighbour predicts it, only a checked corner counts, because the board ends
        // somewhere.
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
        // Its polarity must match its place; otherwise it is a corner of something else.
        Corner verified = found;
        verified.checked = false;
        const double radius = std::min(4.5, std::max(2.5, 0.35 * spacing));
        if (!checkRing(soft, radius, 0.4, verified) && !checkRing(soft, 0.6 * radius, 0.4, verified)) continue;
        const double along = std::atan2(y - corner.y, x - corner.x);
        const int parity = (next.first + next.second) % 2 == 0 ? 0 : 1;
        const int axis = di != 0 ? parity : 1 - parity;
        if (lineAngle(along, verified.axis[axis]) > 0.6) continue;
        verified.strength = std::max(found.strength, 0.2 * corner.strength);
        grown.emplace_back(next, verified);
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
