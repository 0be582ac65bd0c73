// SPDX-License-Identifier: Apache-2.0
// The definition of window SAD; see sad.h.
#include "sad.h"

#include <vector>

#include "../winner.ref.h"

namespace depthwatt {
namespace {

int64_t absolute(int64_t value) { return value < 0 ? -value : value; }
int32_t within(int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }

int64_t windowCost(const SadImages& images, int32_t x, int32_t y, int32_t d) {
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
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t d = 0; d < count; ++d) {
        int64_t sum = 0;
        for (int32_t j = -(p.windowHeight / 2); j <= p.windowHeight / 2; ++j) {
          for (int32_t i = -(p.windowWidth / 2); i <= p.windowWidth / 2; ++i) {
            sum += windowCost(images, within(x + i, width), within(y + j, height), p.minDisparity + d);
          }
        }
        sums[static_cast<size_t>(x) * count + d] = sum;
      }
    }
    selectRow(p, sums.data(), y, result);
  }
}

}  // namespace depthwatt
