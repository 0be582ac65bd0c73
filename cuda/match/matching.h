// SPDX-License-Identifier: Apache-2.0
// Shared by the stages of match/: the parameters of a search and the images of its results.
#pragma once

#include "../../core/image.h"

namespace depthwatt {

constexpr int32_t kMaxP2 = 1023;
/// With this cost (cost/hamming.h) a candidate outside the right image never wins.
constexpr int32_t kNeverOutside = 63;
/// Where a candidate outside may win, columns with no more candidates than this inside the right image become holes.
constexpr int32_t kFewestCandidates = 8;
/// The sum of a cell that coarse-to-fine search leaves out; every other sum is smaller.
constexpr uint16_t kNotSearched = 65535;
constexpr int32_t kMinNumDisparities = 8;
constexpr int32_t kMaxNumDisparities = 512;
/// The upper limit of minDisparity + numDisparities, so that the largest disparity fits disparityQ4.
constexpr int32_t kMaxDisparity = 2047;

struct SgmParameters {
  int32_t minDisparity = 0;      ///< 0 or more
  int32_t numDisparities = 128;  ///< 8 to 512
  int32_t paths = 4;             ///< 2, 4 or 8
  int32_t p1 = 10;               ///< 1 to p2
  int32_t p2 = 60;               ///< p1 to kMaxP2
  int32_t adaptiveP2 = 0;        ///< alpha, 0 to 255; 0 = P2 is constant
  int32_t uniqueness = 0;        ///< percent, 0 to 99; 0 = no test
  bool subpixel = true;
  int32_t outsideCost =
      kNeverOutside;  ///< cost of a candidate outside the right image, 0 to 63; below 63 it may win: select.h

  int32_t words = 1;  ///< census words per pixel, 1 or 2; their distances add up to the matching cost

  bool outsideMayWin() const { return outsideCost < kNeverOutside; }
  /// Returns the number of columns at the left border that are always holes.
  int32_t holeColumns(int32_t width) const {
    const int32_t few = minDisparity + kFewestCandidates;
    return !outsideMayWin() ? 0 : few < width / 8 ? few : width / 8;
  }
};

/// Results of the images' size. rightDisparity and confidence may be empty (data = nullptr): then they are not
/// computed.
struct SgmResult {
  ImageView<int16_t> disparityQ4;     ///< 1/16 px, absolute; kInvalidDisparity = none or not unique
  ImageView<int16_t> disparity;       ///< whole pixels: the left winner d0 before sub-pixel, for the left-right check
  ImageView<int16_t> rightDisparity;  ///< whole pixels, from the right image; kInvalidDisparity = no candidate
  ImageView<uint8_t> confidence;      ///< select.h
};

/// What a selection finds, [steps][groups]: each winner, its sum, and the sums next to it.
struct Picked {
  uint16_t *winner = nullptr, *below = nullptr, *best = nullptr, *above = nullptr;
};

}  // namespace depthwatt
