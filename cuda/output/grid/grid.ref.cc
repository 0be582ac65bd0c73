// SPDX-License-Identifier: Apache-2.0
// The definition of the grid; see grid.h.
#include "grid.h"

namespace depthwatt {
namespace {

struct Count {
  int32_t free = 0, obstacle = 0, drop = 0;
};

/// The quotient and remainder of negative numbers: n / 2^bits rounded down.
int64_t divided(int64_t n, int bits) {
  const int64_t d = int64_t{1} << bits;
  return n >= 0 ? n / d : -((-n + d - 1) / d);
}

GridCell stateOf(const Count& count, int32_t minPixels) {
  if (count.obstacle >= minPixels) return kGridOccupied;
  if (count.drop >= minPixels) return kGridDrop;
  const bool isFree = count.free >= 1 && count.free >= 8 * (count.obstacle + count.drop);
  return isFree ? kGridFree : kGridUnknown;
}

}  // namespace

void gridReference(const GridPlan& plan, ImageView<const int16_t> disparityQ4, ImageView<const uint8_t> confidence,
                   uint8_t* cells) {
  std::vector<Count> counts(static_cast<size_t>(plan.aheadCells) * plan.leftCells);
  for (int64_t y = 0; y < disparityQ4.height; ++y) {
    for (int64_t x = 0; x < disparityQ4.width; x += plan.stepX) {
      const int16_t disparity = disparityQ4.row(static_cast<int32_t>(y))[x];
      const int64_t d = int64_t{disparity} + plan.offsetQ4;
      if (disparity == kInvalidDisparity || confidence.row(static_cast<int32_t>(y))[x] == 0 || d < kGridLeastQ4)
        continue;
      const int64_t p = plan.a * x + plan.b * y + plan.c, r = 65536 * d - p;
      const bool isAbove = r > d * plan.obstacle + plan.error, isBelow = -r > d * plan.drop + plan.error;
      if (isAbove && r > d * plan.tall) continue;
      int64_t q = isAbove ? d : divided(p, 16);
      if (q < kGridLeastQ4) continue;
      if (q > kGridLargestQ4) q = kGridLargestQ4;
      const int64_t inverse = (int64_t{1} << 30) / q;
      const auto place = [&](const int64_t numerators[3], int64_t shift) {
        const int64_t numerator = numerators[0] * x + numerators[1] * y + numerators[2];
        return divided(divided(numerator * inverse, 30) + shift, 8);
      };
      const int64_t ahead = place(plan.ahead, plan.aheadShift), left = place(plan.left, plan.leftShift);
      if (ahead < 0 || ahead >= plan.aheadCells || left < 0 || left >= plan.leftCells) continue;
      Count& count = counts[static_cast<size_t>(ahead * plan.leftCells + left)];
      if (isAbove) ++count.obstacle;
      else if (isBelow) ++count.drop;
      else ++count.free;
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) cells[i] = stateOf(counts[i], plan.minPixels);
}

}  // namespace depthwatt
