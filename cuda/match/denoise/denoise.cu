// SPDX-License-Identifier: Apache-2.0
// Smoothing of a pair on CUDA; see denoise.h. One thread, one pixel of one image. The switch lies in memory, so that a captured
// graph needs no other form when it turns: switched off, the pixels are copied.
#include "denoise.h"

#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

__global__ void __launch_bounds__(256) smoothKernel(const int32_t* on, const uint8_t* left, const uint8_t* right,
                                                    uint8_t* leftOut, uint8_t* rightOut, int width, int height) {
  const uint8_t* const in = blockIdx.z == 0 ? left : right;
  uint8_t* const out = blockIdx.z == 0 ? leftOut : rightOut;
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t at = static_cast<size_t>(y) * width + x;
  if (*on == 0) {
    out[at] = in[at];
    return;
  }
  const uint8_t* const here = in + static_cast<size_t>(y) * width;
  const uint8_t* const above = in + static_cast<size_t>(max(y - 1, 0)) * width;
  const uint8_t* const below = in + static_cast<size_t>(min(y + 1, height - 1)) * width;
  const auto column = [&](int c) { return above[c] + 2 * here[c] + below[c]; };
  const int sum = column(max(x - 1, 0)) + 2 * column(x) + column(min(x + 1, width - 1));
  out[at] = static_cast<uint8_t>((sum + 8) >> 4);
}

}  // namespace

Status smooth(const int32_t* on, const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut,
              int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8, 2);
  smoothKernel<<<grid, dim3(32, 8), 0, stream>>>(on, left, right, leftOut, rightOut, width, height);
  return launched("smoothKernel");
}

}  // namespace gpu
}  // namespace depthwatt
