// SPDX-License-Identifier: Apache-2.0
// Wide census on CUDA; see wide_census.h and, for the tile (444 bytes), census_tile.cuh.
#include "wide_census.h"

#include "wide_census_gpu.h"
#include "../census_tile.cuh"

namespace depthwatt {
namespace gpu {
namespace {

using Tile = CensusTile<kWideCensusRadius, kWideCensusRadius>;

/// Passed by value in the kernel's arguments, because device code cannot read host constants.
struct WideThresholds {
  int16_t at[kWideGradientBits];
};

struct WideCensusImages {
  const uint8_t* image[2];
  uint32_t *first[2], *second[2];
};

__global__ void __launch_bounds__(256)
    wideCensusKernel(WideCensusImages images, int width, int height, WideThresholds thresholds) {
  __shared__ Tile tile;
  const bool isRight = blockIdx.z != 0;
  tile.load(isRight ? images.image[1] : images.image[0], width, height);
  const int x = blockIdx.x * Tile::kTileWidth + threadIdx.x, y = blockIdx.y * Tile::kTileHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  uint32_t first = 0, second = 0;
  const auto append = [](uint32_t& word, int u, int v) { word = word * 2 + (u >= v ? 1 : 0); };
  const int centre = tile.at(0, 0);
#pragma unroll
  for (int place = 0; place < 25; ++place) {
    const int value = tile.at(place % 5 - kWideCensusRadius, place / 5 - kWideCensusRadius);
    if (place < 12) append(first, value, centre);
    if (place > 12) append(second, value, centre);
  }
  const int horizontal = tile.at(1, 0) - tile.at(-1, 0), vertical = tile.at(0, 1) - tile.at(0, -1);
#pragma unroll
  for (int k = 0; k < kWideGradientBits; ++k) {
    append(first, horizontal, thresholds.at[k]);
    append(second, vertical, thresholds.at[k]);
  }
  const size_t at = static_cast<size_t>(y) * width + x;
  (isRight ? images.first[1] : images.first[0])[at] = first;
  (isRight ? images.second[1] : images.second[0])[at] = second;
}

}  // namespace

Status wideCensus(const uint8_t* left, const uint8_t* right, uint32_t* leftFirst, uint32_t* leftSecond,
                  uint32_t* rightFirst, uint32_t* rightSecond, int32_t width, int32_t height, cudaStream_t stream) {
  WideThresholds thresholds;
  for (int k = 0; k < kWideGradientBits; ++k) thresholds.at[k] = kWideThresholds[k];
  const WideCensusImages images = {{left, right}, {leftFirst, rightFirst}, {leftSecond, rightSecond}};
  wideCensusKernel<<<Tile::grid(width, height, 2), Tile::block(), 0, stream>>>(images, width, height, thresholds);
  return launched("wideCensusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
