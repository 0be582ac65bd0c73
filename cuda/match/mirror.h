// SPDX-License-Identifier: Apache-2.0
// Mirrors images: the right view's disparities are the left view's of the mirrored pair.
#pragma once

#include "../../core/image.h"

namespace depthwatt {

/// Reverses the columns.
template <class Pixel>
inline void mirrorColumns(ImageView<const Pixel> from, ImageView<Pixel> to, int32_t firstRow, int32_t endRow) {
  for (int32_t y = firstRow; y < endRow; ++y) {
    const Pixel* row = from.row(y);
    for (int32_t x = 0; x < from.width; ++x) to.row(y)[x] = row[from.width - 1 - x];
  }
}

}  // namespace depthwatt
