// SPDX-License-Identifier: Apache-2.0
// Computes the map of a camera that has rotated since its calibration from the calibrated map.
//   (x', y', 1) ~ K R K^-1 (x, y, 1),   K = (f 0 cx, 0 f cy, 0 0 1),   result(x, y) = map(x', y')
// The map is interpolated between its entries, and extrapolated beyond its border by the line through the last two.
// Entries are rounded to the nearest 1/32 px, halves upwards, and stay within one pixel of the captured image like
// those of the map (camera/calibration/maps.ts).
// in   map [height][width][2] int32, 1/32 px, 2 pixels and more a side; R row-major, x_now = R x_calibrated, up to some degrees
#pragma once

#include <vector>

#include "fit.h"

namespace depthwatt {

struct MapShape {
  int32_t width = 0, height = 0;            ///< of the map
  int32_t inputWidth = 0, inputHeight = 0;  ///< of the captured image
};

void turnMap(const int32_t* map, const MapShape& shape, const AlignmentView& view, const double rotation[9],
             int32_t* result);

}  // namespace depthwatt
