// SPDX-License-Identifier: Apache-2.0
// Takes the disparity and confidence that a pair brings (PixelFormat::kGreyDisparity) in place of a match.
// in   captured: the right image [height][width] uint8, then the disparity [height][width] int16 in little-endian order, 1/16 px, then
//      the confidence [height][width] uint8, all of the rectified images' size
// out  disparity as it came; a value outside 0 to 2047 px is kInvalidDisparity, with confidence 0. A valid disparity of confidence 0 is a
//      filled one.
// edge none: pixels are independent.   same bits on every backend.
// Plain C++14: nvcc reads it too.
#pragma once

#include "../stage.h"

#ifdef __CUDACC__
#define DEPTHWATT_BOTH __host__ __device__
#else
#define DEPTHWATT_BOTH
#endif

namespace depthwatt {

struct ForeignMatch {
  const uint8_t* disparity;
  const uint8_t* confidence;
  int32_t imageWidth;

  /// Reads one pixel of the window. Bytes: an image of odd size leaves the disparity at an odd address.
  DEPTHWATT_BOTH void read(int32_t x, int32_t y, int16_t* disparityQ4, uint8_t* certainty) const {
    const size_t at = static_cast<size_t>(y) * static_cast<size_t>(imageWidth) + static_cast<size_t>(x);
    const uint8_t low = disparity[2 * at], high = disparity[2 * at + 1];
    const int16_t found = static_cast<int16_t>(static_cast<uint16_t>(low | high << 8));
    const bool valid = found >= 0 && found <= 16 * kMaxDisparity;
    *disparityQ4 = valid ? found : kInvalidDisparity;
    *certainty = valid ? confidence[at] : uint8_t{0};
  }
};

/// @param captured the whole right image with its planes
inline ForeignMatch foreignMatch(const uint8_t* captured, const StageTask& task) {
  const size_t width = static_cast<size_t>(task.frame.width), pixels = width * static_cast<size_t>(task.frame.height);
  const size_t corner = static_cast<size_t>(task.window.y) * width + static_cast<size_t>(task.window.x);
  return {captured + pixels + 2 * corner, captured + 3 * pixels + corner, task.frame.width};
}

}  // namespace depthwatt
