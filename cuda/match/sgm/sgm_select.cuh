// SPDX-License-Identifier: Apache-2.0
// Selection on CUDA for sums of any size. select.h defines the selection; sgm_rows.cuh is the form without a volume.
//
// A block computes one row; each of its warps walks a segment of it, kPairs pairs of cells a lane. Keys are sum << 16 |
// d: the smallest is the winner, ties go to the lowest d. For the right winner each cell carries the best key of its
// right pixel along the diagonal: d at x and d + 1 at x + 1 are the same right pixel, so one step moves the keys up by
// one cell, and a key that leaves the last cell of a half is complete. Per-pixel arithmetic waits until 32 pixels are
// ready.
#pragma once

#include "sgm_cells.cuh"
#include "sgm_winner.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kSelectWarps = 8;
constexpr uint32_t kNoKey = 0xffffffffu;

/// Bytes of shared memory for each pixel of a row: its right key and its results.
constexpr int kSelectBytesPerPixel = sizeof(uint32_t) + 2 * sizeof(int16_t) + 1;

/// Best keys of the right pixels on the diagonals of a lane's cells, in each half. A key that leaves the last cell of a
/// half is complete and goes to the row's keys.
template <int kPairs>
class RightKeys {
 public:
  static constexpr int kHalf = 32 * kPairs;

  __device__ __forceinline__ RightKeys(uint32_t* rowKeys, int minDisparity, int lane)
      : rowKeys_(rowKeys), minDisparity_(minDisparity), lane_(lane) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) carried_[0][j] = carried_[1][j] = kNoKey;
  }
  /// Moves a half's keys up by one cell, to pixel x, whose cells have the keys `key`.
  __device__ __forceinline__ void advance(int half, const uint32_t (&key)[kPairs], int x) {
    uint32_t (&carried)[kPairs] = carried_[half];
    const uint32_t entering = __shfl_up_sync(kFullWarp, carried[kPairs - 1], 1);
    if (lane_ == 31) deliver(carried[kPairs - 1], x - 1 - minDisparity_ - (half + 1) * kHalf + 1);
#pragma unroll
    for (int j = kPairs - 1; j > 0; --j) carried[j] = min(carried[j - 1], key[j]);
    carried[0] = min(lane_ == 0 ? kNoKey : entering, key[0]);
  }
  /// Delivers the keys that are still carried at the last pixel, x.
  __device__ __forceinline__ void finish(int x) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int j = 0; j < kPairs; ++j)
        deliver(carried_[half][j], x - minDisparity_ - (lane_ * kPairs + j + half * kHalf));
    }
  }

 private:
  __device__ __forceinline__ void deliver(uint32_t key, int rightX) const {
    if (key != kNoKey && rightX >= 0) atomicMin(&rowKeys_[rightX], key);
  }

  uint32_t* const rowKeys_;
  const int minDisparity_, lane_;
  uint32_t carried_[2][kPairs];
};

/// Adds up a lane's sums of a pixel: all directions, and the costs, which the excesses do not contain.
template <int kPairs, bool kWide, int kVolumes>
__device__ __forceinline__ void addSums(const SelectArguments& a, size_t cell, uint32_t (&sums)[kPairs]) {
  using Costs = Stored<kPairs, false>;
  using Sums = Stored<kPairs, kWide>;
  const typename Costs::Value cost = Costs::load(a.cost + cell * Costs::kBytes);
#pragma unroll
  for (int j = 0; j < kPairs; ++j) sums[j] = a.paths * Costs::pair(cost, j);
#pragma unroll
  for (int v = 0; v < kVolumes; ++v) {
    const typename Sums::Value values = Sums::load(a.sums[v] + cell * Sums::kBytes);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) sums[j] += Sums::pair(values, j);
  }
}

/// A pixel's winner in few registers: a lane keeps one until the arithmetic of 32 pixels is done at once.
struct Found {
  uint32_t best = kNoKey;     ///< the winner's key
  uint32_t second = 0xffffu;  ///< the smallest sum further away
  uint32_t sides = 0;         ///< S(d0 - 1) | S(d0 + 1) << 16

