// SPDX-License-Identifier: Apache-2.0
// What the fast form of pyramid SAD asks of an instruction set's code: a row of one level.
#pragma once

#include "pyramid.h"

namespace depthwatt {

/// Pixels that may be read beside a row's padding: a vector's.
constexpr int32_t kPyramidSlack = 8;

struct PyramidRow {
  int32_t width;
  int32_t windowWidth, windowHeight;
  /// The window's rows of both images at pixel 0; columns beside the image are there, as far as window and search reach.
  const HsvPixel *own[kLargestWindow], *partner[kLargestWindow];
  int32_t towards;          ///< -1: partners lie to the left, 1: to the right
  int32_t lowest, highest;  ///< of the level
  const int16_t* coarse;    ///< the level above's row; null at the coarsest
  int32_t peakRatio;
  bool subpixel;
  int16_t* whole;
  int16_t* q4;          ///< null but at level 0
  uint8_t* confidence;  ///< as q4
};

struct PyramidKernels {
  void (*row)(const PyramidRow& row);
};

}  // namespace depthwatt
