// SPDX-License-Identifier: Apache-2.0
// The definition of the gradient census; see gradient_census.h.
#include "gradient_census.h"

#include "../replicated.ref.h"

namespace depthwatt {

void gradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census) {
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint32_t bits = 0;
      const auto append = [&](int32_t u, int32_t v) { bits = bits * 2 + (u >= v ? 1 : 0); };
      for (int32_t i = 1; i <= 2; ++i) {
        for (int32_t j = -2; j <= 2; ++j) append(replicated(image, x + i, y + j), replicated(image, x - i, y - j));
      }
      for (int32_t j = 1; j <= 2; ++j) append(replicated(image, x, y + j), replicated(image, x, y - j));
      const int32_t gradient = replicated(image, x + 1, y) - replicated(image, x - 1, y);
      for (const int32_t threshold : kGradientThresholds) append(gradient, threshold);
      census.row(y)[x] = bits;
    }
  }
}

}  // namespace depthwatt
