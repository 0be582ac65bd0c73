// SPDX-License-Identifier: Apache-2.0
// Windows and their winners where costs fit shared memory as bytes, a window's height of rows: each cost is computed once, and
// what a row takes off the columns' sums is read back. A warp has eight columns and eight pixels. Sums of its columns from the
// first on are what its neighbours need: a window ends in one of them, in this warp's own or the next one's or two. A wide block
// (windows nine wide, where shared memory holds it) has twice the pixels: 17 warps do what two blocks of nine do, more evenly on
// four schedulers, with one barrier a row.
#pragma once

#include "sad_winners.cuh"

namespace depthwatt {
namespace gpu {

/// Threads that the kernel is compiled for. Before 7.0 compilers spill registers at 320, and no window's costs fit a block anyway.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
constexpr int kRingThreads = 320;
#else
constexpr int kRingThreads = 160;
#endif
/// Of a block and of a wide one, whose windows are nine wide.
constexpr int kRingPixels = 64, kWideRingPixels = 128, kWideRingThreads = 544;

inline int sadRingWarps(int pixels, int windowWidth) {
  return pixels / kColumnsPerWarp + (windowWidth / 2 * 2 + kColumnsPerWarp - 1) / kColumnsPerWarp;
}
/// Columns and the right pixels that they meet.
__host__ __device__ inline int sadRingPartners(int warps) { return warps * kColumnsPerWarp + kGroup; }
/// Columns' sums that a block keeps: of a row, or of two rows without the first warp's, which has no neighbour to read them.
__host__ __device__ inline int sadRingSums(bool wide, int columns) {
  return wide ? 2 * (columns - kColumnsPerWarp) : columns;
}
inline size_t sadRingBytes(const SadParameters& p, int pixels, bool right) {
  const int warps = sadRingWarps(pixels, p.windowWidth), columns = warps * kColumnsPerWarp;
  const int partners = sadRingPartners(warps), sums = sadRingSums(pixels > kRingPixels, columns);
  return static_cast<size_t>(p.windowHeight) * columns * kGroup + static_cast<size_t>(sums) * 32 * sizeof(uint2) +
         2 * static_cast<size_t>(columns + partners) * sizeof(uint2) + (right ? 2 * partners * sizeof(uint32_t) : 0);
}

/// Ones over the places that are not the winner's rivals: [winner - a lane's first place + 1], 6 where none of the lane's four is.
__device__ const uint2 kBesideWinner[7] = {
    {0x0000ffffu, 0u}, {0xffffffffu, 0u}, {0xffffffffu, 0x0000ffffu}, {0xffff0000u, 0xffffffffu}, {0u, 0xffffffffu},
    {0u, 0xffff0000u}, {0u, 0u}};

__device__ __forceinline__ uint32_t lesserHalf(uint32_t pair) {
  return CellU16::min(pair, __byte_perm(pair, 0, 0x1032));
}

template <bool kRight, bool kNine, bool kWide>
__global__ void __launch_bounds__(kWide ? kWideRingThreads : kRingThreads, kWide ? 1 : kSadRingBlocks)
    sadRingKernel(SadArguments a) {
  static_assert(kNine || !kWide, "a wide block's windows end in the next warp's columns, never in their own");
  if (kWide && !kSadRingWide) return;             // never launched there: sadRingSuits
  extern __shared__ __align__(16) uint4 costs[];  // [row % window height][warp][two][lane]: a byte each
  __shared__ uint2 besideWinner[8];
  const int warps = blockDim.x / 32, columns = warps * kColumnsPerWarp, partners = sadRingPartners(warps);
  uint2* const sums = reinterpret_cast<uint2*>(costs + a.windowHeight * warps * 64);  // [column][lane]
  uint2* const leftRows = sums + sadRingSums(kWide, columns) * 32;                    // [turn][column]
  uint2* const rightRows = leftRows + 2 * columns;                                    // [turn][place % 4][place / 4]
  uint32_t* const rightKeys = reinterpret_cast<uint32_t*>(rightRows + 2 * partners);  // the same
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int reachX = kNine ? 4 : a.windowWidth / 2, reachY = a.windowHeight / 2;
  constexpr int kPixels = kWide ? kWideRingPixels : kRingPixels;
  const int firstPixel = blockIdx.x * kPixels, firstColumn = firstPixel - reachX;
  const int firstRow = blockIdx.y * a.bandRows, endRow = min(firstRow + a.bandRows, a.height);
  const int firstPartner = firstColumn - a.minDisparity - (kGroup - 1);
  // Columns outside the image hold nothing; the nearest inside stands for them.
  const int own = warp * kColumnsPerWarp;
  const int lowest = max(-firstColumn, 0) - own, highest = a.width - 1 - firstColumn - own;
  const int pixels = warp < kPixels / kColumnsPerWarp ? min(kColumnsPerWarp, a.width - firstPixel - own) : 0;
  if (threadIdx.x < 7) besideWinner[threadIdx.x] = kBesideWinner[threadIdx.x];
  if (kRight) {
    for (int i = threadIdx.x; i < 2 * partners; i += blockDim.x) rightKeys[i] = kNoKey;
  }
  const auto stage = [&](int turn, int y) {
    const size_t start = static_cast<size_t>(min(max(y, 0), a.height - 1)) * a.width;
    for (int i = threadIdx.x; i < partners; i += blockDim.x)
      rightRows[turn * partners + (i & 3) * (partners / 4) + (i >> 2)] =
          a.right[start + min(max(firstPartner + i, 0), a.width - 1)];
    if (static_cast<int>(threadIdx.x) < columns)
      leftRows[turn * columns + threadIdx.x] =
          a.left[start + min(max(firstColumn + static_cast<int>(threadIdx.x), 0), a.width - 1)];
  };
  const auto giveRight = [&](int turn, int y) {
    for (int i = threadIdx.x; i < partners; i += blockDim.x) {
      uint32_t& kept = rightKeys[turn * partners + (i & 3) * (partners / 4) + (i >> 2)];
      const uint32_t key = kept;
      kept = kNoKey;
      const int x = firstPartner + i;
      if (key != kNoKey && x >= 0) atomicMin(&a.rightKeys[static_cast<size_t>(y) * a.width + x], key);
    }
  };
  // Of the lane's four places: what makes a key of an even one's sum, what is added to it, and all ones where nothing is searched.
  const int firstPlace = kLaneDisparities * lane;
  uint32_t raise[2], place[kLaneDisparities];
#pragma unroll
  for (int j = 0; j < kLaneDisparities; ++j) {
    const bool searched = firstPlace + j < a.numDisparities;
    place[j] = searched ? static_cast<uint32_t>(firstPlace + j) : kNoKey;
    if (j % 2 == 0) raise[j / 2] = searched ? 65536u : 0u;
  }
  const uint2 nothing = make_uint2((place[0] >> 31) * 0xffffu | (place[1] >> 31) * 0xffff0000u,
                                   (place[2] >> 31) * 0xffffu | (place[3] >> 31) * 0xffff0000u);

  uint2 column[kColumnsPerWarp];
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) column[i] = make_uint2(0, 0);
  struct {
    uint32_t best, second, below, above;
    int rows, firstRow;
  } found = {kNoKey, kNoKey, 0, 0, 0, 0};
  const auto write = [&] {
    const int row = lane / kColumnsPerWarp, pixel = lane % kColumnsPerWarp;
    if (row < found.rows && pixel < pixels) {
      const size_t to = static_cast<size_t>(found.firstRow + row) * a.width + firstPixel + own + pixel;
      const int winner = static_cast<int>(found.best & 0xffffu), least = static_cast<int>(found.best >> 16);
      int fine = 0;
      if (a.subpixel && winner > 0 && winner + 1 < a.numDisparities)
        fine = sadFractionQ4(static_cast<int>(found.below), least, static_cast<int>(found.above));
      const int rival = static_cast<int>(found.second & 0xffffu);
      a.result.disparity[to] = static_cast<int16_t>(a.minDisparity + winner);
      a.result.disparityQ4[to] = static_cast<int16_t>(16 * (a.minDisparity + winner) + fine);
      a.result.confidence[to] =
          rival == 0xffff ? uint8_t{0} : static_cast<uint8_t>(255 * (rival - least) / max(rival, 1));
    }
    found.rows = 0;
  };

