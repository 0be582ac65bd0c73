// SPDX-License-Identifier: Apache-2.0
// The definition of the confidence; see confidence.h.
#include "confidence.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {
namespace {

struct Images {
  ImageView<const uint8_t> grey;
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> certainty;
  bool zeroIsEstimated;

  int32_t column(int32_t x) const { return std::min(std::max(x, 0), grey.width - 1); }
  int32_t row(int32_t y) const { return std::min(std::max(y, 0), grey.height - 1); }
  bool matched(int32_t x, int32_t y) const {
    if (disparityQ4.row(row(y))[column(x)] == kInvalidDisparity) return false;
    return !zeroIsEstimated || certainty.row(row(y))[column(x)] > 0;
  }
  int32_t step(int32_t x, int32_t y) const {
    const uint8_t* values = grey.row(row(y));
    return std::min(16, std::abs(values[column(x)] - values[column(x - 1)]));
  }
};

int32_t neighbourSupport(const Images& images, int32_t x, int32_t y) {
  int32_t support = 0;
  for (int32_t j = -2; j <= 2; ++j) {
    for (int32_t i = -2; i <= 2; ++i) {
      const int32_t qx = images.column(x + i), qy = images.row(y + j);
      const int32_t d = images.disparityQ4.row(qy)[qx];
      if (d == kInvalidDisparity || std::abs(d - images.disparityQ4.row(y)[x]) > 16) continue;
      support += images.certainty.row(qy)[qx];
    }
  }
  return support;
}

/// Sums over (2 radius + 1)^2 pixels.
template <class Value>
int32_t sumAround(int32_t x, int32_t y, int32_t radius, Value&& value) {
  int32_t sum = 0;
  for (int32_t j = -radius; j <= radius; ++j) {
    for (int32_t i = -radius; i <= radius; ++i) sum += value(x + i, y + j);
  }
  return sum;
}

}  // namespace

void confidenceReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4,
                         ImageView<const uint8_t> certainty, bool zeroIsEstimated, ImageView<const uint8_t> limit,
                         ImageView<uint8_t> sure) {
  const int32_t supportScore[] = DEPTHWATT_SUPPORT_SCORES;
  const int32_t unmatchedScore[] = DEPTHWATT_UNMATCHED_SCORES;
  const int32_t textureScore[] = DEPTHWATT_TEXTURE_SCORES;
  const int32_t curve[] = DEPTHWATT_CONFIDENCE_CURVE;
  const Images images{grey, disparityQ4, certainty, zeroIsEstimated};
  const auto step = [&](int32_t x, int32_t y) { return images.step(x, y); };
  const auto unmatched = [&](int32_t x, int32_t y) { return images.matched(x, y) ? 0 : 1; };
  for (int32_t y = 0; y < grey.height; ++y) {
    for (int32_t x = 0; x < grey.width; ++x) {
      sure.row(y)[x] = 0;
      if (!images.matched(x, y)) continue;
      const int32_t score = supportScore[neighbourSupport(images, x, y) / 128] +
                            unmatchedScore[sumAround(x, y, 5, unmatched) / 4] +
                            textureScore[sumAround(x, y, 2, step) / 16];
      const int32_t value = std::min(curve[std::min(std::max(score, -96), 127) + 96], 8 * sumAround(x, y, 5, step));
      const int32_t maximum = limit.data == nullptr ? 255 : limit.row(y / 4)[x / 8];
      sure.row(y)[x] = static_cast<uint8_t>(std::max(std::min(value, maximum), 1));
    }
  }
}

}  // namespace depthwatt
