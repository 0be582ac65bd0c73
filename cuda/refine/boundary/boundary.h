// SPDX-License-Identifier: Apache-2.0
// Moves disparity edges onto grey edges: where near and far meet, a pixel joins the side that its own grey value votes for.
//   W(x, y) = the (2R + 1)^2 pixels around (x, y), R = 4, border pixels replicated, invalid ones left out
//   lo, hi  = smallest and largest disparity in W; hi - lo <= kBoundaryStepQ4, or an invalid centre: unchanged
//   mid     = floor((lo + hi) / 2); a pixel q is near where D(q) > mid, else far
//   vote    = sum over W of +w(q) for near, -w(q) for far, w(q) = max(0, kBoundaryGrey - |I(q) - I(x, y)|)
//   vote > 0 and the centre far, or vote < 0 and the centre near: it takes the disparity of the closest pixel of the other
//   side in the image: smallest i^2 + j^2, then the upper row, then the left column; otherwise unchanged.
// in   grey [height][width] uint8, disparityQ4 [height][width] int16
// out  result [height][width] int16, another image
// same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kBoundaryRadius = 4;
constexpr int32_t kBoundaryStepQ4 = 12;
constexpr int32_t kBoundaryGrey = 16;

void boundaryReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result);

/// Computes rows [firstRow, endRow) of the result; reads the rows around them.
using BoundaryRows = void (*)(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                              ImageView<int16_t> result, int32_t firstRow, int32_t endRow);
struct BoundaryKernels {
  BoundaryRows boundary;
};

}  // namespace depthwatt
