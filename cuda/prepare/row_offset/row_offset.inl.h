// SPDX-License-Identifier: Apache-2.0
// Fast form of the row offset's sums; compiled once per instruction set.
//
// The candidates of a sample are contiguous in each row of the right image. Bits are counted by adding neighbours in
// place, because no vector set here has a population count of words.

#include "row_offset.h"

namespace {

[[gnu::always_inline]] inline I32 countBitsI32(I32 v) {
  v = subI32(v, andI32(shiftRightI32<1>(v), splatI32(0x55555555)));
  v = addI32(andI32(v, splatI32(0x33333333)), andI32(shiftRightI32<2>(v), splatI32(0x33333333)));
  v = andI32(addI32(v, shiftRightI32<4>(v)), splatI32(0x0f0f0f0f));
  v = addI32(v, shiftRightI32<8>(v));
  return andI32(addI32(v, shiftRightI32<16>(v)), splatI32(63));
}

/// Returns the fewest bits by which one of `count` words differs.
inline int32_t nearestWord(uint32_t own, const uint32_t* words, int32_t count) {
  const I32 wanted = splatI32(static_cast<int32_t>(own));
  I32 least = splatI32(32);
  int32_t i = 0;
  for (; i + kLanesI32 <= count; i += kLanesI32)
    least = minI32(least, countBitsI32(xorI32(wanted, loadI32(words + i))));
  int32_t lowest = 32;
  if (i < count && count >= kLanesI32) {
    least = minI32(least, countBitsI32(xorI32(wanted, loadI32(words + count - kLanesI32))));
  } else {
    for (; i < count; ++i) lowest = lesser(lowest, __builtin_popcount(own ^ words[i]));
  }
  return lesser(lowest, lowestI32(least));
}

inline RowOffsetSums countRowOffset(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                                    ImageView<const uint32_t> right) {
  RowOffsetSums result;
  const int32_t furthest = search.minDisparity + search.numDisparities - 1;
  for (int32_t y = kMaxRowOffset; y < left.height - kMaxRowOffset; y += kRowSampleRows) {
    for (int32_t x = furthest; x < left.width; x += kRowSampleColumns) {
      int32_t costs[kRowOffsets], lowest = 32, highest = 0;
      for (int32_t i = 0; i < kRowOffsets; ++i) {
        costs[i] = nearestWord(left.row(y)[x], right.row(y + i - kMaxRowOffset) + x - furthest, search.numDisparities);
        lowest = lesser(lowest, costs[i]);
        highest = greater(highest, costs[i]);
      }
      if (highest - lowest < kFewestRowSpread) continue;
      for (int32_t i = 0; i < kRowOffsets; ++i) result.sums[i] += costs[i];
      ++result.samples;
    }
  }
  return result;
}

}  // namespace

DEPTHWATT_VECTOR_CODE(RowOffsetKernels, countRowOffset)
