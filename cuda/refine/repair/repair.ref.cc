// SPDX-License-Identifier: Apache-2.0
// The definition of the repair; see repair.h.
#include "repair.h"

#include <cstdlib>
#include <vector>

namespace depthwatt {
namespace {

struct Surer {
  bool found = false;
  int32_t disparityQ4 = 0;
};

struct Pass {
  ImageView<const int16_t> disparityQ4;
  ImageView<const uint8_t> sure;

  /// Returns the nearest more certain pixel from (x, y) in steps of (stepX, stepY).
  Surer towards(int32_t x, int32_t y, int32_t stepX, int32_t stepY) const {
    const int32_t own = sure.row(y)[x];
    for (int32_t k = 1; k <= 10; ++k) {
      const int32_t qx = x + k * stepX, qy = y + k * stepY;
      if (qx < 0 || qy < 0 || qx >= sure.width || qy >= sure.height) break;
      if (10 * sure.row(qy)[qx] >= 11 * own) return {true, disparityQ4.row(qy)[qx]};
    }
    return {};
  }
};

}  // namespace

void repairReference(ImageView<int16_t> disparityQ4, ImageView<uint8_t> sure) {
  const size_t pixels = static_cast<size_t>(sure.width) * static_cast<size_t>(sure.height);
  for (const bool alongColumns : {false, true, false}) {
    std::vector<int16_t> disparityBefore(pixels);
    std::vector<uint8_t> sureBefore(pixels);
    const auto before = packedView(disparityBefore.data(), sure.width, sure.height);
    const auto surely = packedView(sureBefore.data(), sure.width, sure.height);
    for (int32_t y = 0; y < sure.height; ++y) {
      for (int32_t x = 0; x < sure.width; ++x) {
        before.row(y)[x] = disparityQ4.row(y)[x];
        surely.row(y)[x] = sure.row(y)[x];
      }
    }
    const Pass pass{before.asConst(), surely.asConst()};
    const int32_t stepX = alongColumns ? 0 : 1, stepY = alongColumns ? 1 : 0;
    for (int32_t y = 0; y < sure.height; ++y) {
      for (int32_t x = 0; x < sure.width; ++x) {
        const int32_t own = surely.row(y)[x];
        if (own == 0) continue;
        const Surer a = pass.towards(x, y, -stepX, -stepY), b = pass.towards(x, y, stepX, stepY);
        if (!a.found || !b.found || std::abs(a.disparityQ4 - b.disparityQ4) > 8) continue;
        disparityQ4.row(y)[x] = static_cast<int16_t>((a.disparityQ4 + b.disparityQ4) / 2);
        sure.row(y)[x] = static_cast<uint8_t>((11 * own + 9) / 10);
      }
    }
  }
}

}  // namespace depthwatt
