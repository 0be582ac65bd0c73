// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: the layout of volumes, shared by its kernels. coarse-to-fine.md explains them.
//
// A volume is [tile][slot][cell] bytes. Pixel (x, y) of a tile has slot 8 y + (x ^ y), so that the pixels of a row and
// those of a column both lie in different banks of shared memory. kLanes lanes walk a line and hold 16 cells each: 2 lanes
// for the 8 blocks of a guided search, 4 for the 16 blocks of a complete one. A register pairs a cell of entry k of the
// tile's list of blocks with the same cell of entry k + 2 kLanes.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

template <int kLanes>
struct GuidedShape {
  static constexpr bool kGuided = kLanes == 2;  ///< tiles have their own blocks; else blocks 0 to 15
  static constexpr int kCells = 16 * kLanes, kEntries = 4 * kLanes;
  static constexpr int kTileBytes = kTileSide * kTileSide * kCells;
  static constexpr int kLines = 32 / kLanes, kTiles = kLines / kTileSide;  ///< of a warp
  static_assert(kGuided ? kEntries == kGuidedBlocks : kCells == kFullRange, "the cells of a pixel");
};

/// What the kernels of a level read and write.
struct GuidedArguments {
  const uint32_t *censusLeft, *censusRight;
  const uint32_t *moreLeft, *moreRight;  ///< the second words, if there are two
  const uint8_t* grey;                   ///< only for adaptive P2
  const uint2* lists;                    ///< of a guided search: a tile's blocks, a byte each, rising
  uint8_t *cost, *rows, *columns;        ///< volumes: costs, sums of excesses along rows and along columns
  /// Adaptive P2 by tile: of a pixel and the one left of it, [y][x], and of a pixel and the one above it, [x][y].
  uint2 *p2Rows, *p2Columns;
  int width, height, tilesAcross, tilesDown;
  int minDisparity, numDisparities, paths, p1, p2, adaptiveP2, outsideCost;
  int blocks;          ///< of the whole range
  uint32_t costPaths;  ///< what multiplies the costs in the columns' sums: the paths if all sums fit bytes, else 0
  uint32_t one;        ///< 1: see addByMultiplying
};

/// Returns the two pairs of cells of a stored word: its even bytes, or its odd ones.
__device__ __forceinline__ uint32_t evenBytes(uint32_t word) { return word & 0x00ff00ffu; }
__device__ __forceinline__ uint32_t oddBytes(uint32_t word) { return __byte_perm(word, 0, 0x4341); }

/// Returns a * factor + b in one instruction.
__device__ __forceinline__ uint32_t multiplyAdd(uint32_t a, uint32_t factor, uint32_t b) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t result;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(factor), "r"(b));
  return result;
#else
  return a * factor + b;
#endif
}

/// Returns a + b, computed as a * one + b. The units that compute minima also add, and they are the limit; those that
/// multiply are idle. `one` is an argument of the kernel: compilers turn a multiplication by a known 1 into an addition.
__device__ __forceinline__ uint32_t addByMultiplying(uint32_t a, uint32_t b, uint32_t one) {
  return multiplyAdd(a, one, b);
}

/// Returns entry k of a tile's list.
__device__ __forceinline__ int blockAt(uint2 list, int k) {
  return static_cast<int>((k < 4 ? list.x : list.y) >> (8 * (k & 3)) & 255u);
}

}  // namespace gpu
}  // namespace depthwatt