  __device__ __forceinline__ Winner winner() const {
    return {best == kNoKey ? -1 : static_cast<int>(best & 0xffff), static_cast<int>(best >> 16),
            static_cast<int>(second), static_cast<int>(sides & 0xffff), static_cast<int>(sides >> 16)};
  }
};

/// Finds the sums next to the winner of key `best` and the smallest further away.
template <int kPairs>
__device__ __forceinline__ Found findSecond(const uint32_t (&key)[2][kPairs], uint32_t best, int candidates, int lane) {
  constexpr int kHalf = 32 * kPairs;
  const int d0 = best & 0xffff;
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
  const auto ownerLane = [](int d) { return (d & (kHalf - 1)) / kPairs; };
  const uint32_t below = d0 > 0 ? __shfl_sync(kFullWarp, atBelow, ownerLane(d0 - 1)) : 0xffffu;
  const uint32_t above = d0 + 1 < candidates ? __shfl_sync(kFullWarp, atAbove, ownerLane(d0 + 1)) : 0xffffu;
  Found found;
  found.best = best, found.second = second >> 16, found.sides = below | above << 16;
  return found;
}

template <int kPairs, bool kWide, int kVolumes>
__global__ void __launch_bounds__(32 * kSelectWarps, 2) selectKernel(SelectArguments a) {
  constexpr int kHalf = 32 * kPairs;
  extern __shared__ __align__(16) uint32_t rowKeys[];
  int16_t* const rowQ4 = reinterpret_cast<int16_t*>(rowKeys + a.width);
  int16_t* const rowWhole = rowQ4 + a.width;
  uint8_t* const rowConfidence = reinterpret_cast<uint8_t*>(rowWhole + a.width);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, y = blockIdx.x;
  untilKernelBefore();
  for (int x = threadIdx.x; x < a.width; x += 32 * kSelectWarps) rowKeys[x] = kNoKey;
  __syncthreads();

  // Segments are whole batches of 32 pixels.
  const int batches = (a.width + 31) / 32;
  const int firstBatch = batches * warp / kSelectWarps, endBatch = batches * (warp + 1) / kSelectWarps;
  const size_t rowPixel = static_cast<size_t>(y) * a.width;
  RightKeys<kPairs> right(rowKeys, a.minDisparity, lane);
  for (int batch = firstBatch; batch < endBatch; ++batch) {
    Found own;  // of this lane's pixel
    const int pixels = min(32, a.width - 32 * batch);
    for (int p = 0; p < pixels; ++p) {
      const int x = 32 * batch + p, candidates = a.candidates(x);
      uint32_t sums[kPairs], key[2][kPairs], least = kNoKey;
      addSums<kPairs, kWide, kVolumes>(a, (rowPixel + x) * 32 + lane, sums);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const int d = lane * kPairs + j + half * kHalf;
          const uint32_t sum = half != 0 ? sums[j] & 0xffff0000u : sums[j] << 16;
          key[half][j] = d < candidates ? sum | d : kNoKey;
          least = min(least, key[half][j]);
        }
        right.advance(half, key[half], x);
      }
      const Found found = findSecond<kPairs>(key, warpMin(least), candidates, lane);
      if (lane == p) own = found;
    }
    if (lane < pixels) {
      const int x = 32 * batch + lane;
      const Selected s = finished(a, own.winner(), x);
      rowQ4[x] = s.q4, rowWhole[x] = s.whole, rowConfidence[x] = s.confidence;
    }
  }
  if (endBatch > firstBatch) right.finish(min(32 * endBatch, a.width) - 1);
  __syncthreads();
  const auto rightWinner = [&](int xr) { return rowKeys[xr] == kNoKey ? -1 : static_cast<int>(rowKeys[xr] & 0xffff); };
  for (int x = threadIdx.x; x < a.width; x += 32 * kSelectWarps) {
    writeChecked(a, y, x, {rowQ4[x], rowWhole[x], rowConfidence[x]}, rightWinner);
  }
}

}  // namespace gpu
}  // namespace depthwatt
