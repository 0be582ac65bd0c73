// SPDX-License-Identifier: Apache-2.0
// Selection on CUDA for sums of any size; see select.h for what is selected, sgm_rows.cuh for the form that needs no volume
// of its own.
//
// A block serves one row; each of its warps walks a segment of it, kPairs pairs of cells a lane. Keys are sum << 16 | d: the
// smallest is the winner, ties go to the lowest d. For the right winner each cell carries the best key of its right pixel
// along the diagonal: d at x and d + 1 at x + 1 are the same right pixel, so one step moves the keys up by one cell, and what
// leaves the last cell of a half is done. The arithmetic that is done once a pixel waits until 32 pixels are there.
#pragma once

#include "sgm_cells.cuh"
#include "sgm_winner.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kSelectWarps = 8;
constexpr uint32_t kNoKey = 0xffffffffu;

/// Bytes of shared memory for each pixel of a row: its right key, its results.
constexpr int kSelectBytesPerPixel = sizeof(uint32_t) + 2 * sizeof(int16_t) + 1;

template <int kPairs, bool kWide, int kVolumes>
__global__ void __launch_bounds__(32 * kSelectWarps, 2) selectKernel(SelectArguments a) {
  using Costs = Stored<kPairs, false>;
  using Sums = Stored<kPairs, kWide>;
  constexpr int kHalf = 32 * kPairs;
  extern __shared__ __align__(16) uint32_t rowKeys[];
  int16_t* const rowQ4 = reinterpret_cast<int16_t*>(rowKeys + a.width);
  int16_t* const rowWhole = rowQ4 + a.width;
  uint8_t* const rowConfidence = reinterpret_cast<uint8_t*>(rowWhole + a.width);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, y = blockIdx.x;
  untilKernelBefore();
  for (int x = threadIdx.x; x < a.width; x += 32 * kSelectWarps) rowKeys[x] = kNoKey;
  __syncthreads();
  const auto deliver = [&](uint32_t key, int rightX) {
    if (key != kNoKey && rightX >= 0) atomicMin(&rowKeys[rightX], key);
  };

  // Segments are whole batches of 32 pixels.
  const int batches = (a.width + 31) / 32;
  const int firstBatch = batches * warp / kSelectWarps, endBatch = batches * (warp + 1) / kSelectWarps;
  const size_t rowPixel = static_cast<size_t>(y) * a.width;
  uint32_t carried[2][kPairs];  // best key of the right pixel on each cell's diagonal, in each half
#pragma unroll
  for (int j = 0; j < kPairs; ++j) carried[0][j] = carried[1][j] = kNoKey;

  for (int batch = firstBatch; batch < endBatch; ++batch) {
    uint32_t batchBest = kNoKey;
    uint32_t batchSecond = 0xffffu;
    uint32_t batchSides = 0;  // S(d0 - 1) | S(d0 + 1) << 16
    const int pixels = min(32, a.width - 32 * batch);
    for (int p = 0; p < pixels; ++p) {
      const int x = 32 * batch + p;
      const size_t cell = (rowPixel + x) * 32 + lane;
      uint32_t sums[kPairs];
      const typename Costs::Value cost = Costs::load(a.cost + cell * Costs::kBytes);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) sums[j] = a.paths * Costs::pair(cost, j);
#pragma unroll
      for (int v = 0; v < kVolumes; ++v) {
        const typename Sums::Value values = Sums::load(a.sums[v] + cell * Sums::kBytes);
#pragma unroll
        for (int j = 0; j < kPairs; ++j) sums[j] += Sums::pair(values, j);
      }
      const int candidates = a.candidates(x);
      uint32_t key[2][kPairs], own = kNoKey;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const int d = lane * kPairs + j + half * kHalf;
          const uint32_t sum = half != 0 ? sums[j] & 0xffff0000u : sums[j] << 16;
          key[half][j] = d < candidates ? sum | d : kNoKey;
          own = min(own, key[half][j]);
        }
        // Right winner: the diagonal moves up by one cell per pixel.
        const uint32_t entering = __shfl_up_sync(kFullWarp, carried[half][kPairs - 1], 1);
        if (lane == 31) deliver(carried[half][kPairs - 1], x - 1 - a.minDisparity - (half + 1) * kHalf + 1);
#pragma unroll
        for (int j = kPairs - 1; j > 0; --j) carried[half][j] = min(carried[half][j - 1], key[half][j]);
        carried[half][0] = min(lane == 0 ? kNoKey : entering, key[half][0]);
      }
      const uint32_t best = warpMin(own);
      const int d0 = best & 0xffff;
      // Sums beside the winner, and the smallest further away.
      uint32_t second = kNoKey, atBelow = 0xffffu, atAbove = 0xffffu;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const int distance = lane * kPairs + j + half * kHalf - d0;
          second = (distance < -1 || distance > 1) ? min(second, key[half][j]) : second;
          if (distance == -1) atBelow = key[half][j] >> 16;
          if (distance == 1) atAbove = key[half][j] >> 16;
        }
      }
      second = warpMin(second);
      const auto laneOf = [](int d) { return (d & (kHalf - 1)) / kPairs; };
      const uint32_t below = d0 > 0 ? __shfl_sync(kFullWarp, atBelow, laneOf(d0 - 1)) : 0xffffu;
      const uint32_t above = d0 + 1 < candidates ? __shfl_sync(kFullWarp, atAbove, laneOf(d0 + 1)) : 0xffffu;
      if (lane == p) {
        batchBest = best;
        batchSecond = second >> 16;
        batchSides = below | above << 16;
      }
    }
    if (lane < pixels) {
      const Winner winner = {batchBest == kNoKey ? -1 : static_cast<int>(batchBest & 0xffff),
                             static_cast<int>(batchBest >> 16), static_cast<int>(batchSecond),
                             static_cast<int>(batchSides & 0xffff), static_cast<int>(batchSides >> 16)};
      const int x = 32 * batch + lane;
      const Selected s = finished(a, winner, x);
      rowQ4[x] = s.q4, rowWhole[x] = s.whole, rowConfidence[x] = s.confidence;
    }
  }
  if (endBatch > firstBatch) {
    const int xLast = min(32 * endBatch, a.width) - 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        deliver(carried[half][j], xLast - a.minDisparity - (lane * kPairs + j + half * kHalf));
      }
    }
  }
  __syncthreads();
  const auto rightWinner = [&](int xr) { return rowKeys[xr] == kNoKey ? -1 : static_cast<int>(rowKeys[xr] & 0xffff); };
  for (int x = threadIdx.x; x < a.width; x += 32 * kSelectWarps) {
    writeChecked(a, y, x, {rowQ4[x], rowWhole[x], rowConfidence[x]}, rightWinner);
  }
}

}  // namespace gpu
}  // namespace depthwatt
