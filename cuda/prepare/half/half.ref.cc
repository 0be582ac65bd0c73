// SPDX-License-Identifier: Apache-2.0
// The definition of halving; see half.h.
#include "half.h"

namespace depthwatt {
namespace {

int32_t clamped(int32_t value, int32_t last) { return value < 0 ? 0 : (value > last ? last : value); }

}  // namespace

void halfReference(ImageView<const uint8_t> in, ImageView<uint8_t> out) {
  for (int32_t y = 0; y < out.height; ++y) {
    for (int32_t x = 0; x < out.width; ++x) {
      int32_t sum = 0;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) {
          sum += in.row(clamped(2 * y + j, in.height - 1))[clamped(2 * x + i, in.width - 1)];
        }
      }
      out.row(y)[x] = static_cast<uint8_t>((sum + 4) / 9);
    }
  }
}

void halfRgbReference(ImageView<const Rgb8> in, ImageView<Rgb8> out) {
  for (int32_t y = 0; y < out.height; ++y) {
    for (int32_t x = 0; x < out.width; ++x) {
      int32_t red = 0, green = 0, blue = 0;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) {
          const Rgb8 pixel = in.row(clamped(2 * y + j, in.height - 1))[clamped(2 * x + i, in.width - 1)];
          red += pixel.red, green += pixel.green, blue += pixel.blue;
        }
      }
      out.row(y)[x] = {static_cast<uint8_t>((red + 4) / 9), static_cast<uint8_t>((green + 4) / 9),
                       static_cast<uint8_t>((blue + 4) / 9)};
    }
  }
}

}  // namespace depthwatt
