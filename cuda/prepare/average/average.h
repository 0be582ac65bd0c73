// SPDX-License-Identifier: Apache-2.0
// Averages each pixel's grey level over the last frames, except where something moves, and gives the matcher an image with less noise.
// For each pixel p of an image I, with m its mean so far in 1/16 grey values, n its weight before the frame (0: no frame yet):
//   d(q)     8 I(q) - floor(m(q) / 2): the change, in 1/8 grey values
//   moved    |sum of d over the 3 x 3 pixels around p| > limit, or |d(p)| > floor(4 limit / 9)
//   limit    216 + 22 range: three grey values in the mean of nine, more where the pair is noisy (range: see prepare/denoise)
//   n = 0 or moved   m = 16 I, n = 1
//   else             m += floor((16 I - m + 2^(k-1)) / 2^k), k = 1, 2, 2, 3 for n = 1, 2, 3, 4; n = min(n + 1, kAverageWeight)
//   result   n >= kAverageShown: floor((m + 8) / 16); else the pixel of `filtered`
// in   image, filtered [height][width] uint8: the image as it was rectified, and as the noise filter leaves it (the same without one)
// i/o  state [height][width] int16, n << 12 | m: before is read, after is written. All zeros is the empty state.
// out  averaged [height][width] uint8; it may be filtered's memory.
// edge border pixels replicated.   ties: as written.   same bits on every backend: integer only.
// Source: none of the papers. README.md gives the reason for each limit.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kAverageWeight = 4;   ///< from here on a new frame has a weight of 1/8
constexpr int32_t kAverageShown = 3;    ///< a mean with less weight is noisier than a filtered pixel
constexpr int32_t kAverageMean = 4095;  ///< the bits of the mean in the state

/// Returns the limit for a pair that the noise filter smooths with this range; 0: without a filter.
constexpr int32_t averageLimit(int32_t smoothRange) { return 216 + 22 * smoothRange; }
constexpr int32_t kMaxAverageLimit = 216 + 22 * 36;

struct AverageTask {
  ImageView<const uint8_t> image, filtered;
  ImageView<const int16_t> before;
  ImageView<int16_t> after;
  ImageView<uint8_t> averaged;
  int32_t limit = 0;  ///< averageLimit(), at most kMaxAverageLimit
};

void averageReference(const AverageTask& task);

/// The fast form computes rows [firstRow, endRow).
using AverageRows = void (*)(const AverageTask& task, int32_t firstRow, int32_t endRow);
struct AverageKernels {
  AverageRows average;
};

}  // namespace depthwatt
