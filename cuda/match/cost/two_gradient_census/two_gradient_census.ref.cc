// SPDX-License-Identifier: Apache-2.0
// The definition of the two-gradient census; see two_gradient_census.h.
#include "two_gradient_census.h"

#include "../replicated.ref.h"

namespace depthwatt {

void twoGradientCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> census) {
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint32_t bits = 0;
      const auto at = [&](int32_t dx, int32_t dy) { return replicated(image, x + dx, y + dy); };
      const auto append = [&](int32_t u, int32_t v) { bits = bits * 2 + (u >= v ? 1 : 0); };
      for (int32_t k = 1; k <= 2; ++k) {
        append(at(k, -k), at(-k, k));
        append(at(k, 0), at(-k, 0));
        append(at(k, k), at(-k, -k));
        append(at(0, k), at(0, -k));
      }
      const int32_t horizontal = at(1, 0) - at(-1, 0), vertical = at(0, 1) - at(0, -1);
      for (const int16_t threshold : kHorizontalThresholds) append(horizontal, threshold);
      for (const int16_t threshold : kVerticalThresholds) append(vertical, threshold);
      census.row(y)[x] = bits;
    }
  }
}

}  // namespace depthwatt