  const int begin = firstRow - reachY, end = endRow + reachY;
  stage(0, begin);
  __syncthreads();
  int turn = 0, slot = 0;
  for (int y = begin; y < end; ++y, turn ^= 1) {
    uint4* const kept = costs + (slot * warps + warp) * 64 + lane;
    uint32_t gone[kColumnsPerWarp] = {};
    const auto readGone = [&] {
      if (y - a.windowHeight < begin) return;
      const uint4 first = kept[0], second = kept[32];
      gone[0] = first.x, gone[1] = first.y, gone[2] = first.z, gone[3] = first.w;
      gone[4] = second.x, gone[5] = second.y, gone[6] = second.z, gone[7] = second.w;
    };
    // A wide block's threads have registers to spare: what comes later is read before the costs are computed.
    uint2 nextLeft = make_uint2(0, 0), nextRight = nextLeft;
    const int nextColumn = static_cast<int>(blockDim.x - 1 - threadIdx.x), nextPartner = static_cast<int>(threadIdx.x);
    const bool hasNext = y + 1 < end;
    if (kWide) {
      if (hasNext) {
        const size_t start = static_cast<size_t>(min(max(y + 1, 0), a.height - 1)) * a.width;
        if (nextPartner < partners) nextRight = a.right[start + min(max(firstPartner + nextPartner, 0), a.width - 1)];
        if (nextColumn < columns) nextLeft = a.left[start + min(max(firstColumn + nextColumn, 0), a.width - 1)];
      }
      readGone();
    }
    // The row's costs, as pairs for the sums and as bytes for the ring.
    uint32_t bytes[kColumnsPerWarp];
    uint2 pairs[kColumnsPerWarp];
    const uint2* const leftRow = leftRows + turn * columns;
    const uint2* const rightRow = rightRows + turn * partners;
    const auto bytesOfColumn = [&](uint2 pixel, const uint2* partner, uint2& pair) {
      uint32_t cost[kLaneDisparities];
#pragma unroll
      for (int j = 0; j < kLaneDisparities; ++j) cost[j] = plusDifferences(pixel, partner[-j], 0u);
      const uint32_t maxCost = CellU16::pair(static_cast<uint32_t>(kSadMaxCost));
      pair =
          make_uint2(CellU16::min(pairOf(cost[0], cost[1]), maxCost), CellU16::min(pairOf(cost[2], cost[3]), maxCost));
      return CellU16::toBytes(pair.x, pair.y);
    };
    if (highest >= 0) {
      // Place of a partner: column + kGroup - 1 - (4 lane + j).
      constexpr int kFirst = kGroup - kLaneDisparities, kRead = kColumnsPerWarp + kLaneDisparities - 1;
      const int quarter = (own + kFirst) / 4 - lane;
      uint2 right[kRead];
#pragma unroll
      for (int i = 0; i < kRead; ++i) right[i] = rightRow[i % 4 * (partners / 4) + quarter + i / 4];
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) bytes[i] = bytesOfColumn(leftRow[own + i], right + i + 3, pairs[i]);
    } else {
      // All of its columns are the image's last.
      uint2 right[kLaneDisparities];
      const int at = own + highest + kGroup - kLaneDisparities - firstPlace;
#pragma unroll
      for (int j = 0; j < kLaneDisparities; ++j) right[j] = rightRow[((at + j) & 3) * (partners / 4) + ((at + j) >> 2)];
      uint2 pair;
      const uint32_t last = bytesOfColumn(leftRow[own + highest], right + 3, pair);
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) bytes[i] = last, pairs[i] = pair;
    }
    if (!kWide) readGone();
    kept[0] = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
    kept[32] = make_uint4(bytes[4], bytes[5], bytes[6], bytes[7]);
    slot = slot + 1 == a.windowHeight ? 0 : slot + 1;
    // No half borrows from the other in the end: both are sums of costs.
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      column[i].x += pairs[i].x - CellU16::fromBytes(gone[i], 0);
      column[i].y += pairs[i].y - CellU16::fromBytes(gone[i], 1);
    }
    if (lowest > 0) {
#pragma unroll
      for (int i = kColumnsPerWarp - 2; i >= 0; --i) column[i] = i < lowest ? column[i + 1] : column[i];
    }
    if (highest < kColumnsPerWarp - 1) {
#pragma unroll
      for (int i = 1; i < kColumnsPerWarp; ++i) column[i] = i > highest ? column[i - 1] : column[i];
    }
    if (!kWide) {
      __syncthreads();  // everybody has read the sums of the row before
      if (hasNext) stage(turn ^ 1, y + 1);
    }
    uint2 upTo[kColumnsPerWarp];
    upTo[0] = column[0];
