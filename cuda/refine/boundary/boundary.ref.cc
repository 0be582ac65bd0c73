// SPDX-License-Identifier: Apache-2.0
// The definition of the boundary vote; see boundary.h.
#include "boundary.h"

namespace depthwatt {
namespace {

int32_t clamped(int32_t value, int32_t last) { return value < 0 ? 0 : (value > last ? last : value); }

}  // namespace

void boundaryReference(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result) {
  const int32_t width = grey.width, height = grey.height, radius = kBoundaryRadius;
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int32_t centre = disparityQ4.row(y)[x];
      result.row(y)[x] = static_cast<int16_t>(centre);
      if (centre == kInvalidDisparity) continue;

      int32_t lo = centre, hi = centre;
      const auto overWindow = [&](auto&& visit) {
        for (int32_t j = -radius; j <= radius; ++j) {
          for (int32_t i = -radius; i <= radius; ++i) {
            const int32_t qx = clamped(x + i, width - 1), qy = clamped(y + j, height - 1);
            const int32_t d = disparityQ4.row(qy)[qx];
            if (d != kInvalidDisparity) visit(d, grey.row(qy)[qx]);
          }
        }
      };
      overWindow([&](int32_t d, int32_t) {
        if (d < lo) lo = d;
        if (d > hi) hi = d;
      });
      if (hi - lo <= kBoundaryStepQ4) continue;
      // The floor of a half, which may be negative.
      const int32_t sum = lo + hi;
      const int32_t mid = sum >= 0 ? sum / 2 : -((1 - sum) / 2);
      int32_t vote = 0;
      overWindow([&](int32_t d, int32_t value) {
        const int32_t own = grey.row(y)[x];
        const int32_t difference = value < own ? own - value : value - own;
        int32_t weight = kBoundaryGrey - difference;
        if (weight < 0) weight = 0;
        vote += d > mid ? weight : -weight;
      });
      const bool near = centre > mid;
      if (vote == 0 || (vote > 0) == near) continue;

      int32_t closest = 1 << 30;
      for (int32_t j = -radius; j <= radius; ++j) {
        for (int32_t i = -radius; i <= radius; ++i) {
          if (x + i < 0 || x + i >= width || y + j < 0 || y + j >= height) continue;
          const int32_t d = disparityQ4.row(y + j)[x + i];
          if (d == kInvalidDisparity || (d > mid) == near || i * i + j * j >= closest) continue;
          closest = i * i + j * j;
          result.row(y)[x] = static_cast<int16_t>(d);
        }
      }
    }
  }
}

}  // namespace depthwatt
