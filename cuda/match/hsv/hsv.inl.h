// SPDX-License-Identifier: Apache-2.0
// Vector form of weighted hue, saturation and value; compiled once per instruction set.
//
// Every quotient is below 512, of whole numbers below 2^24 by a number below 2^17. A single division's rounding cannot
// reach the next whole number, so truncating it is the exact integer division.

#include "hsv.h"

namespace {

constexpr int32_t kHsvLanes = kGroups * 4;
using HsvInts [[gnu::vector_size(kHsvLanes * 4)]] = int32_t;
using HsvFloats [[gnu::vector_size(kHsvLanes * 4)]] = float;
using HsvBytes [[gnu::vector_size(kHsvLanes)]] = uint8_t;

[[gnu::always_inline]] inline HsvInts hsvChosen(HsvInts mask, HsvInts yes, HsvInts no) {
  return (mask & yes) | (~mask & no);
}
[[gnu::always_inline]] inline HsvInts hsvDivided(HsvInts a, HsvInts b) {
  return __builtin_convertvector(__builtin_convertvector(a, HsvFloats) / __builtin_convertvector(b, HsvFloats),
                                 HsvInts);
}
[[gnu::always_inline]] inline HsvInts hsvLoaded(const uint8_t* p) {
  HsvBytes v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, HsvInts);
}

using HsvUnsigned [[gnu::vector_size(kHsvLanes * 4)]] = uint32_t;
using HsvWords [[gnu::vector_size(kHsvLanes * 8)]] = uint64_t;

/// kHsvLanes pixels of three channels, in units: both coordinates of hue, saturation, value.
struct HsvChannels {
  HsvInts across, down, saturation, value;
};

[[gnu::always_inline]] inline HsvChannels toHsv(const HsvWeights& weights, HsvInts red, HsvInts green, HsvInts blue) {
  const HsvInts zero = {}, one = zero + 1;
  const int32_t units = hsvUnits(weights), hueUnits = units * weights.hue, saturationUnits = units * weights.saturation;
  const HsvInts redLeads = (red >= green) & (red >= blue), greenLeads = ~redLeads & (green >= blue);
  const HsvInts largest = hsvChosen(redLeads, red, hsvChosen(greenLeads, green, blue));
  const HsvInts lower = hsvChosen(red < green, red, green);
  const HsvInts chroma = largest - hsvChosen(lower < blue, lower, blue);
  HsvChannels out;
  out.value = hsvDivided(units * weights.value * largest + 50, zero + 100);
  // 255 k c / (100 V), reduced.
  const HsvInts divisor = hsvChosen(largest > 0, largest, one);
  out.saturation = hsvDivided(saturationUnits * 51 * chroma + 10 * divisor, 20 * divisor);
  const HsvInts grey = chroma == 0, sixth = hsvChosen(grey, one, chroma);
  HsvInts hue =
      hsvChosen(redLeads, green - blue, hsvChosen(greenLeads, 2 * chroma + blue - red, 4 * chroma + red - green));
  hue += hsvChosen(hue < 0, 6 * chroma, zero);
  const HsvInts whole = 6 * sixth;
  // A true comparison is -1.
  const HsvInts quarter = zero - (4 * hue >= whole) - (4 * hue >= 2 * whole) - (4 * hue >= 3 * whole);
  const HsvInts rest = 4 * hue - quarter * whole;
  const int32_t side = (2 * 16 * hueUnits + 25) / 50;
  const HsvInts along = hsvDivided(2 * 16 * hueUnits * rest + 25 * whole, 50 * whole);
  const HsvInts across =
      hsvChosen(quarter == 0, along, hsvChosen(quarter == 1, zero + side, hsvChosen(quarter == 2, side - along, zero)));
  const HsvInts down =
      hsvChosen(quarter == 0, zero, hsvChosen(quarter == 1, along, hsvChosen(quarter == 2, zero + side, side - along)));
  out.across = ~grey & across;
  out.down = ~grey & down;
  return out;
}

inline void hsvRows(const HsvWeights& weights, ImageView<const Rgb8> rgb, ImageView<HsvPixel> out, int32_t firstRow,
                    int32_t endRow) {
  uint8_t planes[3][kHsvLanes] = {};
  for (int32_t y = firstRow; y < endRow; ++y) {
    const Rgb8* in = rgb.row(y);
    HsvPixel* to = out.row(y);
    for (int32_t x = 0; x < rgb.width; x += kHsvLanes) {
      const int32_t count = lesser(kHsvLanes, rgb.width - x);
      HsvInts red, green, blue;
      if (kLanesI32 == kHsvLanes && count == kHsvLanes) {
        const I32 words = loadReversedTriplesI32(&in[x].red);
        std::memcpy(&red, &words, sizeof words);
        blue = red & 255, green = red >> 8 & 255, red = red >> 16;
      } else {
        for (int32_t i = 0; i < count; ++i) {
          planes[0][i] = in[x + i].red;
          planes[1][i] = in[x + i].green;
          planes[2][i] = in[x + i].blue;
        }
        readFromMemory(planes);
        red = hsvLoaded(planes[0]), green = hsvLoaded(planes[1]), blue = hsvLoaded(planes[2]);
      }
      const HsvChannels c = toHsv(weights, red, green, blue);
      // Two words a pixel, lowest byte first.
      const HsvInts saturationLow = c.saturation >> 1, valueLow = c.value >> 1;
      const HsvInts first = c.across | c.down << 8 | saturationLow << 16 | (c.saturation - saturationLow) << 24;
      const HsvInts second = valueLow | (c.value - valueLow) << 8;
      const HsvWords pixels = __builtin_convertvector(reinterpret_cast<const HsvUnsigned&>(first), HsvWords) |
                              __builtin_convertvector(reinterpret_cast<const HsvUnsigned&>(second), HsvWords) << 32;
      std::memcpy(static_cast<void*>(to + x), &pixels, static_cast<size_t>(count) * sizeof(HsvPixel));
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(HsvKernels, hsvRows)
