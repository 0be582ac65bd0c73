// SPDX-License-Identifier: Apache-2.0
// From the sums over the samples to the row offset; see row_offset.h.
#include "row_offset.h"

#include <algorithm>

namespace depthwatt {

RowOffset rowOffsetOf(const RowOffsetSums& counted) {
  RowOffset offset;
  if (counted.samples < kFewestRowSamples) return offset;
  const int64_t* lowest = std::min_element(counted.sums, counted.sums + kRowOffsets);
  const auto m = static_cast<int32_t>(lowest - counted.sums) - kMaxRowOffset;
  offset.atLimit = m == -kMaxRowOffset || m == kMaxRowOffset;
  const int64_t ends = std::min(counted.sums[0], counted.sums[kRowOffsets - 1]);
  if (!offset.atLimit && 16 * (ends - *lowest) < *lowest) return offset;
  offset.known = true;
  offset.quarterRows = 4 * m;
  if (offset.atLimit) return offset;
  const int64_t before = lowest[-1] - *lowest, after = lowest[1] - *lowest, curve = before + after;
  // The fraction lies within half a row, so 2 is added and taken off again: of a positive quotient, truncation is the floor.
  if (curve > 0) offset.quarterRows += static_cast<int32_t>((4 * (before - after) + 5 * curve) / (2 * curve)) - 2;
  return offset;
}

}  // namespace depthwatt
