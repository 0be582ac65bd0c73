// SPDX-License-Identifier: Apache-2.0
// Windows and their winners if costs fit shared memory as bytes, a window's height of rows: each cost is computed once,
// and the old row's costs are read back. A warp has eight columns and eight pixels. Its neighbours read prefix sums of
// its columns: a window ends in one of them, in this warp's own or in those of the next one or two. A wide block
// (windows nine wide, if shared memory holds it) has twice the pixels: 17 warps replace two blocks of nine, more evenly
// on four schedulers, with one barrier a row.
#pragma once

#include "sad_winners.cuh"

namespace depthwatt {
namespace gpu {

/// Threads per block that the kernel is compiled for. Before 7.0 compilers spill registers at 320, and no window's
/// costs fit a block anyway.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
constexpr int kRingThreads = 320;
#else
constexpr int kRingThreads = 160;
#endif
/// Pixels of a block, and of a wide one, whose windows are nine wide.
constexpr int kRingPixels = 64, kWideRingPixels = 128, kWideRingThreads = 544;

inline int sadRingWarps(int pixels, int windowWidth) {
  return pixels / kColumnsPerWarp + (windowWidth / 2 * 2 + kColumnsPerWarp - 1) / kColumnsPerWarp;
}
/// Returns the number of right pixels that the columns are compared with.
__host__ __device__ inline int sadRingPartners(int warps) { return warps * kColumnsPerWarp + kGroup; }
/// Returns the columns' sums per block: of a row, or of two rows without the first warp's, which has no neighbour to
/// read them.
__host__ __device__ inline int sadRingSums(bool wide, int columns) {
  return wide ? 2 * (columns - kColumnsPerWarp) : columns;
}
inline size_t sadRingBytes(const SadParameters& p, int pixels, bool right) {
  const int warps = sadRingWarps(pixels, p.windowWidth), columns = warps * kColumnsPerWarp;
  const int partners = sadRingPartners(warps), sums = sadRingSums(pixels > kRingPixels, columns);
  return static_cast<size_t>(p.windowHeight) * columns * kGroup + static_cast<size_t>(sums) * 32 * sizeof(uint2) +
         2 * static_cast<size_t>(columns + partners) * sizeof(uint2) + (right ? 2 * partners * sizeof(uint32_t) : 0);
}

/// Masks that exclude a winner and its neighbours from the second best: [winner - a lane's first place + 1], 6 if none
/// of them is among the lane's four.
__device__ const uint2 kWinnerMasks[7] = {
    {0x0000ffffu, 0u}, {0xffffffffu, 0u}, {0xffffffffu, 0x0000ffffu}, {0xffff0000u, 0xffffffffu}, {0u, 0xffffffffu},
    {0u, 0xffff0000u}, {0u, 0u}};

__device__ __forceinline__ uint32_t lesserHalf(uint32_t pair) {
  return CellU16::min(pair, __byte_perm(pair, 0, 0x1032));
}

/// Returns the shared memory slot of element i of `count`, stored as [i % 4][i / 4]: lanes four elements apart have no
/// bank conflict.
__device__ __forceinline__ int slotIndex(int i, int count) { return (i & 3) * (count / 4) + (i >> 2); }

/// Makes keys from the sums of a lane's four places in the search.
struct SadLaneKeys {
  int firstPlace;
  uint32_t raise[2];                 ///< factor for the sum of an even place; 0 outside the search
  uint32_t place[kLaneDisparities];  ///< added to the raised sum; kNoKey outside the search
  uint2 unsearched;                  ///< mask of the places outside the search

  __device__ __forceinline__ SadLaneKeys(int lane, int numDisparities) : firstPlace(kLaneDisparities * lane) {
#pragma unroll
    for (int j = 0; j < kLaneDisparities; ++j) {
      const bool searched = firstPlace + j < numDisparities;
      place[j] = searched ? static_cast<uint32_t>(firstPlace + j) : kNoKey;
      if (j % 2 == 0) raise[j / 2] = searched ? 65536u : 0u;
    }
    unsearched = make_uint2((place[0] >> 31) * 0xffffu | (place[1] >> 31) * 0xffff0000u,
                            (place[2] >> 31) * 0xffffu | (place[3] >> 31) * 0xffff0000u);
  }
  __device__ __forceinline__ void of(uint2 sum, uint32_t (&key)[kLaneDisparities]) const {
    key[0] = sum.x * raise[0] + place[0], key[1] = (sum.x & 0xffff0000u) | place[1];
    key[2] = sum.y * raise[1] + place[2], key[3] = (sum.y & 0xffff0000u) | place[3];
  }
};

/// A block's shared memory, and the place of the block and its warps.
template <bool kNine, bool kWide>
struct SadRing {
  static constexpr int kPixels = kWide ? kWideRingPixels : kRingPixels;

