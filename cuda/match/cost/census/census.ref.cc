// SPDX-License-Identifier: Apache-2.0
// The definition of the census transform; see census.h.
#include "census.h"

#include "../replicated.ref.h"

namespace depthwatt {

template <class Pixel>
void censusReference(ImageView<const Pixel> image, ImageView<uint32_t> census) {
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint32_t bits = 0;
      const auto append = [&](int32_t i, int32_t j) {
        bits = bits * 2 + (replicated(image, x + i, y + j) >= replicated(image, x - i, y - j) ? 1 : 0);
      };
      for (int32_t i = 1; i <= kCensusRadiusX; ++i) {
        for (int32_t j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) append(i, j);
      }
      for (int32_t j = 1; j <= kCensusRadiusY; ++j) append(0, j);
      census.row(y)[x] = bits;
    }
  }
}

template void censusReference<uint8_t>(ImageView<const uint8_t>, ImageView<uint32_t>);
template void censusReference<uint16_t>(ImageView<const uint16_t>, ImageView<uint32_t>);

}  // namespace depthwatt
