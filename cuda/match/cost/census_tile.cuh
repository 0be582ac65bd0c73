// SPDX-License-Identifier: Apache-2.0
// Shared CUDA code of the census transforms: a block's tile of grey values with its border in shared memory, and the
// bits of comparisons of opposite pixels (Hernandez-Juarez et al. 2016, eq. 1). One thread computes one pixel and reads
// every value from the tile.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace depthwatt {
namespace gpu {

/// kTileWidth x kTileHeight pixels, one thread each, and kRadiusX, kRadiusY more on each side, replicated at the image's border.
template <int kRadiusX, int kRadiusY>
struct CensusTile {
  static constexpr int kTileWidth = 32, kTileHeight = 8;
  static constexpr int kWidth = kTileWidth + 2 * kRadiusX, kHeight = kTileHeight + 2 * kRadiusY;

  uint8_t grey[kHeight][kWidth + 1];

  /// Loads the tile. All threads of the block call it; it ends with a barrier.
  __device__ __forceinline__ void load(const uint8_t* image, int width, int height) {
    const int left = blockIdx.x * kTileWidth - kRadiusX, top = blockIdx.y * kTileHeight - kRadiusY;
    for (int i = threadIdx.y * kTileWidth + threadIdx.x; i < kWidth * kHeight; i += kTileWidth * kTileHeight) {
      const int x = min(max(left + i % kWidth, 0), width - 1);
      const int y = min(max(top + i / kWidth, 0), height - 1);
      grey[i / kWidth][i % kWidth] = image[static_cast<size_t>(y) * width + x];
    }
    __syncthreads();
  }

  /// Returns the grey value at an offset from this thread's pixel.
  __device__ __forceinline__ int at(int dx, int dy) const {
    return grey[threadIdx.y + kRadiusY + dy][threadIdx.x + kRadiusX + dx];
  }

  /// Returns the bits from the highest on: the columns right of the centre, nearest first, each from the top; then the
  /// centre's column downwards.
  __device__ __forceinline__ uint32_t bits() const {
    uint32_t bits = 0;
#pragma unroll
    for (int i = 1; i <= kRadiusX; ++i) {
#pragma unroll
      for (int j = -kRadiusY; j <= kRadiusY; ++j) bits = bits * 2 + (at(i, j) >= at(-i, -j) ? 1 : 0);
    }
#pragma unroll
    for (int j = 1; j <= kRadiusY; ++j) bits = bits * 2 + (at(0, j) >= at(0, -j) ? 1 : 0);
    return bits;
  }

  static dim3 block() { return dim3(kTileWidth, kTileHeight); }
  static dim3 grid(int width, int height, int images) {
    return dim3((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight, images);
  }
};

}  // namespace gpu
}  // namespace depthwatt
