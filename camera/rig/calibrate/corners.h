// SPDX-License-Identifier: Apache-2.0
// Corners where four squares meet: candidates, and their place to a fraction of a pixel.
#pragma once

#include <vector>

#include "plane.h"

namespace depthwatt::calibrate {

struct Corner {
  double x = 0, y = 0;
  double strength = 0;  ///< grey levels: the saddle's depth
  /// Radians, 0..pi. Turning with growing angle over axis[0] leads from dark to bright, over axis[1] from bright to dark: the two
  /// exchange their parts from each corner of a board to the next.
  double axis[2] = {};
  bool checked = false;  ///< a ring around it has four fields, two bright and two dark
};

/// Candidates of one scale, strongest first. `weak` candidates, whose ring was not convincing, come with checked = false.
std::vector<Corner> findCorners(const Plane& image);

/// Looks at the ring of `radius` pixels around the corner; sets the axes. False where it has not four fields.
bool checkRing(const Plane& image, double radius, double leastShare, Corner& corner);

/// Moves a corner to where all gradients around it point past it (Foerstner and Guelch 1987), in a window of
/// 2 * halfWindow + 1 pixels. False where it does not settle within the window.
bool refineCorner(const Plane& image, int halfWindow, double& x, double& y);

}  // namespace depthwatt::calibrate
