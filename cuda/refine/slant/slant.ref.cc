// SPDX-License-Identifier: Apache-2.0
// The definition of local planes; see slant.h.
#include "slant.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace depthwatt {
namespace {

/// Returns the plane's value at the centre, relative to the centre's disparity, in 1/16 pixels.
int32_t planeAt(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, int32_t x, int32_t y) {
  int32_t n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, sd = 0, sdx = 0, sdy = 0;
  int32_t lowest = 0, highest = 0;
  for (int32_t j = -kSlantTaps; j <= kSlantTaps; ++j) {
    for (int32_t i = -kSlantTaps; i <= kSlantTaps; ++i) {
      const int32_t qx = x + kSlantSpacing * i, qy = y + kSlantSpacing * j;
      if (qx < 0 || qx >= grey.width || qy < 0 || qy >= grey.height) continue;
      const int32_t value = disparityQ4.row(qy)[qx];
      const int32_t delta = value - disparityQ4.row(y)[x];
      if (value == kInvalidDisparity || std::abs(delta) > kSlantStepQ4) continue;
      if (std::abs(grey.row(qy)[qx] - grey.row(y)[x]) > kSlantGrey) continue;
      n += 1;
      sx += i;
      sy += j;
      sxx += i * i;
      sxy += i * j;
      syy += j * j;
      sd += delta;
      sdx += i * delta;
      sdy += j * delta;
      lowest = std::min(lowest, delta);
      highest = std::max(highest, delta);
    }
  }
  const float a = static_cast<float>(8 * (n * sxx - sx * sx) + n * n);
  const float c = static_cast<float>(8 * (n * syy - sy * sy) + n * n);
  const float b = static_cast<float>(8 * (n * sxy - sx * sy));
  const float p = static_cast<float>(8 * (n * sdx - sx * sd));
  const float q = static_cast<float>(8 * (n * sdy - sy * sd));
  const float det = a * c - b * b;
  const float tilt = static_cast<float>(sx) * (p * c - q * b) + static_cast<float>(sy) * (q * a - p * b);
  const float v = (static_cast<float>(sd) * det - tilt) / (static_cast<float>(n) * det);
  return std::min(std::max(static_cast<int32_t>(std::floor(v + 0.5f)), lowest), highest);
}

}  // namespace

void slantReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result) {
  for (int32_t y = 0; y < grey.height; ++y) {
    for (int32_t x = 0; x < grey.width; ++x) {
      const int16_t centre = disparityQ4.row(y)[x];
      const bool hole = centre == kInvalidDisparity;
      result.row(y)[x] = hole ? centre : static_cast<int16_t>(centre + planeAt(grey, disparityQ4, x, y));
    }
  }
}

}  // namespace depthwatt
