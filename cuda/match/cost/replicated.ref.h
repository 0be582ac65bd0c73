// SPDX-License-Identifier: Apache-2.0
// The border rule that the references of all census variants share. Fast code has its own.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

/// Returns the pixel at (x, y), or the nearest one inside the image.
template <class Pixel>
int32_t replicated(ImageView<const Pixel> image, int32_t x, int32_t y) {
  if (x < 0) x = 0;
  if (x >= image.width) x = image.width - 1;
  if (y < 0) y = 0;
  if (y >= image.height) y = image.height - 1;
  return image.row(y)[x];
}

}  // namespace depthwatt
