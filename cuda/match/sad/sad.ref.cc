// SPDX-License-Identifier: Apache-2.0
// The definition of window SAD; see sad.h.
#include "sad.h"

#include <vector>

namespace depthwatt {
namespace {

int64_t absolute(int64_t value) { return value < 0 ? -value : value; }
int32_t within(int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }

int64_t costOf(const SadImages& images, int32_t x, int32_t y, int32_t d) {
  const HsvPixel a = images.left.row(y)[x], b = images.right.row(y)[x - d < 0 ? 0 : x - d];
  const int64_t sum = absolute(a.hueAcross - b.hueAcross) + absolute(a.hueDown - b.hueDown) +
                      absolute(a.saturationLow - b.saturationLow) + absolute(a.saturationHigh - b.saturationHigh) +
                      absolute(a.valueLow - b.valueLow) + absolute(a.valueHigh - b.valueHigh);
  return sum < kSadMaxCost ? sum : kSadMaxCost;
}

}  // namespace

void sadReference(const SadParameters& p, const SadImages& images, const SadResult& result) {
  const int32_t width = images.left.width, height = images.left.height, count = p.numDisparities;
  std::vector<int64_t> sums(static_cast<size_t>(width) * count);
  const auto at = [&](int32_t x) { return sums.data() + static_cast<size_t>(x) * count; };
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t d = 0; d < count; ++d) {
        int64_t sum = 0;
        for (int32_t j = -(p.windowHeight / 2); j <= p.windowHeight / 2; ++j) {
          for (int32_t i = -(p.windowWidth / 2); i <= p.windowWidth / 2; ++i) {
            sum += costOf(images, within(x + i, width), within(y + j, height), p.minDisparity + d);
          }
        }
        at(x)[d] = sum;
      }
      const int64_t* cells = at(x);
      int32_t best = 0;
      for (int32_t d = 1; d < count; ++d) {
        if (cells[d] < cells[best]) best = d;
      }
      int64_t second = -1;
      for (int32_t d = 0; d < count; ++d) {
        if (absolute(d - best) > 1 && (second < 0 || cells[d] < second)) second = cells[d];
      }
      int32_t fine = 0;
      if (p.subpixel && best > 0 && best + 1 < count) {
        const int64_t n = 8 * (cells[best - 1] - cells[best + 1]);
        const int64_t q = cells[best - 1] + cells[best + 1] - 2 * cells[best];
        // floor((2 n + q) / (2 q))
        if (q > 0) {
          int64_t quotient = (2 * n + q) / (2 * q);
          if ((2 * n + q) % (2 * q) < 0) --quotient;
          fine = static_cast<int32_t>(quotient);
        }
      }
      result.disparity.row(y)[x] = static_cast<int16_t>(p.minDisparity + best);
      result.disparityQ4.row(y)[x] = static_cast<int16_t>(16 * (p.minDisparity + best) + fine);
      result.confidence.row(y)[x] =
          second < 0 ? 0 : static_cast<uint8_t>(255 * (second - cells[best]) / (second > 1 ? second : 1));
    }
    if (result.rightDisparity.data == nullptr) continue;
    for (int32_t xr = 0; xr < width; ++xr) {
      int32_t best = -1;
      for (int32_t d = 0; d < count && xr + p.minDisparity + d < width; ++d) {
        const int32_t x = xr + p.minDisparity;
        if (best < 0 || at(x + d)[d] < at(x + best)[best]) best = d;
      }
      result.rightDisparity.row(y)[xr] = best < 0 ? kInvalidDisparity : static_cast<int16_t>(p.minDisparity + best);
    }
  }
}

}  // namespace depthwatt