  const SadArguments& a;
  const int warps, columns, partners;
  uint4* const costs;         ///< [row % window height][warp][two][lane]: a byte each
  uint2* const sums;          ///< [column][lane], from each warp's first column on
  uint2* const leftRows;      ///< [turn][column]
  uint2* const rightRows;     ///< [turn][slotIndex partner]
  uint32_t* const rightKeys;  ///< the same
  const int warp, lane, reachX, reachY, firstPixel, firstColumn, firstRow, endRow, firstPartner;
  const int own;  ///< the warp's first column
  // Columns outside the image are empty; the nearest inside replaces them.
  const int lowest, highest;
  const int pixels;  ///< of the warp

  __device__ __forceinline__ SadRing(const SadArguments& arguments, uint4* shared)
      : a(arguments), warps(blockDim.x / 32), columns(warps * kColumnsPerWarp), partners(sadRingPartners(warps)),
        costs(shared), sums(reinterpret_cast<uint2*>(costs + a.windowHeight * warps * 64)),
        leftRows(sums + sadRingSums(kWide, columns) * 32), rightRows(leftRows + 2 * columns),
        rightKeys(reinterpret_cast<uint32_t*>(rightRows + 2 * partners)), warp(threadIdx.x / 32),
        lane(threadIdx.x % 32), reachX(kNine ? 4 : a.windowWidth / 2), reachY(a.windowHeight / 2),
        firstPixel(blockIdx.x * kPixels), firstColumn(firstPixel - reachX), firstRow(blockIdx.y * a.bandRows),
        endRow(min(firstRow + a.bandRows, a.height)), firstPartner(firstColumn - a.minDisparity - (kGroup - 1)),
        own(warp * kColumnsPerWarp), lowest(max(-firstColumn, 0) - own), highest(a.width - 1 - firstColumn - own),
        pixels(warp < kPixels / kColumnsPerWarp ? min(kColumnsPerWarp, a.width - firstPixel - own) : 0) {}

  __device__ __forceinline__ size_t rowStart(int y) const {
    return static_cast<size_t>(min(max(y, 0), a.height - 1)) * a.width;
  }
  __device__ __forceinline__ uint2 leftAt(size_t start, int column) const {
    return a.left[start + min(max(firstColumn + column, 0), a.width - 1)];
  }
  __device__ __forceinline__ uint2 rightAt(size_t start, int partner) const {
    return a.right[start + min(max(firstPartner + partner, 0), a.width - 1)];
  }

  /// Copies row y of both images.
  __device__ __forceinline__ void stage(int turn, int y) const {
    const size_t start = rowStart(y);
    for (int i = threadIdx.x; i < partners; i += blockDim.x)
      rightRows[turn * partners + slotIndex(i, partners)] = rightAt(start, i);
    if (static_cast<int>(threadIdx.x) < columns)
      leftRows[turn * columns + threadIdx.x] = leftAt(start, static_cast<int>(threadIdx.x));
  }

  __device__ __forceinline__ void emptyRightKeys() const {
    for (int i = threadIdx.x; i < 2 * partners; i += blockDim.x) rightKeys[i] = kNoKey;
  }
  /// Merges the block's right winners of row y into the image's, and clears them.
  __device__ __forceinline__ void giveRight(int turn, int y) const {
    for (int i = threadIdx.x; i < partners; i += blockDim.x) {
      uint32_t& kept = rightKeys[turn * partners + slotIndex(i, partners)];
      const uint32_t key = kept;
      kept = kNoKey;
      const int x = firstPartner + i;
      if (key != kNoKey && x >= 0) atomicMin(&a.rightKeys[static_cast<size_t>(y) * a.width + x], key);
    }
  }
  /// @param met keys of the lane's right pixels, one further per pixel
  template <int kRightPixels>
  __device__ __forceinline__ void mergeRight(int turn, int firstPlace,
                                             const uint32_t (&rightBest)[kRightPixels]) const {
#pragma unroll
    for (int i = 0; i < kRightPixels; ++i) {
      const int at = reachX + own + kGroup - kLaneDisparities + i - firstPlace;
      if (rightBest[i] < 0xffff0000u) atomicMin(&rightKeys[turn * partners + slotIndex(at, partners)], rightBest[i]);
    }
  }

