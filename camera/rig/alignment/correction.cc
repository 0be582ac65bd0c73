// SPDX-License-Identifier: Apache-2.0
// Rotates a map; see correction.h.
#include "correction.h"

#include <algorithm>
#include <cmath>

namespace depthwatt {
namespace {

/// Returns `low` for NaN, unlike std::clamp: a rotation by a quarter turn puts places at infinity.
double bounded(double value, double low, double high) { return std::min(std::max(low, value), high); }

}  // namespace

void turnMap(const int32_t* map, const MapShape& shape, const AlignmentView& view, const double rotation[9],
             int32_t* result) {
  const double* r = rotation;
  const int32_t limits[2] = {32 * shape.inputWidth, 32 * shape.inputHeight};
  for (int32_t y = 0; y < shape.height; ++y) {
    for (int32_t x = 0; x < shape.width; ++x) {
      const double u = (x - view.cx) / view.focalPixels, v = (y - view.cy) / view.focalPixels;
      const double z = r[6] * u + r[7] * v + r[8];
      const double atX = view.focalPixels * (r[0] * u + r[1] * v + r[2]) / z + view.cx;
      const double atY = view.focalPixels * (r[3] * u + r[4] * v + r[5]) / z + view.cy;
      const auto left = static_cast<int32_t>(bounded(std::floor(atX), 0, shape.width - 2));
      const auto top = static_cast<int32_t>(bounded(std::floor(atY), 0, shape.height - 2));
      const double fx = atX - left, fy = atY - top;
      const int32_t* upper = map + 2 * (static_cast<size_t>(top) * shape.width + left);
      const int32_t* lower = upper + 2 * static_cast<size_t>(shape.width);
      for (int axis = 0; axis < 2; ++axis) {
        const double above = upper[axis] + fx * (upper[2 + axis] - upper[axis]);
        const double below = lower[axis] + fx * (lower[2 + axis] - lower[axis]);
        const double entry = std::floor(above + fy * (below - above) + 0.5);
        *result++ = static_cast<int32_t>(bounded(entry, -32, limits[axis]));
      }
    }
  }
}

}  // namespace depthwatt
