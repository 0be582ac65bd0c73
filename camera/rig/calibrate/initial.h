// SPDX-License-Identifier: Apache-2.0
// One camera alone: what rig.cc needs of initial.cc.
#pragma once

#include <vector>

#include "bundle.h"

namespace depthwatt::calibrate {

/// A corner on the board (its unit, z = 0) and in the image (pixels).
struct Correspondence {
  double board[2];
  double image[2];
};

/// The correspondences of each view of a camera.
using Views = std::vector<std::vector<Correspondence>>;

/// Groups the used observations by view. `problem` has one camera.
Views groupByView(const Problem& problem);

/// Returns the squared distance between the corners of a view and their projections, summed, pixels squared;
/// infinite if one has no projection.
double poseCost(const Lens& lens, const std::vector<Correspondence>& points, const Pose& pose);

/// solve() of one camera.
Status solveMono(const Problem& problem, Solution& best);

}  // namespace depthwatt::calibrate
