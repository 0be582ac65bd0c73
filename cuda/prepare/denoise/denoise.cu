// SPDX-License-Identifier: Apache-2.0
// The noise filter on CUDA; see denoise.h. One thread per pixel of one image; a block holds its pixels with a border of
// 4 and the smoothed ones with a border of 3. The range is in device memory, so that a captured graph stays valid when
// it changes; at 0 the pixels are copied.
#include "denoise.h"

#include "denoise_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kFilterWide = 32, kFilterHigh = 8;
constexpr int kGuideWide = kFilterWide + 2 * kBilateralRadius, kGuideHigh = kFilterHigh + 2 * kBilateralRadius;
constexpr int kHeldWide = kGuideWide + 2, kHeldHigh = kGuideHigh + 2;

__global__ void __launch_bounds__(kFilterWide* kFilterHigh)
    smoothKernel(const int32_t* rangeAt, const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut,
                 int width, int height) {
  const uint8_t* const in = blockIdx.z == 0 ? left : right;
  uint8_t* const out = blockIdx.z == 0 ? leftOut : rightOut;
  const int x = blockIdx.x * kFilterWide + threadIdx.x, y = blockIdx.y * kFilterHigh + threadIdx.y;
  const int range = *rangeAt;
  if (range == 0) {
    if (x < width && y < height) out[static_cast<size_t>(y) * width + x] = in[static_cast<size_t>(y) * width + x];
    return;
  }
  __shared__ uint8_t held[kHeldHigh][kHeldWide];
  __shared__ uint8_t guide[kGuideHigh][kGuideWide];
  const int thread = threadIdx.y * kFilterWide + threadIdx.x;
  const int firstX = static_cast<int>(blockIdx.x) * kFilterWide - kBilateralRadius - 1;
  const int firstY = static_cast<int>(blockIdx.y) * kFilterHigh - kBilateralRadius - 1;
  const auto insideX = [&](int at) { return min(max(at, 0), width - 1); };
  const auto insideY = [&](int at) { return min(max(at, 0), height - 1); };
  for (int i = thread; i < kHeldHigh * kHeldWide; i += kFilterWide * kFilterHigh) {
    const int row = i / kHeldWide, column = i % kHeldWide;
    held[row][column] = in[static_cast<size_t>(insideY(firstY + row)) * width + insideX(firstX + column)];
  }
  __syncthreads();
  for (int i = thread; i < kGuideHigh * kGuideWide; i += kFilterWide * kFilterHigh) {
    // Outside the image the border's smoothed pixel is used, not a smoothed replica.
    const int row = insideY(firstY + 1 + i / kGuideWide) - firstY,
              column = insideX(firstX + 1 + i % kGuideWide) - firstX;
    const int left3 = insideX(firstX + column - 1) - firstX, right3 = insideX(firstX + column + 1) - firstX;
    const int above = insideY(firstY + row - 1) - firstY, below = insideY(firstY + row + 1) - firstY;
    const auto down = [&](int c) { return held[above][c] + 2 * held[row][c] + held[below][c]; };
    guide[i / kGuideWide][i % kGuideWide] =
        static_cast<uint8_t>((down(left3) + 2 * down(column) + down(right3) + 8) >> 4);
  }
  __syncthreads();
  if (x >= width || y >= height) return;
  const int here = guide[threadIdx.y + kBilateralRadius][threadIdx.x + kBilateralRadius];
  int sum = 0, weights = 0;
#pragma unroll
  for (int j = 0; j <= 2 * kBilateralRadius; ++j) {
#pragma unroll
    for (int i = 0; i <= 2 * kBilateralRadius; ++i) {
      const int weight = max(range - abs(guide[threadIdx.y + j][threadIdx.x + i] - here), 0);
      sum += weight * held[threadIdx.y + j + 1][threadIdx.x + i + 1];
      weights += weight;
    }
  }
  out[static_cast<size_t>(y) * width + x] = static_cast<uint8_t>((2 * sum + weights) / (2 * weights));
}

}  // namespace

Status smooth(const int32_t* range, const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut,
              int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kFilterWide - 1) / kFilterWide, (height + kFilterHigh - 1) / kFilterHigh, 2);
  smoothKernel<<<grid, dim3(kFilterWide, kFilterHigh), 0, stream>>>(range, left, right, leftOut, rightOut, width,
                                                                    height);
  return launched("smoothKernel");
}

}  // namespace gpu
}  // namespace depthwatt
