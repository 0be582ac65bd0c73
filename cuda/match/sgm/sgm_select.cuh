// SPDX-License-Identifier: Apache-2.0
// Selection on CUDA for sums of any size; see select.h for what is selected, sgm_select_narrow.cuh for the fast form.
//
// A block serves one row; each of its warps walks a segment of it, kPerLane disparities a lane. The left winner is a warp
// minimum of (S << 16 | d). For the right winner each cell carries the best key of its right pixel along the diagonal:
// d at x and d + 1 at x + 1 are the same right pixel, so one step moves the keys up by one cell, and what leaves the last
// cell is done. The rare arithmetic (sub-pixel, uniqueness, confidence) waits until 32 pixels are there, one to a lane.
#pragma once

#include "sgm_lines.cuh"
#include "sgm_row.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kSelectWarps = 8;

template <int kPerLane, bool kWide, int kVolumes>
__global__ void __launch_bounds__(32 * kSelectWarps) selectKernel(SelectArguments a) {
  using Volume = Stored<kPerLane, kWide>;
  constexpr int kPadded = 32 * kPerLane, kPairs = kPerLane / 2;
  extern __shared__ uint32_t rowMemory[];
  const Row row(rowMemory, a.width);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, y = blockIdx.x;
  row.clear(32 * kSelectWarps);

  // Segments are whole batches of 32 pixels.
  const int batches = (a.width + 31) / 32;
  const int firstBatch = batches * warp / kSelectWarps, endBatch = batches * (warp + 1) / kSelectWarps;
  const size_t rowPixel = static_cast<size_t>(y) * a.width;
  uint32_t carried[kPerLane];  // best key of the right pixel on each cell's diagonal
#pragma unroll
  for (int k = 0; k < kPerLane; ++k) carried[k] = kNoKey;

  for (int batch = firstBatch; batch < endBatch; ++batch) {
    uint32_t batchBest = kNoKey;
    uint32_t batchSecond = 0xffffu;
    uint32_t batchSides = 0;  // S(d0 - 1) | S(d0 + 1) << 16
    const int pixels = min(32, a.width - 32 * batch);
    for (int p = 0; p < pixels; ++p) {
      const int x = 32 * batch + p;
      const size_t cell = (rowPixel + x) * 32 + lane;
      uint32_t sums[kPairs];
      using Costs = Stored<kPerLane, false>;
      const typename Costs::Value cost = Costs::load(a.cost + cell * kPerLane);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) sums[j] = a.paths * Costs::pair(cost, j);
#pragma unroll
      for (int v = 0; v < kVolumes; ++v) {
        const typename Volume::Value excess = Volume::load(a.excess[v] + cell * Volume::kBytes);
#pragma unroll
        for (int j = 0; j < kPairs; ++j) sums[j] += Volume::pair(excess, j);
      }
      const int candidates = min(a.numDisparities, x - a.minDisparity + 1);
      uint32_t key[kPerLane];
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        const uint32_t d = lane * kPerLane + k;
        const uint32_t sum = k % 2 != 0 ? sums[k / 2] & 0xffff0000u : sums[k / 2] << 16;
        key[k] = static_cast<int>(d) < candidates ? sum | d : kNoKey;
      }
      // Right winner: the diagonal moves up by one cell per pixel.
      const uint32_t entering = __shfl_up_sync(kFullWarp, carried[kPerLane - 1], 1);
      if (lane == 31) row.deliver(carried[kPerLane - 1], x - 1 - a.minDisparity - (kPadded - 1));
#pragma unroll
      for (int k = kPerLane - 1; k > 0; --k) carried[k] = min(carried[k - 1], key[k]);
      carried[0] = min(lane == 0 ? kNoKey : entering, key[0]);

      uint32_t own = key[0];
#pragma unroll
      for (int k = 1; k < kPerLane; ++k) own = min(own, key[k]);
      const uint32_t best = warpMin(own);
      const int d0 = best & 0xffff;
      // Sums beside the winner, and the smallest further away.
      uint32_t second = kNoKey;
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        const int distance = lane * kPerLane + k - d0;
        second = (distance < -1 || distance > 1) ? min(second, key[k]) : second;
      }
      second = warpMin(second);
      uint32_t atBelow = 0xffffu, atAbove = 0xffffu;
      const int cellBelow = (d0 - 1) & (kPerLane - 1), cellAbove = (d0 + 1) & (kPerLane - 1);
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        if (k == cellBelow) atBelow = key[k] >> 16;
        if (k == cellAbove) atAbove = key[k] >> 16;
      }
      const uint32_t below = d0 > 0 ? __shfl_sync(kFullWarp, atBelow, ((d0 - 1) / kPerLane) & 31) : 0xffffu;
      const uint32_t above = d0 + 1 < candidates ? __shfl_sync(kFullWarp, atAbove, ((d0 + 1) / kPerLane) & 31) : 0xffffu;
      if (lane == p) {
        batchBest = best;
        batchSecond = second >> 16;
        batchSides = below | above << 16;
      }
    }
    if (lane < pixels) {
      const Winner winner = {batchBest == kNoKey ? -1 : static_cast<int>(batchBest & 0xffff), static_cast<int>(batchBest >> 16),
                             static_cast<int>(batchSecond), static_cast<int>(batchSides & 0xffff),
                             static_cast<int>(batchSides >> 16)};
      row.put(32 * batch + lane, finished(a, winner));
    }
  }
  if (endBatch > firstBatch) {
    const int xLast = min(32 * endBatch, a.width) - 1;
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) row.deliver(carried[k], xLast - a.minDisparity - (lane * kPerLane + k));
  }
  __syncthreads();
  row.write(a, y, 32 * kSelectWarps);
}

}  // namespace gpu
}  // namespace depthwatt