  /// Computes the costs of the warp's columns, as pairs for the sums and as bytes for the ring.
  __device__ __forceinline__ void costsOfRow(int turn, int firstPlace, uint32_t (&bytes)[kColumnsPerWarp],
                                             uint2 (&pairs)[kColumnsPerWarp]) const {
    const uint2* const leftRow = leftRows + turn * columns;
    const uint2* const rightRow = rightRows + turn * partners;
    if (highest >= 0) {
      // Place of a partner: column + kGroup - 1 - (4 lane + j).
      constexpr int kFirst = kGroup - kLaneDisparities, kRead = kColumnsPerWarp + kLaneDisparities - 1;
      const int quarter = (own + kFirst) / 4 - lane;
      uint2 right[kRead];
#pragma unroll
      for (int i = 0; i < kRead; ++i) right[i] = rightRow[slotIndex(i, partners) + quarter];
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) bytes[i] = costsOfColumn(leftRow[own + i], right + i + 3, pairs[i]);
    } else {
      // All of its columns repeat the image's last one.
      uint2 right[kLaneDisparities];
      const int at = own + highest + kGroup - kLaneDisparities - firstPlace;
#pragma unroll
      for (int j = 0; j < kLaneDisparities; ++j) right[j] = rightRow[slotIndex(at + j, partners)];
      uint2 pair;
      const uint32_t last = costsOfColumn(leftRow[own + highest], right + 3, pair);
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) bytes[i] = last, pairs[i] = pair;
    }
  }
  /// Returns the costs of a column's four places as bytes. @param partner of the first place; the others' are before it
  static __device__ __forceinline__ uint32_t costsOfColumn(uint2 pixel, const uint2* partner, uint2& pair) {
    uint32_t cost[kLaneDisparities];
#pragma unroll
    for (int j = 0; j < kLaneDisparities; ++j) cost[j] = plusDifferences(pixel, partner[-j], 0u);
    const uint32_t maxCost = CellU16::pair(static_cast<uint32_t>(kSadMaxCost));
    pair = make_uint2(CellU16::min(packPair(cost[0], cost[1]), maxCost),
                      CellU16::min(packPair(cost[2], cost[3]), maxCost));
    return CellU16::toBytes(pair.x, pair.y);
  }

  /// Moves the columns' sums down by a row: adds `entering` and subtracts `leaving`.
  __device__ __forceinline__ void moveColumns(const uint2 (&entering)[kColumnsPerWarp],
                                              const uint32_t (&leaving)[kColumnsPerWarp],
                                              uint2 (&column)[kColumnsPerWarp]) const {
    // No half borrows from the other in the end, because both are sums of costs.
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      column[i].x += entering[i].x - CellU16::fromBytes(leaving[i], 0);
      column[i].y += entering[i].y - CellU16::fromBytes(leaving[i], 1);
    }
    if (lowest > 0) {
#pragma unroll
      for (int i = kColumnsPerWarp - 2; i >= 0; --i) column[i] = i < lowest ? column[i + 1] : column[i];
    }
    if (highest < kColumnsPerWarp - 1) {
#pragma unroll
      for (int i = 1; i < kColumnsPerWarp; ++i) column[i] = i > highest ? column[i - 1] : column[i];
    }
  }

  /// Sums the windows at the warp's pixels, which end in the columns of the next warps. Pixels beyond the image are
  /// summed too and not used: without branches the reductions of all eight overlap. @param upTo the prefix sums of the
  /// warp's own columns. @param rowSums those of all columns
  __device__ __forceinline__ void windowSums(const uint2 (&upTo)[kColumnsPerWarp], const uint2* rowSums,
                                             uint2 (&sum)[kColumnsPerWarp]) const {
    // Prefix sum of the columns left of the window's end: one or two warps' worth.
    const uint2 one = upTo[kColumnsPerWarp - 1];
    uint2 two = one;
    if (!kNine && 2 * reachX + kColumnsPerWarp > 2 * kColumnsPerWarp) {
      const uint2 next = rowSums[(own + 2 * kColumnsPerWarp - 1) * 32 + lane];
      two.x += next.x, two.y += next.y;
    }
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      const int last = i + 2 * reachX;
      sum[i] = rowSums[(own + last) * 32 + lane];
      if (kNine || last >= kColumnsPerWarp) {
        const uint2& whole = kNine || last < 2 * kColumnsPerWarp ? one : two;
        sum[i].x += whole.x, sum[i].y += whole.y;
      }
      if (i > 0) sum[i].x -= upTo[i - 1].x, sum[i].y -= upTo[i - 1].y;
    }
  }
};

