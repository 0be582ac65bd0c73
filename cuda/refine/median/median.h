// SPDX-License-Identifier: Apache-2.0
// Median of 3 x 3 disparities.
//   out(x, y) = 5th smallest of the nine values around (x, y), where an invalid neighbour counts as the centre's value;
//   an invalid centre stays invalid.
// in/out  [height][width] int16 disparityQ4, two different images
// edge    border pixels replicated.   ties: none (a value, not a place).   same bits on every backend.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

void medianReference(ImageView<const int16_t> in, ImageView<int16_t> out);

/// Computes rows [firstRow, endRow) of the result; reads the rows around them.
using MedianRows = void (*)(ImageView<const int16_t> in, ImageView<int16_t> out, int32_t firstRow, int32_t endRow);
struct MedianKernels {
  MedianRows median;
};

}  // namespace depthwatt
