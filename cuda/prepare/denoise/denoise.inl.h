// SPDX-License-Identifier: Apache-2.0
// Fast forms of the noise counts, of smoothing and of the filter; compiled once per instruction set.
//
// Every sum fits 16 bits, except the filter's over seven rows. It uses the compiler's vectors, in the instruction set's
// width.

#include "denoise.h"

namespace {

constexpr int32_t kSmoothed = kLanesI16 > 8 ? kLanesI16 : 8;  // pixels at once
using SmoothBytes [[gnu::vector_size(kSmoothed)]] = uint8_t;
using SmoothWords [[gnu::vector_size(kSmoothed * 2)]] = int16_t;
using SmoothSums [[gnu::vector_size(kSmoothed * 2)]] = uint16_t;
using SmoothWide [[gnu::vector_size(kSmoothed * 4)]] = int32_t;
using SmoothFloats [[gnu::vector_size(kSmoothed * 4)]] = float;

[[gnu::always_inline]] inline SmoothWords smoothLoad(const uint8_t* from) {
  SmoothBytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, SmoothWords);
}

inline void countNoise(ImageView<const uint8_t> image, NoiseCounts& counts) {
  const int32_t end = image.width - 1;
  for (int32_t y = 1; y + 1 < image.height; y += kNoiseRowStep) {
    const uint8_t *above = image.row(y - 1), *here = image.row(y), *below = image.row(y + 1);
    int32_t x = 1;
    for (; x + kSmoothed <= end; x += kSmoothed) {
      const auto bent = [&](int32_t at) __attribute__((always_inline)) {
        return smoothLoad(above + at) + smoothLoad(below + at) - 2 * smoothLoad(here + at);
      };
      const SmoothWords n = bent(x - 1) + bent(x + 1) - 2 * bent(x);
      const SmoothWords sign = n >> 15, size = (n ^ sign) - sign;
      int16_t sizes[kSmoothed];
      std::memcpy(sizes, &size, sizeof sizes);
      for (const int16_t one : sizes) ++counts.bins[one];
    }
    for (; x < end; ++x) {
      const auto bent = [&](int32_t at) { return above[at] + below[at] - 2 * here[at]; };
      const int32_t n = bent(x - 1) + bent(x + 1) - 2 * bent(x);
      ++counts.bins[n < 0 ? -n : n];
    }
  }
}

inline void smoothRows(ImageView<const uint8_t> in, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow) {
  const int32_t lastX = in.width - 1, lastY = in.height - 1;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t *above = in.row(greater(y - 1, 0)), *here = in.row(y), *below = in.row(lesser(y + 1, lastY));
    uint8_t* result = out.row(y);
    const auto one = [&](int32_t x) {
      const auto column = [&](int32_t at) { return above[at] + 2 * here[at] + below[at]; };
      result[x] =
          static_cast<uint8_t>((column(greater(x - 1, 0)) + 2 * column(x) + column(lesser(x + 1, lastX)) + 8) >> 4);
    };
    one(0);
    int32_t x = 1;
    for (; x + kSmoothed <= lastX; x += kSmoothed) {
      const auto column = [&](int32_t at) __attribute__((always_inline)) {
        return smoothLoad(above + at) + 2 * smoothLoad(here + at) + smoothLoad(below + at);
      };
      const SmoothWords sum = (column(x - 1) + 2 * column(x) + column(x + 1) + 8) >> 4;
      const SmoothBytes bytes = __builtin_convertvector(sum, SmoothBytes);
      std::memcpy(result + x, &bytes, sizeof bytes);
    }
    for (; x <= lastX; ++x) one(x);
  }
}

inline void bilateralRows(ImageView<const uint8_t> image, ImageView<const uint8_t> guide, int32_t range,
                          ImageView<uint8_t> out, int32_t firstRow, int32_t endRow) {
  constexpr int32_t kAcross = 2 * kBilateralRadius + 1;
  const int32_t width = image.width, lastX = width - 1, lastY = image.height - 1;
  const uint8_t *images[kAcross], *guides[kAcross];
  for (int32_t y = firstRow; y < endRow; ++y) {
    for (int32_t j = 0; j < kAcross; ++j) {
      const int32_t at = lesser(greater(y + j - kBilateralRadius, 0), lastY);
      images[j] = image.row(at);
      guides[j] = guide.row(at);
    }
    const uint8_t* centre = guide.row(y);
    uint8_t* result = out.row(y);
    const auto one = [&](int32_t x) {
      int32_t sum = 0, weights = 0;
      for (int32_t j = 0; j < kAcross; ++j) {
        for (int32_t i = -kBilateralRadius; i <= kBilateralRadius; ++i) {
          const int32_t at = lesser(greater(x + i, 0), lastX);
          const int32_t difference = guides[j][at] - centre[x];
          const int32_t weight = greater(range - (difference < 0 ? -difference : difference), 0);
          sum += weight * images[j][at];
          weights += weight;
        }
      }
      result[x] = static_cast<uint8_t>((2 * sum + weights) / (2 * weights));
    };
    int32_t x = 0;
    for (; x < lesser(kBilateralRadius, width); ++x) one(x);
    for (; x + kSmoothed + kBilateralRadius <= width; x += kSmoothed) {
      const SmoothWords here = smoothLoad(centre + x);
      SmoothWords weights = {};
      SmoothWide sum = {};
      for (int32_t j = 0; j < kAcross; ++j) {
        SmoothSums row = {};
#pragma GCC unroll 7
        for (int32_t i = 0; i < kAcross; ++i) {
          const int32_t at = x + i - kBilateralRadius;
          const SmoothWords difference = smoothLoad(guides[j] + at) - here, sign = difference >> 15;
          SmoothWords weight = static_cast<int16_t>(range) - ((difference ^ sign) - sign);
          weight &= ~(weight >> 15);
          weights += weight;
          row += (SmoothSums)weight * (SmoothSums)smoothLoad(images[j] + at);
        }
        sum += __builtin_convertvector(row, SmoothWide);
      }
      // Both sides are whole and below 2^24, so floats hold them, and a quotient that is not whole is further from a
      // whole number than a float's rounding: truncation is exact.
      const SmoothWide wide = __builtin_convertvector(weights, SmoothWide);
      const SmoothFloats quotient =
          __builtin_convertvector(2 * sum + wide, SmoothFloats) / __builtin_convertvector(2 * wide, SmoothFloats);
      const SmoothBytes bytes = __builtin_convertvector(__builtin_convertvector(quotient, SmoothWide), SmoothBytes);
      std::memcpy(result + x, &bytes, sizeof bytes);
    }
    for (; x < width; ++x) one(x);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(DenoiseKernels, countNoise, smoothRows, bilateralRows)
