// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: the matching costs of the searched cells, a byte each, and the adaptive P2 of every two
// neighbouring pixels. A thread computes two blocks of the 8 pixels of a tile's row.
//
// A cell beyond the range costs 255. Its path cost stays more than 127 above the smallest one, so it never lowers a
// neighbour. Pixels beyond the image cost 0 in every cell: a path that begins there reaches the image as it began.
#pragma once

#include "guided_tile.cuh"

namespace depthwatt {
namespace gpu {

template <int kLanes>
struct GuidedCostShape {
  static constexpr int kThreads = 128, kRounds = 2;
  static constexpr int kRowThreads = 2 * kLanes;                                 ///< of a tile's row
  static constexpr int kTiles = kRounds * kThreads / (kTileSide * kRowThreads);  ///< of a block, side by side
  static constexpr int kPixels = kTiles * kTileSide;                             ///< of a row
  static __host__ __device__ int rightWords(int blocks) { return (kPixels + kBlockDisparities * blocks) | 1; }
  static __host__ __device__ int sharedBytes(int blocks, int words) {
    return 4 * words * kTileSide * (kPixels + 1 + rightWords(blocks));
  }
};

/// Returns the P2 between each of 8 pixels of a line and the one before.
__device__ __forceinline__ uint2 lineP2(const GuidedArguments& a, int x, int y, int dx, int dy) {
  const auto greyAt = [&](int step) {
    const int px = min(max(x + step * dx, 0), a.width - 1), py = min(max(y + step * dy, 0), a.height - 1);
    return static_cast<int>(a.grey[static_cast<size_t>(py) * a.width + px]);
  };
  uint32_t p2[kTileSide];
  int before = greyAt(-1);
#pragma unroll
  for (int i = 0; i < kTileSide; ++i) {
    const int own = greyAt(i);
    p2[i] = static_cast<uint32_t>(max(a.p1, a.p2 - ((a.adaptiveP2 * abs(own - before)) >> 4)));
    before = own;
  }
  return make_uint2(packBytes(p2[0], p2[1], p2[2], p2[3]), packBytes(p2[4], p2[5], p2[6], p2[7]));
}

/// @param kWords census words of a pixel. Dynamic shared memory: sharedBytes()
template <int kLanes, int kWords, bool kAdaptive>
__global__ void __launch_bounds__(GuidedCostShape<kLanes>::kThreads) guidedCostsKernel(GuidedArguments a) {
  using Shape = GuidedShape<kLanes>;
  using Block = GuidedCostShape<kLanes>;
  constexpr int kReach = kTileSide + kBlockDisparities - 1;  // words of the right image that a block needs
  extern __shared__ __align__(16) uint32_t words[];
  const int firstX = blockIdx.x * Block::kPixels, y0 = blockIdx.y * kTileSide;
  const int range = kBlockDisparities * a.blocks, rightStride = Block::rightWords(a.blocks);
  constexpr int kLeftStride = Block::kPixels + 1;
  uint32_t* const rightWords = words + kWords * kTileSide * kLeftStride;
  untilKernelBefore();
  const int firstRight = firstX - a.minDisparity - range + 1;
  for (int r = threadIdx.x / 32; r < kTileSide; r += Block::kThreads / 32) {
    const size_t row = static_cast<size_t>(min(y0 + r, a.height - 1)) * a.width;
    for (int i = threadIdx.x & 31; i < Block::kPixels + range - 1; i += 32) {
      const size_t right = row + min(max(firstRight + i, 0), a.width - 1), left = row + min(firstX + i, a.width - 1);
      rightWords[r * rightStride + i] = a.censusRight[right];
      if (i < Block::kPixels) words[r * kLeftStride + i] = a.censusLeft[left];
      if (kWords == 1) continue;
      rightWords[(kTileSide + r) * rightStride + i] = a.moreRight[right];
      if (i < Block::kPixels) words[(kTileSide + r) * kLeftStride + i] = a.moreLeft[left];
    }
  }
  if (kAdaptive) {  // a line of a tile for each thread
    constexpr int kLinesOfTile = 2 * kTileSide;
    const int i = threadIdx.x / kTileSide % Block::kTiles, n = threadIdx.x % kTileSide;
    const int across = blockIdx.x * Block::kTiles + i;
    const bool isRow = static_cast<int>(threadIdx.x) < Block::kPixels;
    if (static_cast<int>(threadIdx.x) < kLinesOfTile * Block::kTiles && across < a.tilesAcross) {
      const int x = across * kTileSide + (isRow ? 0 : n), y = y0 + (isRow ? n : 0);
      const size_t line = (static_cast<size_t>(blockIdx.y) * a.tilesAcross + across) * kTileSide + n;
      (isRow ? a.p2Rows : a.p2Columns)[line] = isRow ? lineP2(a, x, y, 1, 0) : lineP2(a, x, y, 0, 1);
    }
  }
  __syncthreads();
  constexpr int kTileThreads = kTileSide * Block::kRowThreads;
  const int r = threadIdx.x % kTileThreads / Block::kRowThreads, entry = threadIdx.x % Block::kRowThreads;
#pragma unroll 1
  for (int round = 0; round < Block::kRounds; ++round) {
    const int i = round * (Block::kThreads / kTileThreads) + threadIdx.x / kTileThreads;
    const int across = blockIdx.x * Block::kTiles + i, x0 = firstX + i * kTileSide;
    if (across >= a.tilesAcross) continue;
    const size_t tile = static_cast<size_t>(blockIdx.y) * a.tilesAcross + across;
    int block[2] = {entry, entry + Block::kRowThreads};
    if (Shape::kGuided) {
      const uint2 list = a.lists[tile];
      block[0] = blockAt(list, entry), block[1] = blockAt(list, entry + Block::kRowThreads);
    }
    // Word n is of the right pixel x0 + n - 3 - minDisparity - 4 block.
    uint32_t window[2][kWords][kReach], left[kWords][kTileSide];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t* const right = rightWords + (w * kTileSide + r) * rightStride + i * kTileSide + range;
#pragma unroll
      for (int b = 0; b < 2; ++b) {
#pragma unroll
        for (int n = 0; n < kReach; ++n) window[b][w][n] = right[n - kBlockDisparities * (block[b] + 1)];
      }
#pragma unroll
      for (int p = 0; p < kTileSide; ++p) left[w][p] = words[(w * kTileSide + r) * kLeftStride + i * kTileSide + p];
    }
    const int furthest = kBlockDisparities * max(block[0], block[1]) + kBlockDisparities - 1;
    uint8_t* const to = a.cost + tile * Shape::kTileBytes + r * kTileSide * Shape::kCells + 8 * entry;
    const auto writeAs = [&](auto careful) {
#pragma unroll
      for (int p = 0; p < kTileSide; ++p) {
        uint32_t cost[2][kBlockDisparities];
#pragma unroll
        for (int b = 0; b < 2; ++b) {
#pragma unroll
          for (int d = 0; d < kBlockDisparities; ++d) {
            cost[b][d] = 0;
#pragma unroll
            for (int w = 0; w < kWords; ++w)
              cost[b][d] += static_cast<uint32_t>(__popc(left[w][p] ^ window[b][w][p - d + kBlockDisparities - 1]));
            if (!decltype(careful)::value) continue;
            const int disparity = kBlockDisparities * block[b] + d;
            if (x0 + p - a.minDisparity - disparity < 0) cost[b][d] = static_cast<uint32_t>(a.outsideCost);
            if (disparity >= a.numDisparities) cost[b][d] = 255;
            if (x0 + p >= a.width || y0 + r >= a.height) cost[b][d] = 0;
          }
        }
        *reinterpret_cast<uint2*>(to + (p ^ r) * Shape::kCells) =
            make_uint2(packBytes(cost[0][0], cost[0][1], cost[1][0], cost[1][1]),
                       packBytes(cost[0][2], cost[0][3], cost[1][2], cost[1][3]));
      }
    };
    if (furthest < a.numDisparities && x0 - a.minDisparity - furthest >= 0 && x0 + kTileSide <= a.width &&
        y0 + r < a.height) {
      writeAs(Plain());
    } else {
      writeAs(Careful());
    }
  }
}

}  // namespace gpu
}  // namespace depthwatt
