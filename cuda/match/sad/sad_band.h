// SPDX-License-Identifier: Apache-2.0
// The interface between the fast form of window SAD and an instruction set's code, and its memory. A vector holds
// `lanes` disparities of one pixel; all of a pixel's disparities are `chunks` vectors.
#pragma once

#include "sad.h"

namespace depthwatt {

/// Columns of one pass down the rows: their sums stay in the first-level cache.
constexpr int32_t kSadStrip = 128;
/// Pixels whose sums are computed before their winners are searched.
constexpr int32_t kSadBlock = 32;
/// Padding of arrays that are processed some pixels at a time.
constexpr int32_t kSadSlack = 64;

/// Bytes of HsvPixel to compare: all, a pixel at once; all used ones, one by one; all but valueHigh, which equals
/// valueLow; valueLow only, twice.
enum class SadChannels { kPixel, kAll, kValueTwice, kOnlyValue };

/// @param pixelCosts the instruction set compares pixels at once
inline SadChannels sadChannels(const HsvWeights& weights, bool pixelCosts) {
  // Both halves of a value are equal if a grey value is two units of each.
  const bool same = hsvUnits(weights) * weights.value == 200;
  if (same && weights.hue == 0 && weights.saturation == 0) return SadChannels::kOnlyValue;
  return pixelCosts ? SadChannels::kPixel : same ? SadChannels::kValueTwice : SadChannels::kAll;
}
/// Returns the bytes per column.
constexpr int32_t sadChannelCount(SadChannels channels) {
  return channels == SadChannels::kPixel        ? static_cast<int32_t>(sizeof(HsvPixel))
         : channels == SadChannels::kAll        ? 6
         : channels == SadChannels::kValueTwice ? 5
                                                : 1;
}
constexpr int32_t sadFirstChannel(SadChannels channels) { return channels == SadChannels::kOnlyValue ? 4 : 0; }

/// One thread's memory.
struct SadScratch {
  uint8_t* costs = nullptr;     ///< [chunks][windowHeight][strip + windowWidth - 1][lanes]
  uint16_t* columns = nullptr;  ///< [chunks][strip + windowWidth - 1][lanes]: sums of windowHeight costs, in two halves
  uint16_t* running = nullptr;  ///< [chunks][lanes]: the window's sum at the end of the last block
  uint16_t* block = nullptr;    ///< [kSadBlock][chunks][lanes]: sums of whole windows
  uint16_t* picked[5] = {};     ///< [kSadBlock + kSadSlack] below, best, above, winner, second
};

/// One thread's rows.
struct SadBand {
  SadParameters parameters;
  int32_t width, height, firstRow, endRow;
  int32_t chunks;
  SadChannels channels;
  /// [height][sadChannelCount][pitch], of whole pixels [height][pitch]: from the right border on, then the first column
  /// repeated.
  const uint8_t* right;
  size_t pitch;
  SadScratch scratch;
  /// [height][pitch] by place, as `right`: smallest sum and its place in the search, for the right image. Null: not
  /// needed.
  uint16_t *rightBest, *rightPlace;
  SadImages images;
  SadResult result;
};

struct SadKernels {
  int32_t lanes;
  bool pixelCosts;
  void (*band)(const SadBand& band);
  /// Writes a row of the right image in the layout of SadBand::right. @param pitch at least the width
  void (*turnRow)(const HsvPixel* row, int32_t width, SadChannels channels, size_t pitch, uint8_t* out);
};

}  // namespace depthwatt
