// SPDX-License-Identifier: Apache-2.0
// Points of a picture that lie like the corners of a board: which whole numbers (i, j) each has.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "corners.h"

namespace depthwatt::calibrate {

using Place = std::pair<int, int>;  ///< (i, j); i and j in this order turn as x and y of the image do

struct Lattice {
  std::map<Place, Corner> corners;

  const Corner* find(int i, int j) const {
    const auto found = corners.find({i, j});
    return found == corners.end() ? nullptr : &found->second;
  }
  /// Distance to the nearest neighbour that is there, pixels; 0 without one.
  double spacing(Place place) const;
};

/// The lattices that neighbouring corners form, the largest first; those of fewer than `least` corners are left out (links.cc).
std::vector<Lattice> linkCorners(const std::vector<Corner>& corners, size_t least);

/// Drops corners whose edges resemble no other, the strangest first, and what then hangs on to the largest part no more.
void dropStrangers(Lattice& lattice);

/// Drops corners that their neighbours contradict, adds candidates where neighbours expect one, and looks for it in the picture
/// where there is no candidate; `soft` is the picture, slightly blurred.
void completeLattice(const Plane& soft, const std::vector<Corner>& candidates, Lattice& lattice);

/// Where the neighbours of (i, j) expect it; false where fewer than two lines lead there.
bool predict(const Lattice& lattice, int i, int j, double& x, double& y);

}  // namespace depthwatt::calibrate
