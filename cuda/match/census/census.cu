// SPDX-License-Identifier: Apache-2.0
// Census transform on CUDA, both images in one launch; see census.h and, for the tile (560 bytes), census_tile.cuh.
#include "../../gpu/kernels.h"
#include "../census_tile.cuh"

namespace depthwatt {
namespace gpu {
namespace {

using Tile = CensusTile<kCensusRadiusX, kCensusRadiusY>;

__global__ void __launch_bounds__(256)
    censusKernel(const uint8_t* leftImage, const uint8_t* rightImage, uint32_t* leftCensus, uint32_t* rightCensus,
                 int width, int height) {
  __shared__ Tile tile;
  tile.load(blockIdx.z == 0 ? leftImage : rightImage, width, height);
  const int x = blockIdx.x * Tile::kTileWidth + threadIdx.x, y = blockIdx.y * Tile::kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  uint32_t* census = blockIdx.z == 0 ? leftCensus : rightCensus;
  census[static_cast<size_t>(y) * width + x] = tile.bits();
}

}  // namespace

Status census(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut, int32_t width,
              int32_t height, cudaStream_t stream) {
  censusKernel<<<Tile::grid(width, height, 2), Tile::block(), 0, stream>>>(left, right, leftOut, rightOut, width, height);
  return launched("censusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