#pragma unroll
    for (int i = 1; i < kColumnsPerWarp; ++i)
      upTo[i] = make_uint2(upTo[i - 1].x + column[i].x, upTo[i - 1].y + column[i].y);
    // In a wide block the sums of the row before are another half, which nobody reads any more behind the next barrier.
    uint2* const rowSums = kWide ? sums + (turn * (columns - kColumnsPerWarp) - kColumnsPerWarp) * 32 : sums;
    if (!kWide || warp > 0) {
#pragma unroll
      for (int i = 0; i < kColumnsPerWarp; ++i) rowSums[(own + i) * 32 + lane] = upTo[i];
    }
    if (kWide && hasNext) {
      if (nextPartner < partners)
        rightRows[(turn ^ 1) * partners + (nextPartner & 3) * (partners / 4) + (nextPartner >> 2)] = nextRight;
      if (nextColumn < columns) leftRows[(turn ^ 1) * columns + nextColumn] = nextLeft;
    }
    __syncthreads();
    const int row = y - reachY;
    if (row < firstRow) continue;
    if (kRight && row > firstRow) giveRight(turn ^ 1, row - 1);
    if (pixels <= 0) continue;
    if (found.rows == 0) found.firstRow = row;
    constexpr int kMet = kColumnsPerWarp + kLaneDisparities - 1;
    uint32_t met[kMet];
