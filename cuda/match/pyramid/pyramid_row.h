// SPDX-License-Identifier: Apache-2.0
// The interface between the fast form of pyramid SAD and an instruction set's code: one or two rows of a level.
#pragma once

#include "pyramid.h"

namespace depthwatt {

/// Pixels that may be read beyond a row's padding: a vector.
constexpr int32_t kPyramidSlack = 8;

/// Rows below one row of the level above, which share their guesses.
constexpr int32_t kPyramidRows = 2;

struct PyramidRows {
  int32_t count;  ///< 1 or kPyramidRows; 1 at the coarsest
  int32_t width;
  int32_t windowWidth, windowHeight;
  /// Rows of the windows in both images at pixel 0; row r's window starts at index r. Padding columns exist as far as
  /// window and search read.
  const HsvPixel *own[kLargestWindow + 1], *partner[kLargestWindow + 1];
  int32_t towards;          ///< -1: partners are to the left, 1: to the right
  int32_t lowest, highest;  ///< of the level
  const int16_t* coarse;    ///< the level above's row; null at the coarsest
  int32_t peakRatio;
  bool subpixel;
  int16_t* whole[kPyramidRows];
  int16_t* q4[kPyramidRows];          ///< null except at level 0
  uint8_t* confidence[kPyramidRows];  ///< null like q4
};

/// Two rows of an image or of a copy, and the row of the copy made from them.
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
