// SPDX-License-Identifier: Apache-2.0
// The definition of the confidence; see confidence.h.
#include "confidence.h"

#include <cstdlib>

namespace depthwatt {
namespace {

int32_t inside(int32_t i, int32_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

int32_t supportOf(ImageView<const int16_t> disparity, ImageView<const uint8_t> certainty, int32_t x, int32_t y) {
  int32_t support = 0;
  for (int32_t j = -2; j <= 2; ++j) {
    for (int32_t i = -2; i <= 2; ++i) {
      const int32_t qx = inside(x + i, disparity.width), qy = inside(y + j, disparity.height);
      const int32_t d = disparity.row(qy)[qx];
      if (d != kInvalidDisparity && std::abs(d - disparity.row(y)[x]) <= 16) support += certainty.row(qy)[qx];
    }
  }
  return support;
}

int32_t textureOf(ImageView<const uint8_t> grey, int32_t x, int32_t y) {
  int32_t texture = 0;
  for (int32_t j = -1; j <= 1; ++j) {
    const uint8_t* row = grey.row(inside(y + j, grey.height));
    for (int32_t i = -3; i <= 3; ++i) {
      const int32_t step = std::abs(row[inside(x + i, grey.width)] - row[inside(x + i - 1, grey.width)]);
      texture += step < 8 ? step : 8;
    }
  }
  return texture;
}

}  // namespace

void confidenceReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                         ImageView<const uint8_t> certainty, ImageView<uint8_t> sure) {
  const int32_t knots[] = DEPTHWATT_CONFIDENCE_KNOTS;
  for (int32_t y = 0; y < grey.height; ++y) {
    for (int32_t x = 0; x < grey.width; ++x) {
      sure.row(y)[x] = 0;
      if (disparityQ4.row(y)[x] == kInvalidDisparity) continue;
      const int32_t support = supportOf(disparityQ4, certainty, x, y), k = support / 256;
      int32_t value = knots[k] + (knots[k + 1] - knots[k]) * (support % 256) / 256;
      const int32_t maxValue = 16 * textureOf(grey, x, y);
      if (value > maxValue) value = maxValue;
      sure.row(y)[x] = static_cast<uint8_t>(value < 1 ? 1 : value);
    }
  }
}

}  // namespace depthwatt
