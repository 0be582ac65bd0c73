// SPDX-License-Identifier: Apache-2.0
// Matching costs on CUDA: one byte a cell, computed once for all paths.
//
// A thread computes four neighbouring pixels times four neighbouring disparities: they see seven right pixels, which two
// 16-byte loads bring. What binds is the population count, 16 lanes per clock and multiprocessor.
#pragma once

#include <cstdint>

#include "../hamming.h"

namespace depthwatt {
namespace gpu {

struct CostArguments {
  const uint32_t* left;
  const uint32_t* right;
  uint8_t* cost;  ///< [height][width][padded]; 255 where d >= numDisparities
  int width, height, minDisparity, numDisparities;
};

constexpr int kCostPixels = 128;

/// Block: kCostPixels pixels of a row.
template <int kPadded>
__global__ void __launch_bounds__(256) costKernel(CostArguments a) {
  constexpr int kWords = kPadded / 4;
  __shared__ __align__(16) uint32_t left[kCostPixels];
  __shared__ __align__(16) uint32_t right[kCostPixels + kPadded];
  const int x0 = blockIdx.x * kCostPixels, y = blockIdx.y;
  const size_t row = static_cast<size_t>(y) * a.width;
  // right[i] is the pixel at x = rightX0 + i.
  const int rightX0 = x0 - a.minDisparity - (kPadded - 1);
  for (int i = threadIdx.x; i < kCostPixels + kPadded; i += 256) {
    const int x = rightX0 + i;
    right[i] = x >= 0 && x < a.width ? a.right[row + x] : 0;
  }
  if (threadIdx.x < kCostPixels && x0 + static_cast<int>(threadIdx.x) < a.width) left[threadIdx.x] = a.left[row + x0 + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < kCostPixels / 4 * kWords; i += 256) {
    const int pixel = i / kWords * 4, word = i % kWords;
    const uint4 own = *reinterpret_cast<const uint4*>(left + pixel);
    const uint4 low = *reinterpret_cast<const uint4*>(right + pixel + kPadded - 4 - 4 * word);
    const uint4 high = *reinterpret_cast<const uint4*>(right + pixel + kPadded - 4 * word);
    const uint32_t lefts[4] = {own.x, own.y, own.z, own.w};
    const uint32_t rights[7] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z};
    // The leftmost right pixel that any of these cells sees.
    const bool inside = rightX0 + pixel + kPadded - 4 - 4 * word >= 0 && 4 * word + 3 < a.numDisparities;
    uint32_t packed[4] = {};
    if (inside) {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
#pragma unroll
        for (int k = 0; k < 4; ++k) packed[p] += static_cast<uint32_t>(__popc(lefts[p] ^ rights[3 + p - k])) << (8 * k);
      }
    } else {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int rightX = rightX0 + pixel + p + kPadded - 1 - 4 * word;  // of the lowest disparity
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          uint32_t c = rightX - k < 0 ? static_cast<uint32_t>(kMaxMatchingCost) : __popc(lefts[p] ^ rights[3 + p - k]);
          if (4 * word + k >= a.numDisparities) c = 255;
          packed[p] += c << (8 * k);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      if (x0 + pixel + p < a.width) {
        *reinterpret_cast<uint32_t*>(a.cost + (row + x0 + pixel + p) * kPadded + 4 * word) = packed[p];
      }
    }
  }
}

}  // namespace gpu
}  // namespace depthwatt
