// SPDX-License-Identifier: Apache-2.0
// The first kernel of matching on CUDA: matching costs, one byte a cell, computed once for all directions. It is a
// separate kernel so that the kernels of rows, columns and diagonals can run in parallel on its results. Population
// counts limit it: 16 lanes a clock and multiprocessor.
//
// A lane stores 16 bytes of a pixel: eight pairs of cells (see sgm_cells.cuh). It does so for kRun adjacent pixels,
// whose right pixels overlap in a window of kRun + 7 words a half. Shared memory holds the census of the block's
// pixels.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

template <int kPadded>
struct CostShape {
  static constexpr int kThreads = 128, kRun = 8, kPairs = 8;
  static constexpr int kLanes = kPadded / 16;               ///< per pixel
  static constexpr int kPixels = kThreads / kLanes * kRun;  ///< per block, in one row
};

/// @param kWords census words of a pixel, 1 or 2
template <int kPadded, int kWords>
__global__ void __launch_bounds__(CostShape<kPadded>::kThreads) costsKernel(LineArguments a) {
  using Shape = CostShape<kPadded>;
  constexpr int kRun = Shape::kRun, kPairs = Shape::kPairs, kHalf = kPadded / 2, kWindow = kRun + kPairs - 1;
  __shared__ uint32_t leftWords[kWords][Shape::kPixels], rightWords[kWords][Shape::kPixels + kPadded];
  const int x0 = blockIdx.x * Shape::kPixels, y = blockIdx.y, firstRight = x0 - a.minDisparity - kPadded + 1;
  const size_t row = static_cast<size_t>(y) * a.width;
  untilKernelBefore();
  for (int i = threadIdx.x; i < Shape::kPixels + kPadded; i += Shape::kThreads) {
    const size_t right = row + min(max(firstRight + i, 0), a.width - 1), left = row + min(x0 + i, a.width - 1);
    rightWords[0][i] = a.censusRight[right];
    if (i < Shape::kPixels) leftWords[0][i] = a.censusLeft[left];
    if (kWords == 2) rightWords[kWords - 1][i] = a.moreRight[right];
    if (kWords == 2 && i < Shape::kPixels) leftWords[kWords - 1][i] = a.moreLeft[left];
  }
  __syncthreads();
  const int lane = threadIdx.x % Shape::kLanes, firstPair = lane * kPairs, first = threadIdx.x / Shape::kLanes * kRun;
  if (x0 + first >= a.width) return;
  // Pixel first + k and pair j: word k - j + kPairs - 1 of the half's window.
  uint32_t window[kWords][2][kWindow];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        window[w][half][i] = rightWords[w][first + kPadded - 1 - half * kHalf - firstPair - (kPairs - 1) + i];
      }
    }
  }
  const bool plain = a.numDisparities == kPadded && x0 + first - a.minDisparity >= kPadded - 1;
  uint8_t* at = a.cost + (row + x0 + first) * kPadded + 16 * lane;
#pragma unroll
  for (int k = 0; k < kRun; ++k, at += kPadded) {
    uint32_t cost[2 * kPairs];  // in the order of their bytes
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        cost[2 * j + half] = 0;
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
          cost[2 * j + half] +=
              static_cast<uint32_t>(__popc(leftWords[w][first + k] ^ window[w][half][k - j + kPairs - 1]));
        }
      }
    }
    if (!plain) {
#pragma unroll
      for (int i = 0; i < 2 * kPairs; ++i) {
        const int d = firstPair + i / 2 + i % 2 * kHalf, rightX = x0 + first + k - a.minDisparity - d;
        cost[i] = d >= a.numDisparities ? 255u : rightX < 0 ? static_cast<uint32_t>(a.outsideCost) : cost[i];
      }
    }
    uint32_t word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      word[w] = packBytes(cost[4 * w], cost[4 * w + 1], cost[4 * w + 2], cost[4 * w + 3]);
    }
    if (x0 + first + k < a.width) *reinterpret_cast<uint4*>(at) = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

}  // namespace gpu
}  // namespace depthwatt