/// The next row of a wide block, whose threads have spare registers: loaded before the costs are computed, stored after
/// them.
struct SadNextRow {
  uint2 left = make_uint2(0, 0), right = make_uint2(0, 0);
  const int column = static_cast<int>(blockDim.x - 1 - threadIdx.x), partner = static_cast<int>(threadIdx.x);

  template <class Ring>
  __device__ __forceinline__ void load(const Ring& ring, int y) {
    const size_t start = ring.rowStart(y);
    if (partner < ring.partners) right = ring.rightAt(start, partner);
    if (column < ring.columns) left = ring.leftAt(start, column);
  }
  template <class Ring>
  __device__ __forceinline__ void store(const Ring& ring, int turn) const {
    if (partner < ring.partners) ring.rightRows[turn * ring.partners + slotIndex(partner, ring.partners)] = right;
    if (column < ring.columns) ring.leftRows[turn * ring.columns + column] = left;
  }
};

/// Reads the costs of a warp's columns in one row of the ring.
__device__ __forceinline__ void readCosts(const uint4* kept, uint32_t (&bytes)[kColumnsPerWarp]) {
  const uint4 first = kept[0], second = kept[32];
  bytes[0] = first.x, bytes[1] = first.y, bytes[2] = first.z, bytes[3] = first.w;
  bytes[4] = second.x, bytes[5] = second.y, bytes[6] = second.z, bytes[7] = second.w;
}
__device__ __forceinline__ void writeCosts(uint4* kept, const uint32_t (&bytes)[kColumnsPerWarp]) {
  kept[0] = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
  kept[32] = make_uint4(bytes[4], bytes[5], bytes[6], bytes[7]);
}

/// Finds the winners of a warp's windows and their second best, and keeps them in `found`; the right image's winners go
/// to the ring's keys. @param winnerMasks kWinnerMasks in shared memory
template <bool kRight, class Ring>
__device__ __forceinline__ void findWinners(const Ring& ring, const SadLaneKeys& keys, const uint2* winnerMasks,
                                            int turn, const uint2 (&sum)[kColumnsPerWarp], SadFound& found) {
  constexpr int kRightPixels = kColumnsPerWarp + kLaneDisparities - 1;
  uint32_t rightBest[kRightPixels];
#pragma unroll
  for (int i = 0; i < kRightPixels; ++i) rightBest[i] = kNoKey;
  uint32_t best[kColumnsPerWarp], second[kColumnsPerWarp];
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) {
    uint32_t key[kLaneDisparities];
    keys.of(sum[i], key);
    best[i] = min(min(key[0], key[1]), min(key[2], key[3]));
    if (kRight && i < ring.pixels) {
#pragma unroll
      for (int j = 0; j < kLaneDisparities; ++j)
        rightBest[i + kLaneDisparities - 1 - j] = min(rightBest[i + kLaneDisparities - 1 - j], key[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) best[i] = warpMin(best[i]);
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) {
    const int winner = static_cast<int>(best[i] & 0xffffu);
    const uint2 masks = winnerMasks[min(static_cast<uint32_t>(winner - keys.firstPlace + 1), 6u)];
    second[i] =
        lesserHalf(CellU16::min(sum[i].x | masks.x | keys.unsearched.x, sum[i].y | masks.y | keys.unsearched.y));
  }
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) second[i] = warpMin(second[i]);
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) {
    const bool isOwn = ring.lane == kColumnsPerWarp * found.rows + i;
    if (isOwn) found.best = best[i], found.second = second[i];
    if (ring.a.subpixel) {
      const int winner = static_cast<int>(best[i] & 0xffffu);
      const uint32_t below = sumAt(sum[i], winner - 1), above = sumAt(sum[i], winner + 1);
      if (isOwn) found.below = below, found.above = above;
    }
  }
  if (kRight) ring.mergeRight(turn, keys.firstPlace, rightBest);
}

