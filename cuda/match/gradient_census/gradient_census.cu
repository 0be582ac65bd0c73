// SPDX-License-Identifier: Apache-2.0
// Gradient census on CUDA; see gradient_census.h.
// One thread computes one pixel; a block of 32 x 8 pixels shares a tile of 36 x 12 grey values.
#include "gradient_census.h"

#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 32, kTileHeight = 8, kRadius = kGradientCensusRadius;
constexpr int kHaloWidth = kTileWidth + 2 * kRadius, kHaloHeight = kTileHeight + 2 * kRadius;

/// By value in the kernel's arguments: host constants are not visible to device code.
struct Thresholds {
  int16_t values[kGradientBits];
};

__global__ void __launch_bounds__(kTileWidth* kTileHeight)
    gradientCensusKernel(const uint8_t* image, uint32_t* census, int width, int height, Thresholds thresholds) {
  __shared__ uint8_t tile[kHaloHeight][kHaloWidth + 1];
  const int left = blockIdx.x * kTileWidth - kRadius, top = blockIdx.y * kTileHeight - kRadius;
  for (int i = threadIdx.y * kTileWidth + threadIdx.x; i < kHaloWidth * kHaloHeight; i += kTileWidth * kTileHeight) {
    const int x = min(max(left + i % kHaloWidth, 0), width - 1);
    const int y = min(max(top + i / kHaloWidth, 0), height - 1);
    tile[i / kHaloWidth][i % kHaloWidth] = image[static_cast<size_t>(y) * width + x];
  }
  __syncthreads();
  const int x = blockIdx.x * kTileWidth + threadIdx.x, y = blockIdx.y * kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  const int cx = threadIdx.x + kRadius, cy = threadIdx.y + kRadius;
  uint32_t bits = 0;
#pragma unroll
  for (int i = 1; i <= kRadius; ++i) {
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j) {
      bits = bits * 2 + (tile[cy + j][cx + i] >= tile[cy - j][cx - i] ? 1 : 0);
    }
  }
#pragma unroll
  for (int j = 1; j <= kRadius; ++j) bits = bits * 2 + (tile[cy + j][cx] >= tile[cy - j][cx] ? 1 : 0);
  const int gradient = static_cast<int>(tile[cy][cx + 1]) - static_cast<int>(tile[cy][cx - 1]);
#pragma unroll
  for (int k = 0; k < kGradientBits; ++k) bits = bits * 2 + (gradient >= thresholds.values[k] ? 1 : 0);
  census[static_cast<size_t>(y) * width + x] = bits;
}

}  // namespace

Status gradientCensus(const uint8_t* image, uint32_t* out, int32_t width, int32_t height, cudaStream_t stream) {
  Thresholds thresholds;
  for (int k = 0; k < kGradientBits; ++k) thresholds.values[k] = kGradientThresholds[k];
  const dim3 block(kTileWidth, kTileHeight);
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight);
  gradientCensusKernel<<<grid, block, 0, stream>>>(image, out, width, height, thresholds);
  return launched("gradientCensusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
