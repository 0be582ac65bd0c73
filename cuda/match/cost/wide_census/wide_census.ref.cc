// SPDX-License-Identifier: Apache-2.0
// The definition of the wide census; see wide_census.h.
#include "wide_census.h"

#include "../replicated.ref.h"

namespace depthwatt {

void wideCensusReference(ImageView<const uint8_t> image, ImageView<uint32_t> first, ImageView<uint32_t> second) {
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint32_t words[2] = {0, 0};
      const auto at = [&](int32_t dx, int32_t dy) { return replicated(image, x + dx, y + dy); };
      const auto append = [&](int32_t word, int32_t u, int32_t v) { words[word] = words[word] * 2 + (u >= v ? 1 : 0); };
      for (int32_t place = 0; place < 25; ++place) {
        if (place != 12) append(place < 12 ? 0 : 1, at(place % 5 - 2, place / 5 - 2), at(0, 0));
      }
      for (const int16_t threshold : kWideThresholds) {
        append(0, at(1, 0) - at(-1, 0), threshold);
        append(1, at(0, 1) - at(0, -1), threshold);
      }
      first.row(y)[x] = words[0];
      second.row(y)[x] = words[1];
    }
  }
}

}  // namespace depthwatt
