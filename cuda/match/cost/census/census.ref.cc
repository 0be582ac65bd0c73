// SPDX-License-Identifier: Apache-2.0
// The definition of the census transform; see census.h.
#include "census.h"

namespace depthwatt {
namespace {

template <class Pixel>
Pixel replicated(ImageView<const Pixel> image, int32_t x, int32_t y) {
  if (x < 0) x = 0;
  if (x >= image.width) x = image.width - 1;
  if (y < 0) y = 0;
  if (y >= image.height) y = image.height - 1;
  return image.row(y)[x];
}

}  // namespace

template <class Pixel>
void censusReference(ImageView<const Pixel> image, ImageView<uint32_t> census) {
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint32_t bits = 0;
      const auto append = [&](int32_t i, int32_t j) {
        const Pixel u = replicated(image, x + i, y + j);
        const Pixel v = replicated(image, x - i, y - j);
        bits = bits * 2 + (u >= v ? 1 : 0);
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
