// SPDX-License-Identifier: Apache-2.0
// Computes the row offset from the sums over the samples; see row_offset.h.
#include "row_offset.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {

RowOffset estimateRowOffset(const RowOffsetSums& counted, int32_t fewestSamples, int32_t chanceBits) {
  RowOffset offset;
  if (counted.samples < fewestSamples) return offset;
  const int64_t* lowest = std::min_element(counted.sums, counted.sums + kRowOffsets);
  const auto m = static_cast<int32_t>(lowest - counted.sums) - kMaxRowOffset;
  offset.atLimit = m == -kMaxRowOffset || m == kMaxRowOffset;
  const int64_t ends = std::min(counted.sums[0], counted.sums[kRowOffsets - 1]);
  const int64_t clear = ends - *lowest;
  const bool byChance = clear * clear < int64_t{chanceBits} * chanceBits * counted.samples;
  if (!offset.atLimit && (16 * clear < *lowest || byChance)) return offset;
  offset.known = true;
  offset.quarterRows = 4 * m;
  if (offset.atLimit) return offset;
  const int64_t before = lowest[-1] - *lowest, after = lowest[1] - *lowest, curve = before + after;
  // The fraction is within half a row, so add 2 and subtract it again: for a positive quotient, truncation is the
  // floor.
  if (curve > 0) offset.quarterRows += static_cast<int32_t>((4 * (before - after) + 5 * curve) / (2 * curve)) - 2;
  return offset;
}

RowBands countRowBands(const RowOffsetSearch& search, ImageView<const uint32_t> left, ImageView<const uint32_t> right,
                       RowOffsetCount count) {
  RowBands bands;
  bands.width = left.width;
  // A sample's candidates are left of it, so a band's part of the images starts that much earlier.
  const int32_t before = search.minDisparity + search.numDisparities - 1;
  const int32_t columns = (std::max(left.width - before, 0) + kRowSampleColumns - 1) / kRowSampleColumns;
  bands.columnsOfSamples = columns / kRowBands;
  for (int32_t i = 0; i < kRowBands; ++i) {
    const int32_t first = kRowSampleColumns * bands.columnsOfSamples * i;
    const int32_t end = i + 1 < kRowBands ? before + first + kRowSampleColumns * bands.columnsOfSamples : left.width;
    if (end - first <= before) continue;
    const auto part = [&](ImageView<const uint32_t> image) {
      return ImageView<const uint32_t>{image.data + first, end - first, image.height, image.strideBytes};
    };
    bands.sums[i] = count(search, part(left), part(right));
  }
  return bands;
}

RowOffsetSums mergeSums(const RowBands& bands) {
  RowOffsetSums all;
  for (const RowOffsetSums& one : bands.sums) {
    for (int32_t i = 0; i < kRowOffsets; ++i) all.sums[i] += one.sums[i];
    all.samples += one.samples;
  }
  return all;
}

RowOffset estimateRowOffset(const RowBands& bands) { return estimateRowOffset(mergeSums(bands)); }

RowLine estimateRowLine(const RowBands& bands) {
  RowLine line;
  if (bands.columnsOfSamples == 0) return line;
  int32_t o[kRowBands];
  for (int32_t i = 0; i < kRowBands; ++i) {
    const RowOffset offset = estimateRowOffset(bands.sums[i], kFewestBandSamples, 0);
    if (!offset.known || offset.atLimit) return line;
    o[i] = offset.quarterRows;
  }
  // A band's distance from the line, times 20.
  const int32_t sum = o[0] + o[1] + o[2] + o[3], rise = 3 * (o[3] - o[0]) + o[2] - o[1];
  for (int32_t i = 0; i < kRowBands; ++i) {
    if (std::abs(20 * o[i] - 5 * sum - (2 * i - 3) * rise) > 20 * kBandsOffLine) return line;
  }
  const auto rounded = [](int64_t a, int64_t b) {
    const int64_t n = 2 * a + b, d = 2 * b;
    return static_cast<int32_t>(n >= 0 ? n / d : -((d - 1 - n) / d));
  };
  line.known = true;
  line.middleQuarterRows = rounded(sum, kRowBands);
  line.quarterRowsOverWidth =
      rounded(static_cast<int64_t>(rise) * bands.width, 10 * kRowSampleColumns * bands.columnsOfSamples);
  return line;
}

}  // namespace depthwatt
