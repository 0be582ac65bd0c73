// SPDX-License-Identifier: Apache-2.0
// Angles between lines and between directions in a picture.
#pragma once

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {

constexpr double kPi = 3.14159265358979323846;

/// The angle between two lines, 0..pi/2.
inline double lineAngle(double a, double b) {
  double d = std::fabs(std::fmod(a - b, kPi));
  return std::min(d, kPi - d);
}

/// The angle between two directions, 0..pi.
inline double turn(double a, double b) {
  double d = std::fabs(std::fmod(a - b, 2 * kPi));
  return std::min(d, 2 * kPi - d);
}

}  // namespace depthwatt::calibrate
