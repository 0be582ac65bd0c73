// SPDX-License-Identifier: Apache-2.0
// Boundary vote on CUDA; see boundary.h.
// One thread decides one pixel; a block of 32 x 8 pixels shares a tile of 40 x 16 disparities and grey values. Most warps find
// no step and end after the extremes.
#include "boundary.h"

#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 32, kTileHeight = 8, kRadius = kBoundaryRadius;
constexpr int kHaloWidth = kTileWidth + 2 * kRadius, kHaloHeight = kTileHeight + 2 * kRadius;
constexpr int kInvalid = kInvalidDisparity;

__global__ void __launch_bounds__(kTileWidth* kTileHeight)
    boundaryKernel(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int width, int height) {
  __shared__ int16_t disparities[kHaloHeight][kHaloWidth + 2];
  __shared__ uint8_t greys[kHaloHeight][kHaloWidth + 4];
  const int left = blockIdx.x * kTileWidth - kRadius, top = blockIdx.y * kTileHeight - kRadius;
  for (int i = threadIdx.y * kTileWidth + threadIdx.x; i < kHaloWidth * kHaloHeight; i += kTileWidth * kTileHeight) {
    const int x = min(max(left + i % kHaloWidth, 0), width - 1);
    const int y = min(max(top + i / kHaloWidth, 0), height - 1);
    disparities[i / kHaloWidth][i % kHaloWidth] = disparityQ4[static_cast<size_t>(y) * width + x];
    greys[i / kHaloWidth][i % kHaloWidth] = grey[static_cast<size_t>(y) * width + x];
  }
  __syncthreads();
  const int x = blockIdx.x * kTileWidth + threadIdx.x, y = blockIdx.y * kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  const int cx = threadIdx.x + kRadius, cy = threadIdx.y + kRadius;
  const int centre = disparities[cy][cx];
  const size_t index = static_cast<size_t>(y) * width + x;
  result[index] = static_cast<int16_t>(centre);
  if (centre == kInvalid) return;

  int lo = centre, hi = centre;
  for (int j = -kRadius; j <= kRadius; ++j) {
#pragma unroll
    for (int i = -kRadius; i <= kRadius; ++i) {
      const int d = disparities[cy + j][cx + i];
      lo = d == kInvalid ? lo : min(lo, d);
      hi = max(hi, d);
    }
  }
  if (hi - lo <= kBoundaryStepQ4) return;
  const int mid = (lo + hi) >> 1, own = greys[cy][cx];
  int vote = 0;
  for (int j = -kRadius; j <= kRadius; ++j) {
#pragma unroll
    for (int i = -kRadius; i <= kRadius; ++i) {
      const int d = disparities[cy + j][cx + i];
      const int weight = d == kInvalid ? 0 : max(kBoundaryGrey - abs(static_cast<int>(greys[cy + j][cx + i]) - own), 0);
      vote += d > mid ? weight : -weight;
    }
  }
  const bool near = centre > mid;
  if (vote == 0 || (vote > 0) == near) return;
  int closest = 1 << 30, value = centre;
  for (int j = -kRadius; j <= kRadius; ++j) {
    for (int i = -kRadius; i <= kRadius; ++i) {
      if (x + i < 0 || x + i >= width || y + j < 0 || y + j >= height) continue;
      const int d = disparities[cy + j][cx + i];
      if (d == kInvalid || (d > mid) == near || i * i + j * j >= closest) continue;
      closest = i * i + j * j;
      value = d;
    }
  }
  result[index] = static_cast<int16_t>(value);
}

}  // namespace

Status boundary(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int32_t width, int32_t height,
                cudaStream_t stream) {
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight);
  boundaryKernel<<<grid, dim3(kTileWidth, kTileHeight), 0, stream>>>(grey, disparityQ4, result, width, height);
  return launched("boundaryKernel");
}

}  // namespace gpu
}  // namespace depthwatt
