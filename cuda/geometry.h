// SPDX-License-Identifier: Apache-2.0
// Geometry of a rectified pair, from which depth and points are computed. Plain C++14: the plugin's sources include it too.
#pragma once

#include <cstddef>

namespace depthwatt {

struct DepthGeometry {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
};

enum class PointFrame { kCamera, kRobot };
enum class PointElement { kF32, kI16 };

struct PointsParameters {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
  double cx = 0, cy = 0;             ///< principal point of the rectified left image, pixels
  PointFrame frame = PointFrame::kCamera;
  PointElement element = PointElement::kF32;
  bool colours = false;
};

inline size_t pointBytes(const PointsParameters& p) {
  if (p.element == PointElement::kF32) return 16;
  return p.colours ? 10 : 8;
}

}  // namespace depthwatt
