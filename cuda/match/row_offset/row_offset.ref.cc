// SPDX-License-Identifier: Apache-2.0
// The definition of the row offset; see row_offset.h.
#include "row_offset.h"

namespace depthwatt {
namespace {

int32_t distance(uint32_t a, uint32_t b) {
  int32_t count = 0;
  for (uint32_t differing = a ^ b; differing != 0; differing /= 2) count += differing % 2 != 0 ? 1 : 0;
  return count;
}

}  // namespace

RowOffset rowOffsetReference(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                             ImageView<const uint32_t> right) {
  int64_t sums[9] = {};
  int32_t samples = 0;
  for (int32_t y = 4; y < left.height - 4; y += 6) {
    for (int32_t x = search.minDisparity + search.numDisparities - 1; x < left.width; x += 5) {
      int32_t costs[9], lowest = 32, highest = 0;
      for (int32_t dy = -4; dy <= 4; ++dy) {
        int32_t best = 32;
        for (int32_t d = search.minDisparity; d < search.minDisparity + search.numDisparities; ++d) {
          const int32_t cost = distance(left.row(y)[x], right.row(y + dy)[x - d]);
          if (cost < best) best = cost;
        }
        costs[dy + 4] = best;
        if (best < lowest) lowest = best;
        if (best > highest) highest = best;
      }
      if (highest - lowest < 4) continue;
      for (int32_t i = 0; i < 9; ++i) sums[i] += costs[i];
      ++samples;
    }
  }
  RowOffset offset;
  if (samples < 200) return offset;
  int32_t m = -4;
  for (int32_t dy = -3; dy <= 4; ++dy) {
    if (sums[dy + 4] < sums[m + 4]) m = dy;
  }
  const bool atEnd = m == -4 || m == 4;
  if (!atEnd && (16 * sums[0] < 17 * sums[m + 4] || 16 * sums[8] < 17 * sums[m + 4])) return offset;
  offset.known = true;
  offset.quarterRows = 4 * m;
  offset.atLimit = atEnd;
  if (offset.atLimit) return offset;
  const int64_t n = 4 * (sums[m + 3] - sums[m + 5]), q = sums[m + 3] + sums[m + 5] - 2 * sums[m + 4];
  if (q <= 0) return offset;
  // Rounded down, where the division rounds towards 0.
  const int64_t a = n + q, b = 2 * q;
  offset.quarterRows += static_cast<int32_t>(a / b - (a % b < 0 ? 1 : 0));
  return offset;
}

}  // namespace depthwatt
