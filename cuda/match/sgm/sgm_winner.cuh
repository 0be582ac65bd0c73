// SPDX-License-Identifier: Apache-2.0
// Shared by both forms of the selection: the arithmetic per pixel, one pixel per lane.
#pragma once

#include <cstdint>

#include "../../../core/image.h"

namespace depthwatt {
namespace gpu {

struct SelectArguments {
  const uint8_t* cost;
  const uint8_t*
      sums[4];  ///< of the directions along rows and columns (together or separate), and of each pair of diagonals
  int16_t* disparityQ4;
  int16_t* disparity;
  int16_t* rightDisparity;  ///< may be null
  uint8_t* confidence;
  uint32_t* rightKeys;  ///< rows that select: [height][width + padded / 2], keys that left a walk
  int width, height;
  int minDisparity, numDisparities, paths, uniqueness;
  int holeColumns;  ///< at the left border: no disparity there
  bool subpixel, leftRight, outsideMayWin;

  /// Returns the number of candidates of the left view's pixel x, from minDisparity on.
  __device__ __forceinline__ int candidates(int x) const {
    return outsideMayWin ? numDisparities : min(numDisparities, x - minDisparity + 1);
  }
};

constexpr int kNoSum = 0xffff;

struct Winner {
  int d0;                         ///< -1 = no candidate
  int sum, second, below, above;  ///< S(d0), the smallest further away, S(d0 - 1), S(d0 + 1); kNoSum = none
};

struct Selected {
  int16_t q4, whole;
  uint8_t confidence;
};

/// Returns floor(a / b) for |a| and b below 2^24 and |a / b| below 2^20, by a float division, which takes a third of
/// the time of an integer division. The float quotient is off by at most one, which the remainder corrects.
__device__ __forceinline__ int floorDivide(int a, int b) {  // b > 0
  int quotient = static_cast<int>(__fdividef(static_cast<float>(a), static_cast<float>(b)));
  const int rest = a - quotient * b;
  if (rest < 0) --quotient;
  if (rest >= b) ++quotient;
  return quotient;
}

__device__ __forceinline__ Selected finished(const SelectArguments& a, const Winner& w, int x) {
  Selected s = {kInvalidDisparity, kInvalidDisparity, 0};
  if (w.d0 < 0 || (a.outsideMayWin && (a.minDisparity + w.d0 > x || x < a.holeColumns))) return s;
  s.whole = static_cast<int16_t>(a.minDisparity + w.d0);
  const bool secondBest = w.second != kNoSum;
  if (a.uniqueness > 0 && secondBest && w.second * (100 - a.uniqueness) < 100 * w.sum) return s;
  int delta = 0;
  if (a.subpixel && w.below != kNoSum && w.above != kNoSum) {
    const int q = w.below + w.above - 2 * w.sum;
    if (q > 0) delta = floorDivide(16 * (w.below - w.above) + q, 2 * q);
  }
  s.q4 = static_cast<int16_t>(16 * s.whole + delta);
  if (secondBest) s.confidence = static_cast<uint8_t>(floorDivide(255 * (w.second - w.sum), max(w.second, 1)));
  return s;
}

/// Checks one pixel whose right view is known against it, and stores the results. rightWinner(xr) returns the disparity
/// without minDisparity, or -1 without a candidate; xr is inside the row.
template <class RightWinner>
__device__ __forceinline__ void writeChecked(const SelectArguments& a, int y, int x, Selected s,
                                             RightWinner rightWinner) {
  const size_t at = static_cast<size_t>(y) * a.width + x;
  if (a.leftRight) {
    const int xr = x - s.whole;
    bool keep = false;
    if (s.whole != kInvalidDisparity && xr >= 0 && xr < a.width) {
      const int winner = rightWinner(xr);
      keep = winner >= 0 && abs(s.whole - (a.minDisparity + winner)) <= 1;
    }
    if (!keep) s.q4 = kInvalidDisparity, s.confidence = 0;
  }
  a.disparityQ4[at] = s.q4;
  a.disparity[at] = s.whole;
  a.confidence[at] = s.confidence;
  if (a.rightDisparity != nullptr) {
    const int winner = rightWinner(x);
    a.rightDisparity[at] = winner < 0 ? kInvalidDisparity : static_cast<int16_t>(a.minDisparity + winner);
  }
}

}  // namespace gpu
}  // namespace depthwatt