#pragma unroll
    for (int i = 0; i < kMet; ++i) met[i] = kNoKey;
    // Of the columns before the one that a window ends in, of its own eight: none, this warp's, or the next one's too.
    const uint2 one = upTo[kColumnsPerWarp - 1];
    uint2 two = one;
    if (!kNine && 2 * reachX + kColumnsPerWarp > 2 * kColumnsPerWarp) {
      const uint2 next = rowSums[(own + 2 * kColumnsPerWarp - 1) * 32 + lane];
      two.x += next.x, two.y += next.y;
    }
    // Pixels beyond the image are summed too, and nobody looks: without branches the reductions of all eight overlap.
    uint2 sum[kColumnsPerWarp];
    uint32_t best[kColumnsPerWarp], second[kColumnsPerWarp];
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      const int last = i + 2 * reachX;
      sum[i] = rowSums[(own + last) * 32 + lane];
      if (kNine || last >= kColumnsPerWarp) {
        const uint2& whole = kNine || last < 2 * kColumnsPerWarp ? one : two;
        sum[i].x += whole.x, sum[i].y += whole.y;
      }
      if (i > 0) sum[i].x -= upTo[i - 1].x, sum[i].y -= upTo[i - 1].y;
      const uint32_t key[kLaneDisparities] = {sum[i].x * raise[0] + place[0], (sum[i].x & 0xffff0000u) | place[1],
                                              sum[i].y * raise[1] + place[2], (sum[i].y & 0xffff0000u) | place[3]};
      best[i] = min(min(key[0], key[1]), min(key[2], key[3]));
      if (kRight && i < pixels) {
#pragma unroll
        for (int j = 0; j < kLaneDisparities; ++j)
          met[i + kLaneDisparities - 1 - j] = min(met[i + kLaneDisparities - 1 - j], key[j]);
      }
    }
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) best[i] = warpMin(best[i]);
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      const int winner = static_cast<int>(best[i] & 0xffffu);
      const uint2 beside = besideWinner[min(static_cast<uint32_t>(winner - firstPlace + 1), 6u)];
      second[i] = lesserHalf(CellU16::min(sum[i].x | beside.x | nothing.x, sum[i].y | beside.y | nothing.y));
    }
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) second[i] = warpMin(second[i]);
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) {
      const bool mine = lane == kColumnsPerWarp * found.rows + i;
      if (mine) found.best = best[i], found.second = second[i];
      if (a.subpixel) {
        const int winner = static_cast<int>(best[i] & 0xffffu);
        const uint32_t below = sumAt(sum[i], winner - 1), above = sumAt(sum[i], winner + 1);
        if (mine) found.below = below, found.above = above;
      }
    }
    if (kRight) {
#pragma unroll
      for (int i = 0; i < kMet; ++i) {
        const int at = reachX + own + kGroup - kLaneDisparities + i - firstPlace;
        if (met[i] < 0xffff0000u)
          atomicMin(&rightKeys[turn * partners + (at & 3) * (partners / 4) + (at >> 2)], met[i]);
      }
    }
    if (++found.rows == SadFound::kRows) write();
  }
  if (pixels > 0) write();
  if (!kRight || endRow <= firstRow) return;
  __syncthreads();
  giveRight(turn ^ 1, endRow - 1);
}

}  // namespace gpu
}  // namespace depthwatt
