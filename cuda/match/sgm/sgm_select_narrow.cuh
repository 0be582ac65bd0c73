// SPDX-License-Identifier: Apache-2.0
// Selection on CUDA where p2 <= 127, so that a sum fits 12 bits and a sum with its place among a lane's 16 cells 16 bits.
//
// A block serves one row; kPadded / 16 lanes walk a segment of it, 16 cells a lane, two keys (sum << 4 | cell) to a register.
// Minima are packed; the lane's number joins the key when it leaves the lane. For the right winner each cell carries the best
// key of its right pixel along the diagonal: d at x and d + 1 at x + 1 are the same right pixel, so one step moves the keys
// up by one cell, and what leaves a lane goes to the row's minimum. The smallest sum away from the winner is the smallest of
// the lanes that do not hold its neighbourhood and of the (at most two) that do, whose cells all lanes examine together.
#pragma once

#include "sgm_lines.cuh"
#include "sgm_row.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kNarrowWarps = 8;
constexpr int kLaneCells = 16, kLanePairs = kLaneCells / 2;

template <int kPadded>
__host__ __device__ constexpr int narrowSegments() {
  return kNarrowWarps * 32 / (kPadded / kLaneCells);
}

/// Pixels that are read behind a row's last one: segments are equally long, and one pixel is read ahead.
template <int kPadded>
__host__ __device__ constexpr int narrowOverrun() {
  return narrowSegments<kPadded>() + 1;
}

