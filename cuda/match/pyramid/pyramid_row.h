// SPDX-License-Identifier: Apache-2.0
// What the fast form of pyramid SAD asks of an instruction set's code: one or two rows of a level.
#pragma once

#include "pyramid.h"

namespace depthwatt {

/// Pixels that may be read beside a row's padding: a vector's.
constexpr int32_t kPyramidSlack = 8;

/// Rows below one row of the level above: they have the same guesses.
constexpr int32_t kPyramidRows = 2;

struct PyramidRows {
  int32_t count;  ///< 1 or kPyramidRows; 1 at the coarsest
  int32_t width;
  int32_t windowWidth, windowHeight;
  /// The windows' rows of both images at pixel 0, those of row r from r on; columns beside the image are there, as far as window
  /// and search reach.
  const HsvPixel *own[kLargestWindow + 1], *partner[kLargestWindow + 1];
  int32_t towards;          ///< -1: partners lie to the left, 1: to the right
  int32_t lowest, highest;  ///< of the level
  const int16_t* coarse;    ///< the level above's row; null at the coarsest
  int32_t peakRatio;
  bool subpixel;
  int16_t* whole[kPyramidRows];
  int16_t* q4[kPyramidRows];          ///< null but at level 0
  uint8_t* confidence[kPyramidRows];  ///< as q4
};

/// Two rows of an image or of a copy, and the row of the copy that they become.
struct PyramidHalving {
  const HsvPixel *above, *below;  ///< 2 width pixels each
  HsvPixel* out;
  int32_t width;  ///< of the copy
  bool fromImage;
};

struct PyramidKernels {
  void (*halve)(const PyramidHalving& rows);
  void (*rows)(const PyramidRows& rows);
};

}  // namespace depthwatt
