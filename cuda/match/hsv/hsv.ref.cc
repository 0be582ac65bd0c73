// SPDX-License-Identifier: Apache-2.0
// The definition of weighted hue, saturation and value; see hsv.h.
#include "hsv.h"

namespace depthwatt {
namespace {

/// Returns a / b, half up.
int64_t rounded(int64_t a, int64_t b) { return (2 * a + b) / (2 * b); }

}  // namespace

void hsvReference(const HsvWeights& weights, ImageView<const Rgb8> rgb, ImageView<HsvPixel> out) {
  const int64_t units = hsvUnits(weights);
  for (int32_t y = 0; y < rgb.height; ++y) {
    for (int32_t x = 0; x < rgb.width; ++x) {
      const int64_t red = rgb.row(y)[x].red, green = rgb.row(y)[x].green, blue = rgb.row(y)[x].blue;
      int64_t largest = red > green ? red : green, smallest = red < green ? red : green;
      if (blue > largest) largest = blue;
      if (blue < smallest) smallest = blue;
      const int64_t chroma = largest - smallest;
      HsvPixel pixel = {};
      const int64_t value = rounded(units * weights.value * largest, 100);
      const int64_t saturation = largest > 0 ? rounded(units * weights.saturation * 255 * chroma, 100 * largest) : 0;
      pixel.valueLow = static_cast<uint8_t>(value / 2);
      pixel.valueHigh = static_cast<uint8_t>(value - value / 2);
      pixel.saturationLow = static_cast<uint8_t>(saturation / 2);
      pixel.saturationHigh = static_cast<uint8_t>(saturation - saturation / 2);
      if (chroma > 0) {
        // h = hue / chroma
        int64_t hue = red == largest     ? green - blue
                      : green == largest ? 2 * chroma + blue - red
                                         : 4 * chroma + red - green;
        if (hue < 0) hue += 6 * chroma;
        const int64_t quarter = 4 * hue / (6 * chroma), rest = 4 * hue % (6 * chroma);
        const int64_t side = rounded(64 * units * weights.hue, 100);
        const int64_t along = rounded(64 * units * weights.hue * rest, 100 * 6 * chroma);
        const int64_t corner[4][2] = {{along, 0}, {side, along}, {side - along, side}, {0, side - along}};
        pixel.hueAcross = static_cast<uint8_t>(corner[quarter][0]);
        pixel.hueDown = static_cast<uint8_t>(corner[quarter][1]);
      }
      out.row(y)[x] = pixel;
    }
  }
}

}  // namespace depthwatt
