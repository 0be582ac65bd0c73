// SPDX-License-Identifier: Apache-2.0
// The definition of the row offset; see row_offset.h.
#include "row_offset.h"

#include <cmath>

namespace depthwatt {
namespace {

int32_t distance(uint32_t a, uint32_t b) {
  int32_t count = 0;
  for (uint32_t differing = a ^ b; differing != 0; differing /= 2) count += differing % 2 != 0 ? 1 : 0;
  return count;
}

/// Estimates from the samples whose column, counted in samples, is in [firstSample, endSample).
RowOffset offsetOfColumns(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                          ImageView<const uint32_t> right, int32_t firstSample, int32_t endSample,
                          int32_t fewestSamples, int32_t chanceBits) {
  int64_t sums[9] = {};
  int32_t samples = 0;
  for (int32_t y = 4; y < left.height - 4; y += 6) {
    for (int32_t i = firstSample; i < endSample; ++i) {
      const int32_t x = search.minDisparity + search.numDisparities - 1 + 5 * i;
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
  if (samples < fewestSamples) return offset;
  int32_t m = -4;
  for (int32_t dy = -3; dy <= 4; ++dy) {
    if (sums[dy + 4] < sums[m + 4]) m = dy;
  }
  const bool atEnd = m == -4 || m == 4;
  for (int end = 0; end < 9; end += 8) {
    const bool alike = 16 * sums[end] < 17 * sums[m + 4];
    const bool byChance = static_cast<double>(sums[end] - sums[m + 4]) < chanceBits * std::sqrt(samples);
    if (!atEnd && (alike || byChance)) return offset;
  }
  offset.known = true;
  offset.quarterRows = 4 * m;
  offset.atLimit = atEnd;
  if (offset.atLimit) return offset;
  const int64_t n = 4 * (sums[m + 3] - sums[m + 5]), q = sums[m + 3] + sums[m + 5] - 2 * sums[m + 4];
  if (q <= 0) return offset;
  // Rounded down, whereas the division rounds towards 0.
  const int64_t a = n + q, b = 2 * q;
  offset.quarterRows += static_cast<int32_t>(a / b - (a % b < 0 ? 1 : 0));
  return offset;
}

int32_t columnsOfSamples(const RowOffsetSearch& search, int32_t width) {
  int32_t count = 0;
  for (int32_t x = search.minDisparity + search.numDisparities - 1; x < width; x += 5) ++count;
  return count;
}

int32_t roundedHalfUp(double value) { return static_cast<int32_t>(std::floor(value + 0.5)); }

}  // namespace

RowOffset rowOffsetReference(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                             ImageView<const uint32_t> right) {
  return offsetOfColumns(search, left, right, 0, columnsOfSamples(search, left.width), 200, 8);
}

RowLine rowLineReference(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                         ImageView<const uint32_t> right) {
  const int32_t columns = columnsOfSamples(search, left.width), each = columns / 4;
  RowLine line;
  if (each == 0) return line;
  double o[4], middle = 0;
  for (int32_t i = 0; i < 4; ++i) {
    const RowOffset band = offsetOfColumns(search, left, right, i * each, i == 3 ? columns : (i + 1) * each, 50, 0);
    if (!band.known || band.atLimit) return line;
    o[i] = band.quarterRows;
    middle += o[i] / 4;
  }
  // Least squares through (-1.5, o0), (-0.5, o1), (0.5, o2), (1.5, o3), in twentieths: whole numbers, which doubles
  // hold exactly.
  const double slope20 = 2 * (3 * (o[3] - o[0]) + o[2] - o[1]);
  for (int32_t i = 0; i < 4; ++i) {
    if (std::fabs(20 * (o[i] - middle) - slope20 * (i - 1.5)) > 40) return line;
  }
  line.known = true;
  line.middleQuarterRows = roundedHalfUp(middle);
  // A band is 5 each columns wide. The quotient is never so close to a half that a double misses it, unless it is one.
  line.quarterRowsOverWidth = roundedHalfUp(slope20 * left.width / (100.0 * each));
  return line;
}

}  // namespace depthwatt
