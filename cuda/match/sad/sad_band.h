// SPDX-License-Identifier: Apache-2.0
// What the fast form of window SAD asks of an instruction set's code, and the memory that it works in. A vector holds `lanes`
// disparities of one pixel; all of a pixel's disparities are `chunks` vectors.
#pragma once

#include "sad.h"

namespace depthwatt {

/// Columns that one pass down the rows takes: their sums stay in the first-level cache.
constexpr int32_t kSadStrip = 128;
/// Pixels whose sums are formed before their winners are looked for.
constexpr int32_t kSadBlock = 32;
/// Arrays that are finished some pixels at once have so many more.
constexpr int32_t kSadSlack = 64;

/// Bytes of HsvPixel that are compared: all, a pixel at once; all that are used, one by one; those but valueHigh, which is valueLow
/// again; valueLow alone, twice.
enum class SadChannels { kPixel, kAll, kValueTwice, kOnlyValue };

/// pixelCosts: the instruction set compares pixels at once.
inline SadChannels sadChannelsOf(const HsvWeights& weights, bool pixelCosts) {
  // Both halves of a value are the same where a grey value is two units of each.
  const bool same = hsvUnits(weights) * weights.value == 200;
  if (same && weights.hue == 0 && weights.saturation == 0) return SadChannels::kOnlyValue;
  return pixelCosts ? SadChannels::kPixel : same ? SadChannels::kValueTwice : SadChannels::kAll;
}
/// Bytes of a column.
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
  uint16_t* running = nullptr;  ///< [chunks][lanes]: the window's sum where the last block ended
  uint16_t* block = nullptr;    ///< [kSadBlock][chunks][lanes]: sums of whole windows
  uint16_t* picked[5] = {};     ///< [kSadBlock + kSadSlack] below, best, above, winner, second
};

/// One thread's rows.
struct SadBand {
  SadParameters parameters;
  int32_t width, height, firstRow, endRow;
  int32_t chunks;
  SadChannels channels;
  /// [height][sadChannelCount][pitch], of whole pixels [height][pitch]: from the right border on, then the first column again and
  /// again.
  const uint8_t* right;
  size_t pitch;
  SadScratch scratch;
  /// [height][pitch] by place, as `right`: smallest sum and its place in the search, for the right image. Null: not wanted.
  uint16_t *rightBest, *rightPlace;
  SadImages images;
  SadResult result;
};

struct SadKernels {
  int32_t lanes;
  bool pixelCosts;
  void (*band)(const SadBand& band);
  /// A row of the right image as SadBand::right has it; pitch at least the width.
  void (*turnRow)(const HsvPixel* row, int32_t width, SadChannels channels, size_t pitch, uint8_t* out);
};

}  // namespace depthwatt