/// kByteSums: four excesses fit a byte (p2 <= 63).
template <int kPadded, int kVolumes, bool kByteSums>
__global__ void __launch_bounds__(32 * kNarrowWarps, 3) selectNarrowKernel(SelectArguments a) {
  constexpr int kLanes = kPadded / kLaneCells, kGroups = 32 / kLanes;
  using Cells = Stored<kLaneCells, false>;
  extern __shared__ uint32_t rowMemory[];
  // Two steps' keys of every lane: a step's writers need not wait for the readers of the step before.
  __shared__ __align__(16) uint32_t stepKeys[kNarrowWarps][2][kGroups][kPadded / 2];
  const Row row(rowMemory, a.width);
  row.clear(32 * kNarrowWarps);

  const int warp = threadIdx.x >> 5, lane = threadIdx.x & (kLanes - 1), group = (threadIdx.x & 31) / kLanes;
  const int y = blockIdx.x;
  // A batch of a segment is at most one pixel for each lane to finish.
  const int segment = (a.width + narrowSegments<kPadded>() - 1) / narrowSegments<kPadded>();
  const int firstX = (warp * kGroups + group) * segment;
  const size_t rowPixel = static_cast<size_t>(y) * a.width;
  const size_t firstCell = (rowPixel + firstX) * kPadded + lane * kLaneCells;
  const uint8_t* costAt = a.cost + firstCell;
  const uint8_t* excessAt[kVolumes];

  uint32_t carried[kLanePairs];
#pragma unroll
  for (int j = 0; j < kLanePairs; ++j) carried[j] = 0xffffffffu;
  // A packed key and its lane as a row's key.
  const auto rowKey = [&](uint32_t key) { return (key >> 4) << 16 | (lane * kLaneCells + (key & 15)); };
  const uint32_t scale = 16 * a.paths;

  Cells::Value cost = Cells::load(costAt), excess[kVolumes];
#pragma unroll
  for (int v = 0; v < kVolumes; ++v) {
    excessAt[v] = a.excess[v] + firstCell;
    excess[v] = Cells::load(excessAt[v]);
  }

  int slot = 0;
  for (int batch = 0; batch < segment; batch += kLanes) {
    const int pixels = min(kLanes, segment - batch);
    Winner mine = {-1, 0, kNoSum, kNoSum, kNoSum};
#pragma unroll 1
    for (int p = 0; p < pixels; ++p, slot ^= 1) {
      const int x = firstX + batch + p;
      uint32_t key[kLanePairs];
      if (kByteSums) {
        Cells::add(excess[0], excess[1]);
        if (kVolumes == 4) Cells::add(excess[2 % kVolumes], excess[3 % kVolumes]);
      }
#pragma unroll
      for (int j = 0; j < kLanePairs; ++j) {
        uint32_t sum = Cells::pair(excess[0], j);
        if (!kByteSums) sum += Cells::pair(excess[1], j);
        if (kVolumes == 4) {
          sum += Cells::pair(excess[2 % kVolumes], j);
          if (!kByteSums) sum += Cells::pair(excess[3 % kVolumes], j);
        }
        key[j] = Cells::pair(cost, j) * scale + (2 * j | (2 * j + 1) << 16) + sum * 16;
      }
      cost = Cells::load(costAt += kPadded);
#pragma unroll
      for (int v = 0; v < kVolumes; ++v) excess[v] = Cells::load(excessAt[v] += kPadded);

      const int inImage = x < a.width ? x - a.minDisparity + 1 : 0;  // candidates whose right pixel exists
      const int candidates = min(a.numDisparities, inImage);
      if (inImage < a.numDisparities) {
        const int limit = candidates - lane * kLaneCells;
#pragma unroll
        for (int j = 0; j < kLanePairs; ++j) {
          if (2 * j >= limit) key[j] |= 0xffffu;
          if (2 * j + 1 >= limit) key[j] |= 0xffff0000u;
        }
      }

      uint32_t* const step = stepKeys[warp][slot][group];
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        reinterpret_cast<uint4*>(step + lane * kLanePairs)[q] = make_uint4(key[4 * q], key[4 * q + 1], key[4 * q + 2], key[4 * q + 3]);
      }

      // Right winners: what leaves the lane's last cell is a candidate of its right pixel.
      const uint32_t leaving = carried[kLanePairs - 1] >> 16;
      if (leaving != 0xffffu) {
        const int rightX = x - 1 - a.minDisparity - (lane * kLaneCells + kLaneCells - 1);
        if (rightX >= 0) atomicMin(&rowMemory[rightX], rowKey(leaving));
      }
#pragma unroll
      for (int j = kLanePairs - 1; j > 0; --j) {
        carried[j] = __vminu2(__byte_perm(carried[j - 1], carried[j], 0x5432), key[j]);
      }
      carried[0] = __vminu2(carried[0] << 16 | 0xffffu, key[0]);

      uint32_t smallest = key[0];
#pragma unroll
      for (int j = 1; j < kLanePairs; ++j) smallest = __vminu2(smallest, key[j]);
      const uint32_t own = min(smallest & 0xffffu, smallest >> 16);
      uint32_t best = rowKey(own);
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset /= 2) {
        best = min(best, __shfl_xor_sync(kFullWarp, best, offset));
      }
      const int d0 = best & 0xffff;
      const int lowLane = max(d0 - 1, 0) / kLaneCells, highLane = min((d0 + 1) / kLaneCells, kLanes - 1);
      uint32_t second = lane == lowLane || lane == highLane ? 0xffffu : own;
      __syncwarp();
      const auto examine = [&](int holder, int pair) {
        const uint32_t two = step[holder * kLanePairs + pair];
        const int distance = holder * kLaneCells + 2 * pair - d0;
        if (distance < -1 || distance > 1) second = min(second, two & 0xffffu);
        if (distance < -2 || distance > 0) second = min(second, two >> 16);
      };
#pragma unroll
      for (int q = 0; q < kLanePairs; q += kLanes < kLanePairs ? kLanes : kLanePairs) {
        if (kLanes <= kLanePairs || lane < kLanePairs) {
          examine(lowLane, q + lane);
          examine(highLane, q + lane);
        }
      }
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset /= 2) {
        second = min(second, __shfl_xor_sync(kFullWarp, second, offset));
      }
      if (lane == p) {
        const uint16_t* sums = reinterpret_cast<const uint16_t*>(step);
        const bool none = (best >> 16) == 0xfffu;
        mine.d0 = none ? -1 : d0;
        mine.sum = best >> 16;
        mine.second = second == 0xffffu ? kNoSum : static_cast<int>(second >> 4);
        mine.below = d0 > 0 ? sums[max(d0 - 1, 0)] >> 4 : kNoSum;
        mine.above = d0 + 1 < candidates ? sums[min(d0 + 1, kPadded - 1)] >> 4 : kNoSum;
      }
    }
    const int x = firstX + batch + lane;
    if (lane < pixels && x < a.width) row.put(x, finished(a, mine));
  }
  const int lastX = firstX + segment - 1;
#pragma unroll
  for (int j = 0; j < kLanePairs; ++j) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t key = half == 0 ? carried[j] & 0xffffu : carried[j] >> 16;
      const int rightX = lastX - a.minDisparity - (lane * kLaneCells + 2 * j + half);
      if (key != 0xffffu && rightX >= 0) atomicMin(&rowMemory[rightX], rowKey(key));
    }
  }
  __syncthreads();
  row.write(a, y, 32 * kNarrowWarps);
}

}  // namespace gpu
}  // namespace depthwatt
