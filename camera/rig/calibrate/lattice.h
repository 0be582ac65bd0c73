// SPDX-License-Identifier: Apache-2.0
// Points of an image that are arranged like the corners of a board, with whole numbers (i, j) for each.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "corners.h"

namespace depthwatt::calibrate {

using Place = std::pair<int, int>;  ///< (i, j); i and j in this order rotate as x and y of the image do

struct Lattice {
  std::map<Place, Corner> corners;

  const Corner* find(int i, int j) const {
    const auto found = corners.find({i, j});
    return found == corners.end() ? nullptr : &found->second;
  }
  /// Returns the distance to the nearest existing neighbour, pixels; 0 without one.
  double spacing(Place place) const;
};

/// Returns the lattices of neighbouring corners, the largest first, without those of fewer than `least` corners
/// (links.cc).
std::vector<Lattice> linkCorners(const std::vector<Corner>& corners, size_t least);

/// Drops corners whose edges resemble no other, the most different first, and everything that is then no longer
/// connected to the largest part.
void dropStrangers(Lattice& lattice);

/// Drops corners that contradict their neighbours, adds candidates where neighbours predict one, and searches the image
/// where there is no candidate. @param soft the slightly blurred image
void completeLattice(const Plane& soft, const std::vector<Corner>& candidates, Lattice& lattice);

/// Predicts the place of (i, j) from its neighbours. Returns false if fewer than two lines lead there.
bool predict(const Lattice& lattice, int i, int j, double& x, double& y);

}  // namespace depthwatt::calibrate
