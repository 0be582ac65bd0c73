// SPDX-License-Identifier: Apache-2.0
// Halves an image: the mean of 3 x 3 pixels around every even pixel.
//   out(x, y) = floor((sum_{i, j = -1..1} in(2x + i, 2y + j) + 4) / 9)                  (Chang and Maruyama, eq. 2 with m = 1, K = 2)
// in   [height][width] uint8
// out  [ceil(height / 2)][ceil(width / 2)] uint8
// edge border pixels are replicated.       ties: none (nine is odd).       same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t halfSide(int32_t side) { return (side + 1) / 2; }

void halfReference(ImageView<const uint8_t> in, ImageView<uint8_t> out);

/// Computes rows [firstRow, endRow) of the result.
using HalfRows = void (*)(ImageView<const uint8_t> in, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow);

/// Halves each colour separately.
void halfRgbReference(ImageView<const Rgb8> in, ImageView<Rgb8> out);
using HalfRgbRows = void (*)(ImageView<const Rgb8> in, ImageView<Rgb8> out, int32_t firstRow, int32_t endRow);
struct HalfKernels {
  HalfRows half;
  HalfRgbRows halfRgb;
};

}  // namespace depthwatt
