// SPDX-License-Identifier: Apache-2.0
// Gradient census on CUDA; see gradient_census.h and, for the tile (444 bytes), census_tile.cuh.
#include "gradient_census.h"

#include "gradient_census_gpu.h"
#include "../census_tile.cuh"

namespace depthwatt {
namespace gpu {
namespace {

using Tile = CensusTile<kGradientCensusRadius, kGradientCensusRadius>;

/// Passed by value in the kernel's arguments, because device code cannot read host constants.
struct Thresholds {
  int16_t values[kGradientBits];
};

__global__ void __launch_bounds__(256)
    gradientCensusKernel(const uint8_t* image, uint32_t* census, int width, int height, Thresholds thresholds) {
  __shared__ Tile tile;
  tile.load(image, width, height);
  const int x = blockIdx.x * Tile::kTileWidth + threadIdx.x, y = blockIdx.y * Tile::kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  uint32_t bits = tile.bits();
  const int gradient = tile.at(1, 0) - tile.at(-1, 0);
#pragma unroll
  for (int k = 0; k < kGradientBits; ++k) bits = bits * 2 + (gradient >= thresholds.values[k] ? 1 : 0);
  census[static_cast<size_t>(y) * width + x] = bits;
}

}  // namespace

Status gradientCensus(const uint8_t* image, uint32_t* out, int32_t width, int32_t height, cudaStream_t stream) {
  Thresholds thresholds;
  for (int k = 0; k < kGradientBits; ++k) thresholds.values[k] = kGradientThresholds[k];
  gradientCensusKernel<<<Tile::grid(width, height, 1), Tile::block(), 0, stream>>>(image, out, width, height,
                                                                                   thresholds);
  return launched("gradientCensusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
