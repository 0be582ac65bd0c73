// SPDX-License-Identifier: Apache-2.0
// Local planes on CUDA; see slant.h.
// One thread computes one pixel. Taps are read through the first-level cache: those of 32 neighbours are adjacent.
#include "slant_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kInvalid = kInvalidDisparity;

__global__ void __launch_bounds__(256)
    slantKernel(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  untilKernelBefore();
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  const int centre = disparityQ4[index], own = grey[index];
  if (centre == kInvalid) {
    result[index] = kInvalidDisparity;
    return;
  }
  int n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, sd = 0, sdx = 0, sdy = 0;
  int lowest = 0, highest = 0;
#pragma unroll
  for (int j = -kSlantTaps; j <= kSlantTaps; ++j) {
    const int row = y + kSlantSpacing * j;
    if (row < 0 || row >= height) continue;
    int rowN = 0, rowX = 0, rowD = 0;
#pragma unroll
    for (int i = -kSlantTaps; i <= kSlantTaps; ++i) {
      const int column = x + kSlantSpacing * i;
      if (column < 0 || column >= width) continue;
      const size_t at = static_cast<size_t>(row) * width + column;
      const int value = disparityQ4[at], delta = value - centre;
      if (value == kInvalid || abs(delta) > kSlantStepQ4 || abs(grey[at] - own) > kSlantGrey) continue;
      rowN += 1;
      rowX += i;
      sxx += i * i;
      rowD += delta;
      sdx += i * delta;
      lowest = min(lowest, delta);
      highest = max(highest, delta);
    }
    n += rowN;
    sx += rowX;
    sy += j * rowN;
    sxy += j * rowX;
    syy += j * j * rowN;
    sd += rowD;
    sdy += j * rowD;
  }
  const float a = static_cast<float>(8 * (n * sxx - sx * sx) + n * n);
  const float c = static_cast<float>(8 * (n * syy - sy * sy) + n * n);
  const float b = static_cast<float>(8 * (n * sxy - sx * sy));
  const float p = static_cast<float>(8 * (n * sdx - sx * sd));
  const float q = static_cast<float>(8 * (n * sdy - sy * sd));
  const float det = a * c - b * b;
  const float tilt = static_cast<float>(sx) * (p * c - q * b) + static_cast<float>(sy) * (q * a - p * b);
  const float v = (static_cast<float>(sd) * det - tilt) / (static_cast<float>(n) * det);
  result[index] = static_cast<int16_t>(centre + min(max(static_cast<int>(floorf(v + 0.5f)), lowest), highest));
}

}  // namespace

Status slant(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int32_t width, int32_t height,
             cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(slantKernel));
  return launch("slantKernel", slantKernel, LaunchShape{grid, dim3(32, 8), 0, stream, overlaps}, grey, disparityQ4,
                result, width, height);
}

}  // namespace gpu
}  // namespace depthwatt