template <bool kRight, bool kNine, bool kWide>
__global__ void __launch_bounds__(kWide ? kWideRingThreads : kRingThreads, kWide ? 1 : kSadRingBlocks)
    sadRingKernel(SadArguments a) {
  static_assert(kNine || !kWide, "a wide block's windows end in the next warp's columns, never in their own");
  if (kWide && !kSadRingWide) return;  // never launched there: sadRingSuits
  extern __shared__ __align__(16) uint4 shared[];
  __shared__ uint2 winnerMasks[8];
  const SadRing<kNine, kWide> ring(a, shared);
  if (threadIdx.x < 7) winnerMasks[threadIdx.x] = kWinnerMasks[threadIdx.x];
  if (kRight) ring.emptyRightKeys();
  const SadLaneKeys keys(ring.lane, a.numDisparities);
  uint2 column[kColumnsPerWarp];
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) column[i] = make_uint2(0, 0);
  SadFound found;
  const auto write = [&] {
    found.write(a, ring.lane, ring.firstPixel, ring.own, ring.own + ring.pixels,
                static_cast<int>(found.second & 0xffffu));
  };

  const int begin = ring.firstRow - ring.reachY, end = ring.endRow + ring.reachY;
  ring.stage(0, begin);
  __syncthreads();
  int turn = 0, slot = 0;
  for (int y = begin; y < end; ++y, turn ^= 1) {
    const bool hasNext = y + 1 < end, isFull = y - a.windowHeight >= begin;
    uint4* const kept = ring.costs + (slot * ring.warps + ring.warp) * 64 + ring.lane;
    uint32_t leaving[kColumnsPerWarp] = {}, bytes[kColumnsPerWarp];
    uint2 pairs[kColumnsPerWarp];
    SadNextRow next;
    if (kWide && hasNext) next.load(ring, y + 1);
    if (kWide && isFull) readCosts(kept, leaving);
    ring.costsOfRow(turn, keys.firstPlace, bytes, pairs);
    if (!kWide && isFull) readCosts(kept, leaving);
    writeCosts(kept, bytes);
    slot = slot + 1 == a.windowHeight ? 0 : slot + 1;
    ring.moveColumns(pairs, leaving, column);
    if (!kWide) {
      __syncthreads();  // all threads have read the previous row's sums
      if (hasNext) ring.stage(turn ^ 1, y + 1);
    }
    uint2 upTo[kColumnsPerWarp];
    upTo[0] = column[0];
#pragma unroll
    for (int i = 1; i < kColumnsPerWarp; ++i)
      upTo[i] = make_uint2(upTo[i - 1].x + column[i].x, upTo[i - 1].y + column[i].y);
    // In a wide block the previous row's sums are in another half, which no thread reads after the next barrier.
    uint2* const rowSums =
        kWide ? ring.sums + (turn * (ring.columns - kColumnsPerWarp) - kColumnsPerWarp) * 32 : ring.sums;
    if (!kWide || ring.warp > 0) {
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) rowSums[(ring.own + i) * 32 + ring.lane] = upTo[i];
    }
    if (kWide && hasNext) next.store(ring, turn ^ 1);
    __syncthreads();
    const int row = y - ring.reachY;
    if (row < ring.firstRow) continue;
    if (kRight && row > ring.firstRow) ring.giveRight(turn ^ 1, row - 1);
    if (ring.pixels <= 0) continue;
    if (found.rows == 0) found.firstRow = row;
    uint2 sum[kColumnsPerWarp];
    ring.windowSums(upTo, rowSums, sum);
    findWinners<kRight>(ring, keys, winnerMasks, turn, sum, found);
    if (++found.rows == SadFound::kRows) write();
  }
  if (ring.pixels > 0) write();
  if (!kRight || ring.endRow <= ring.firstRow) return;
  __syncthreads();
  ring.giveRight(turn ^ 1, ring.endRow - 1);
}

}  // namespace gpu
}  // namespace depthwatt
