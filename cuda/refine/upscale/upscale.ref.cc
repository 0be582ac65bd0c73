// SPDX-License-Identifier: Apache-2.0
// The definition of doubling a disparity map, pixel by pixel; see upscale.h.
#include "upscale.h"

namespace depthwatt {
namespace {

int32_t absolute(int32_t value) { return value < 0 ? -value : value; }

/// Returns F of the header.
int32_t wide(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half, int32_t x, int32_t y) {
  const int32_t l = half.row(y)[x / 2];
  if (x % 2 == 0 || x / 2 + 1 >= half.width) return l == kInvalidDisparity ? l : 2 * l;
  const int32_t r = half.row(y)[x / 2 + 1];
  if (l == kInvalidDisparity && r == kInvalidDisparity) return kInvalidDisparity;
  if (l == kInvalidDisparity) return 2 * r;
  if (r == kInvalidDisparity) return 2 * l;
  if (absolute(l - r) <= thresholdQ4) return l + r;
  const uint8_t* row = grey.row(2 * y);
  return absolute(row[x - 1] - row[x]) <= absolute(row[x + 1] - row[x]) ? 2 * l : 2 * r;
}

}  // namespace

void upscaleReference(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half,
                      ImageView<int16_t> result) {
  for (int32_t y = 0; y < result.height; ++y) {
    for (int32_t x = 0; x < result.width; ++x) {
      const int32_t above = wide(thresholdQ4, grey, half, x, y / 2);
      int32_t value = above;
      if (y % 2 == 1 && y / 2 + 1 < half.height) {
        const int32_t below = wide(thresholdQ4, grey, half, x, y / 2 + 1);
        if (above == kInvalidDisparity) value = below;
        else if (below != kInvalidDisparity) value = (above + below + 1) / 2;
      }
      result.row(y)[x] = static_cast<int16_t>(value);
    }
  }
}

}  // namespace depthwatt
