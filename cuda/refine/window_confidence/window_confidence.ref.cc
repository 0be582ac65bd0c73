// SPDX-License-Identifier: Apache-2.0
// The definition of the confidence measures; see window_confidence.h.
#include "window_confidence.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {
namespace {

int32_t pixel(ImageView<const uint8_t> image, int32_t x, int32_t y) {
  return image.row(std::min(std::max(y, 0), image.height - 1))[std::min(std::max(x, 0), image.width - 1)];
}

/// Sums over the 7 x 7 pixels around (x, y).
template <class Value>
int32_t sumAround(int32_t x, int32_t y, Value&& value) {
  int32_t sum = 0;
  for (int32_t j = -3; j <= 3; ++j) {
    for (int32_t i = -3; i <= 3; ++i) sum += value(x + i, y + j);
  }
  return sum;
}

int32_t textureDensity(const WindowConfidenceImages& images, int32_t x, int32_t y) {
  const auto grey = [&](int32_t qx, int32_t qy) { return pixel(images.left, qx, qy); };
  const int32_t mean = (sumAround(x, y, grey) + 24) / 49;
  const auto deviation = [&](int32_t qx, int32_t qy) { return std::abs(grey(qx, qy) - mean); };
  return std::min(255, 8 * sumAround(x, y, deviation) / 49);
}

int32_t matchScore(const WindowConfidenceImages& images, int32_t x, int32_t y) {
  const int32_t shift = (images.disparityQ4.row(y)[x] + 8) / 16;
  const auto difference = [&](int32_t qx, int32_t qy) {
    // Outside the left image its border pixel is used, whose partner is equally far to the left.
    const int32_t inside = std::min(std::max(qx, 0), images.left.width - 1);
    return std::abs(pixel(images.left, qx, qy) - pixel(images.right, inside - shift, qy));
  };
  return 255 - std::min(255, 8 * sumAround(x, y, difference) / 49);
}

}  // namespace

void windowConfidenceReference(ConfidenceMeasure measure, const WindowConfidenceImages& images,
                               ImageView<uint8_t> sure) {
  for (int32_t y = 0; y < sure.height; ++y) {
    for (int32_t x = 0; x < sure.width; ++x) {
      const int32_t peak = images.certainty.row(y)[x];
      sure.row(y)[x] = 0;
      if (images.disparityQ4.row(y)[x] == kInvalidDisparity) continue;
      if (images.zeroIsEstimated && peak == 0) continue;
      int32_t value = peak;
      if (measure == ConfidenceMeasure::kFeatureDensity) value = textureDensity(images, x, y);
      if (measure == ConfidenceMeasure::kMatchingScore || measure == ConfidenceMeasure::kProduct)
        value = matchScore(images, x, y) * textureDensity(images, x, y) / 255;
      if (measure == ConfidenceMeasure::kProduct) value = peak * value / 255;
      sure.row(y)[x] = static_cast<uint8_t>(std::max(value, 1));
    }
  }
}

}  // namespace depthwatt
