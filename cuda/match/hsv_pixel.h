// SPDX-License-Identifier: Apache-2.0
// The pixel of hsv, sad and pyramid: a colour as bytes whose absolute differences add up to the difference of two
// pixels (Prehn 2007, eq. 5.1: weighted hue, saturation and value).
#pragma once

#include <cstdint>

namespace depthwatt {

/// Percent, 0 to 100 each, 1 to 100 in total.
struct HsvWeights {
  int32_t hue = 30, saturation = 30, value = 30;
};

/// Each weighted channel in units, halved so that each half is a byte. Hue is a point on the rim of a square, so that
/// it wraps. hsv/hsv.h has the equations.
struct HsvPixel {
  uint8_t hueAcross, hueDown;
  uint8_t saturationLow, saturationHigh;
  uint8_t valueLow, valueHigh;
  uint8_t none[2];  ///< 0; in the copies of pyramid a third byte of saturation and of value
};
static_assert(sizeof(HsvPixel) == 8, "eight bytes: two words of four differences");

constexpr int32_t kHsvChannels = 6;

/// Returns the units per weighted grey value, chosen so that each channel's halves fit a byte.
inline int32_t hsvUnits(const HsvWeights& w) { return w.hue <= 50 && w.saturation <= 50 && w.value <= 50 ? 4 : 2; }

}  // namespace depthwatt
