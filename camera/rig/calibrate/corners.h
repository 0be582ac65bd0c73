// SPDX-License-Identifier: Apache-2.0
// Corners where four squares meet: candidates, and their sub-pixel place.
#pragma once

#include <vector>

#include "plane.h"

namespace depthwatt::calibrate {

struct Corner {
  double x = 0, y = 0;
  double strength = 0;  ///< grey levels: the saddle's depth
  /// Radians, 0..pi. A rotation with growing angle passes from dark to bright at axis[0], and from bright to dark at
  /// axis[1]; the two swap roles from each corner of a board to the next.
  double axis[2] = {};
  bool checked = false;  ///< a ring around it has four fields, two bright and two dark
};

/// Returns the candidates of one scale, strongest first. Candidates with an unconvincing ring have checked = false.
std::vector<Corner> findCorners(const Plane& image);

/// Checks the ring of `radius` pixels around the corner and sets the axes. Returns false if it does not have four
/// fields.
bool checkRing(const Plane& image, double radius, double leastShare, Corner& corner);

/// Moves a corner to where all gradients around it point past it (Foerstner and Guelch 1987), in a window of 2 *
/// halfWindow + 1 pixels. Returns false if it does not settle within the window.
bool refineCorner(const Plane& image, int halfWindow, double& x, double& y);

}  // namespace depthwatt::calibrate
