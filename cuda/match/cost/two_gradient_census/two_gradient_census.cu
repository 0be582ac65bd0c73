// SPDX-License-Identifier: Apache-2.0
// Two-gradient census on CUDA; see two_gradient_census.h and, for the tile (444 bytes), census_tile.cuh.
#include "two_gradient_census.h"

#include "two_gradient_census_gpu.h"
#include "../census_tile.cuh"

namespace depthwatt {
namespace gpu {
namespace {

using Tile = CensusTile<kTwoGradientCensusRadius, kTwoGradientCensusRadius>;

/// Passed by value in the kernel's arguments, because device code cannot read host constants.
struct Thresholds {
  int16_t horizontal[kHorizontalBits], vertical[kVerticalBits];
};

__global__ void __launch_bounds__(256)
    twoGradientCensusKernel(const uint8_t* left, const uint8_t* right, uint32_t* censusLeft, uint32_t* censusRight,
                            int width, int height, Thresholds thresholds) {
  __shared__ Tile tile;
  tile.load(blockIdx.z == 0 ? left : right, width, height);
  const int x = blockIdx.x * Tile::kTileWidth + threadIdx.x, y = blockIdx.y * Tile::kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  uint32_t bits = 0;
  const auto append = [&](int u, int v) { bits = bits * 2 + (u >= v ? 1 : 0); };
#pragma unroll
  for (int k = 1; k <= kTwoGradientCensusRadius; ++k) {
    append(tile.at(k, -k), tile.at(-k, k));
    append(tile.at(k, 0), tile.at(-k, 0));
    append(tile.at(k, k), tile.at(-k, -k));
    append(tile.at(0, k), tile.at(0, -k));
  }
  const int horizontal = tile.at(1, 0) - tile.at(-1, 0), vertical = tile.at(0, 1) - tile.at(0, -1);
#pragma unroll
  for (int k = 0; k < kHorizontalBits; ++k) append(horizontal, thresholds.horizontal[k]);
#pragma unroll
  for (int k = 0; k < kVerticalBits; ++k) append(vertical, thresholds.vertical[k]);
  (blockIdx.z == 0 ? censusLeft : censusRight)[static_cast<size_t>(y) * width + x] = bits;
}

}  // namespace

Status twoGradientCensus(const uint8_t* left, const uint8_t* right, uint32_t* censusLeft, uint32_t* censusRight,
                         int32_t width, int32_t height, cudaStream_t stream) {
  Thresholds thresholds;
  for (int k = 0; k < kHorizontalBits; ++k) thresholds.horizontal[k] = kHorizontalThresholds[k];
  for (int k = 0; k < kVerticalBits; ++k) thresholds.vertical[k] = kVerticalThresholds[k];
  twoGradientCensusKernel<<<Tile::grid(width, height, 2), Tile::block(), 0, stream>>>(
      left, right, censusLeft, censusRight, width, height, thresholds);
  return launched("twoGradientCensusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
