// SPDX-License-Identifier: Apache-2.0
// The fast form of the grid: steps of the plane and of the numerators along a row, and a table of inverses.
#include <cstring>

#include "grid.h"

namespace depthwatt {
namespace {

/// 2^30 / q, 256 KiB.
const uint32_t* inverses() {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> made(kGridLargestQ4 + 1);
    for (uint32_t q = 1; q <= kGridLargestQ4; ++q) made[q] = (uint32_t{1} << 30) / q;
    return made;
  }();
  return table.data();
}

void countRows(const GridPlan& plan, ImageView<const int16_t> disparityQ4, ImageView<const uint8_t> confidence,
               GridCounts* counts, int32_t firstRow, int32_t endRow) {
  const uint32_t* inverse = inverses();
  const int32_t width = disparityQ4.width, step = plan.stepX;
  const auto aheadCells = static_cast<uint64_t>(plan.aheadCells), leftCells = static_cast<uint64_t>(plan.leftCells);
  for (int32_t y = firstRow; y < endRow; ++y) {
    const int16_t* disparities = disparityQ4.row(y);
    const uint8_t* sure = confidence.row(y);
    int64_t p = plan.b * y + plan.c;
    int64_t ahead = plan.ahead[1] * y + plan.ahead[2], left = plan.left[1] * y + plan.left[2];
    for (int32_t x = 0; x < width; x += step) {
      const int64_t d = int64_t{disparities[x]} + plan.offsetQ4, r = d * 65536 - p;
      const bool isCounted = sure[x] != 0 && disparities[x] != kInvalidDisparity && d >= kGridLeastQ4;
      const bool isAbove = r > d * plan.obstacle + plan.error;
      int64_t q = isAbove ? d : p >> 16;
      if (isCounted && q >= kGridLeastQ4 && !(isAbove && r > d * plan.tall)) {
        if (q > kGridLargestQ4) q = kGridLargestQ4;
        const int64_t scale = inverse[q];
        const auto column = static_cast<uint64_t>((((ahead * scale) >> 30) + plan.aheadShift) >> 8);
        const auto row = static_cast<uint64_t>((((left * scale) >> 30) + plan.leftShift) >> 8);
        if (column < aheadCells && row < leftCells) {
          const bool isBelow = -r > d * plan.drop + plan.error;
          ++counts[column * leftCells + row].pixels[isAbove ? kGridOccupied - 1 : isBelow ? kGridDrop - 1 : 0];
        }
      }
      p += plan.a * step, ahead += plan.ahead[0] * step, left += plan.left[0] * step;
    }
  }
}

}  // namespace

void makeGrid(const GridPlan& plan, ImageView<const int16_t> disparityQ4, ImageView<const uint8_t> confidence,
              GridCounts* counts, uint8_t* cells, Workers& workers) {
  const size_t size = static_cast<size_t>(plan.aheadCells) * static_cast<size_t>(plan.leftCells);
  const int32_t height = disparityQ4.height, team = workers.count();
  // Near rows are in few cells, far ones in many: each worker takes every team-th block of 8 rows.
  workers.each([&](int worker) {
    GridCounts* own = counts + size * static_cast<size_t>(worker);
    std::memset(own, 0, size * sizeof *own);
    for (int32_t y = 8 * worker; y < height; y += 8 * team) {
      countRows(plan, disparityQ4, confidence, own, y, y + 8 < height ? y + 8 : height);
    }
  });
  for (size_t i = 0; i < size; ++i) {
    int32_t occupied = 0, drop = 0, free = 0;
    for (size_t at = i; at < size * static_cast<size_t>(team); at += size) {
      const int32_t* n = counts[at].pixels;
      occupied += n[kGridOccupied - 1], drop += n[kGridDrop - 1], free += n[kGridFree - 1];
    }
    cells[i] = occupied >= plan.minPixels                   ? kGridOccupied
               : drop >= plan.minPixels                     ? kGridDrop
               : free >= 1 && free >= 8 * (occupied + drop) ? kGridFree
                                                            : kGridUnknown;
  }
}

}  // namespace depthwatt
