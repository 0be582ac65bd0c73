// SPDX-License-Identifier: Apache-2.0
// Finds the winners of a row's windows in the kernel that sums them, for at most kGroup disparities: a warp processes
// one pixel at a time, and its lanes are the disparities.
#pragma once

#include "sad_columns.cuh"

namespace depthwatt {
namespace gpu {

/// Winners that the warp has found and not written yet, one pixel per lane, so that results are computed for many at
/// once.
struct SadFound {
  static constexpr int kRows = 32 / kColumnsPerWarp;  ///< rows held at most
  uint32_t best = kNoKey, second = kNoKey;            ///< keys of this lane's pixel
  uint32_t below = 0, above = 0;                      ///< sums next to its best
  int rows = 0, firstRow = 0;

  /// Writes the lanes' pixels. @param from, to the warp's pixels, from the block's first on. @param secondBest this lane's
  /// sum, or 0xffff
  __device__ __forceinline__ void write(const SadArguments& a, int lane, int firstPixel, int from, int to,
                                        int secondBest) {
    const int row = lane / kColumnsPerWarp, pixel = from + lane % kColumnsPerWarp;
    if (row < rows && pixel < to) {
      const size_t at = static_cast<size_t>(firstRow + row) * a.width + firstPixel + pixel;
      const int place = static_cast<int>(best & 0xffffu), least = static_cast<int>(best >> 16);
      int fine = 0;
      if (a.subpixel && place > 0 && place + 1 < a.numDisparities)
        fine = sadFractionQ4(static_cast<int>(below), least, static_cast<int>(above));
      a.result.disparity[at] = static_cast<int16_t>(a.minDisparity + place);
      a.result.disparityQ4[at] = static_cast<int16_t>(16 * (a.minDisparity + place) + fine);
      a.result.confidence[at] =
          secondBest == 0xffff ? uint8_t{0} : static_cast<uint8_t>(255 * (secondBest - least) / max(secondBest, 1));
    }
    rows = 0;
  }
};

/// Returns the sum at a place of the search, from the lane that has it.
__device__ __forceinline__ uint32_t sumAt(uint2 sum, int place) {
  const uint32_t pair = __shfl_sync(kFullWarp, place & 2 ? sum.y : sum.x, place >> 2 & 31);
  return place & 1 ? pair >> 16 : pair & 0xffffu;
}

/// Writes the warp's winners, whose second best are keys.
__device__ __forceinline__ void writeFound(const SadArguments& a, const SadPlace& at, SadFound& found) {
  found.write(a, at.lane, at.firstPixel, at.from, at.to, static_cast<int>(found.second >> 16));
}

/// Finds the winners of image row y from the columns' sums. @param rightKeys [place % 4][place / 4] of the block's
/// partners
template <bool kRight>
__device__ __forceinline__ void sadRowWinners(const SadColumnSums& columns, const SadArguments& a, const SadPlace& at,
                                              int y, uint32_t (*rightKeys)[kPartners / 4], SadFound& found) {
  if (at.from >= at.to) return;
  if (found.rows == 0) found.firstRow = y;
  const int firstPlace = kLaneDisparities * at.lane;
  // All ones outside the search: above every sum.
  uint2 nothing;
  nothing.x = (firstPlace < a.numDisparities ? 0u : 0xffffu) | (firstPlace + 1 < a.numDisparities ? 0u : 0xffff0000u);
  nothing.y =
      (firstPlace + 2 < a.numDisparities ? 0u : 0xffffu) | (firstPlace + 3 < a.numDisparities ? 0u : 0xffff0000u);
  // The right pixels of the lane's cells, one further per pixel.
  constexpr int kRightPixels = kColumnsPerWarp + kLaneDisparities - 1;
  uint32_t rightBest[kRightPixels];
#pragma unroll
  for (int i = 0; i < kRightPixels; ++i) rightBest[i] = kNoKey;

  SadWindow window(columns, at, a.windowWidth);
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) {
    if (at.from + i >= at.to) continue;  // not break: nvcc 13 spills then
    if (i > 0) window.slide(at.from + i);
    const uint2 sum = make_uint2(window.sum.x | nothing.x, window.sum.y | nothing.y);
    const uint32_t place = static_cast<uint32_t>(firstPlace);
    const uint32_t key[kLaneDisparities] = {packPair(place, sum.x), (sum.x & 0xffff0000u) | (place + 1),
                                            packPair(place + 2, sum.y), (sum.y & 0xffff0000u) | (place + 3)};
    const uint32_t best = warpMin(min(min(key[0], key[1]), min(key[2], key[3])));
    const int winner = static_cast<int>(best & 0xffffu);
    uint32_t second = kNoKey;
#pragma unroll
    for (int j = 0; j < kLaneDisparities; ++j) {
      // Neither the winner nor its neighbour.
      const bool apart = static_cast<uint32_t>(firstPlace + j - winner + 1) > 2u;
      second = min(second, apart ? key[j] : kNoKey);
      if (kRight) rightBest[i + kLaneDisparities - 1 - j] = min(rightBest[i + kLaneDisparities - 1 - j], key[j]);
    }
    second = warpMin(second);
    const bool isOwn = at.lane == kColumnsPerWarp * found.rows + i;
    if (isOwn) found.best = best, found.second = second;
    if (a.subpixel) {
      const uint32_t below = sumAt(window.sum, winner - 1), above = sumAt(window.sum, winner + 1);
      if (isOwn) found.below = below, found.above = above;
    }
  }
  if (kRight) {
    // The origin of the block's partners: places of eachColumnsCosts, without the half window to the left.
#pragma unroll
    for (int i = 0; i < kRightPixels; ++i) {
      const int place = at.reachX + at.from + kGroup - kLaneDisparities + i - firstPlace;
      if (rightBest[i] < 0xffff0000u) atomicMin(&rightKeys[place & 3][place >> 2], rightBest[i]);
    }
  }
  if (++found.rows == SadFound::kRows) writeFound(a, at, found);
}

/// Merges the block's right winners of row y into the image's, and clears the block's.
__device__ __forceinline__ void giveRightKeys(const SadArguments& a, const SadPlace& at, int y,
                                              uint32_t (*rightKeys)[kPartners / 4]) {
  for (int i = threadIdx.x; i < kPartners; i += 32 * kSadWarps) {
    const uint32_t key = rightKeys[i & 3][i >> 2];
    rightKeys[i & 3][i >> 2] = kNoKey;
    const int x = at.firstPartner + i;
    if (key != kNoKey && x >= 0) atomicMin(&a.rightKeys[static_cast<size_t>(y) * a.width + x], key);
  }
}

}  // namespace gpu
}  // namespace depthwatt
