// SPDX-License-Identifier: Apache-2.0
// Census transform on CUDA; see census.h.
// One thread computes one pixel; a block of 32 x 8 pixels shares a tile of 40 x 14 grey values (560 bytes), so that each of
// the 62 values a pixel compares comes from shared memory.
#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 32, kTileHeight = 8;
constexpr int kHaloWidth = kTileWidth + 2 * kCensusRadiusX, kHaloHeight = kTileHeight + 2 * kCensusRadiusY;

__global__ void __launch_bounds__(kTileWidth* kTileHeight)
    censusKernel(const uint8_t* leftImage, const uint8_t* rightImage, uint32_t* leftCensus, uint32_t* rightCensus,
                 int width, int height) {
  const uint8_t* image = blockIdx.z == 0 ? leftImage : rightImage;
  uint32_t* census = blockIdx.z == 0 ? leftCensus : rightCensus;
  __shared__ uint8_t tile[kHaloHeight][kHaloWidth + 1];
  const int left = blockIdx.x * kTileWidth - kCensusRadiusX, top = blockIdx.y * kTileHeight - kCensusRadiusY;
  for (int i = threadIdx.y * kTileWidth + threadIdx.x; i < kHaloWidth * kHaloHeight; i += kTileWidth * kTileHeight) {
    const int x = min(max(left + i % kHaloWidth, 0), width - 1);
    const int y = min(max(top + i / kHaloWidth, 0), height - 1);
    tile[i / kHaloWidth][i % kHaloWidth] = image[static_cast<size_t>(y) * width + x];
  }
  __syncthreads();
  const int x = blockIdx.x * kTileWidth + threadIdx.x, y = blockIdx.y * kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  const int cx = threadIdx.x + kCensusRadiusX, cy = threadIdx.y + kCensusRadiusY;
  uint32_t bits = 0;
#pragma unroll
  for (int i = 1; i <= kCensusRadiusX; ++i) {
#pragma unroll
    for (int j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) {
      bits = bits * 2 + (tile[cy + j][cx + i] >= tile[cy - j][cx - i] ? 1 : 0);
    }
  }
#pragma unroll
  for (int j = 1; j <= kCensusRadiusY; ++j) bits = bits * 2 + (tile[cy + j][cx] >= tile[cy - j][cx] ? 1 : 0);
  census[static_cast<size_t>(y) * width + x] = bits;
}

}  // namespace

Status census(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut, int32_t width,
              int32_t height, cudaStream_t stream) {
  const dim3 block(kTileWidth, kTileHeight);
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight, 2);
  censusKernel<<<grid, block, 0, stream>>>(left, right, leftOut, rightOut, width, height);
  return launched("censusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
