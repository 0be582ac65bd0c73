// SPDX-License-Identifier: Apache-2.0
// Angles between lines and between directions in an image.
#pragma once

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {

constexpr double kPi = 3.14159265358979323846;

/// Returns the angle between two lines, 0..pi/2.
inline double lineAngle(double a, double b) {
  double d = std::fabs(std::fmod(a - b, kPi));
  return std::min(d, kPi - d);
}

/// Returns the angle between two directions, 0..pi.
inline double turn(double a, double b) {
  double d = std::fabs(std::fmod(a - b, 2 * kPi));
  return std::min(d, 2 * kPi - d);
}

}  // namespace depthwatt::calibrate
