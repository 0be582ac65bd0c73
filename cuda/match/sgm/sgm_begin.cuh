// SPDX-License-Identifier: Apache-2.0
// The first kernel of matching on CUDA: matching costs, one byte a cell, computed once for all directions, and with them
// the first half of both walks along every row.
//
// A walk sees the right pixels of kBatch neighbouring pixels in a window that one lane keeps in registers. Population counts
// (16 lanes a clock and multiprocessor) would bind a kernel of their own; here they run beside the chain of the recurrence.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// What a lane needs for the costs of kBatch pixels. Pixel k of the walk compares with the window's words
/// k - j + kPairs - 1 (forward) or k + j (backward) for pair j, in each half.
template <int kPairs, int kBatch, bool kAdaptive>
struct CostWindow {
  uint32_t left[kBatch];
  uint32_t right[2][kBatch + kPairs - 1];
  uint32_t p2[kAdaptive ? kBatch : 1];
};

template <int kLanes, int kPairs, bool kWide, bool kAdaptive, bool kBackward>
__device__ __forceinline__ void beginRows(const LineArguments& a, const RowWalk<kLanes>& walk) {
  constexpr int kBatch = 4, kHalf = kLanes * kPairs, kPadded = 2 * kHalf;
  constexpr int kWindow = kBatch + kPairs - 1, kStep = kBackward ? -1 : 1;
  using Costs = Stored<kPairs, false>;
  using Sums = Stored<kPairs, kWide>;
  using Window = CostWindow<kPairs, kBatch, kAdaptive>;
  const size_t row = static_cast<size_t>(walk.row) * a.width;
  const uint32_t* const left = a.censusLeft + row;
  const uint32_t* const right = a.censusRight + row;
  const uint8_t* const grey = a.grey + row;
  const int firstX = walk.steps.firstPixel(), firstPair = walk.lane * kPairs, own = walk.steps.own();
  const int firstStep = walk.steps.first(a.width), endStep = min(walk.steps.end(a.width), own);
  const bool everyDisparity = a.numDisparities == kPadded;

  // All right pixels of these steps exist, and all steps lie within the row.
  const auto plain = [&](int s0) {
    const int lowestX = firstX + kStep * s0 - (kBackward ? kBatch - 1 : 0);
    return everyDisparity && s0 >= firstStep && s0 + kBatch <= endStep && lowestX - a.minDisparity >= kPadded - 1;
  };
  const auto fetchAs = [&](auto careful, Window& w, int s0) {
    constexpr bool kCareful = decltype(careful)::value;
    const int x0 = firstX + kStep * s0;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int x = kCareful ? min(max(x0 + kStep * k, 0), a.width - 1) : x0 + kStep * k;
      w.left[k] = left[x];
      if (kAdaptive) w.p2[kAdaptive ? k : 0] = adaptedP2(a, grey[x], grey[min(max(x - kStep, 0), a.width - 1)]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at0 = x0 - a.minDisparity - firstPair - half * kHalf - (kBackward ? 0 : kPairs - 1);
#pragma unroll
      for (int i = 0; i < kWindow; ++i) {
        const int at = at0 + kStep * i;
        w.right[half][i] = right[kCareful ? min(max(at, 0), a.width - 1) : at];
      }
    }
  };
  const auto fetch = [&](Window& w, int s0) {
    if (plain(s0)) fetchAs(Plain(), w, s0);
    else if (s0 < own) fetchAs(Careful(), w, s0);
  };

  Path<kLanes, kPairs, kWide> path(a, walk.lane);
  const uint32_t constantP2 = Cell::pair(a.p2);
  const uint32_t counted = kBackward && !a.both ? 0 : 0xffffffffu;
  const auto advanceAs = [&](auto careful, const Window& w, int s0) {
    constexpr bool kCareful = decltype(careful)::value;
    const int x0 = firstX + kStep * s0;
    const ptrdiff_t pixel0 = static_cast<ptrdiff_t>(row) + x0;
    uint8_t* costAt = a.cost + pixel0 * kPadded + walk.lane * Costs::kBytes;
    uint8_t* sumsAt = a.sums + (pixel0 * kLanes + walk.lane) * Sums::kBytes;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (kCareful && (s0 + k < firstStep || s0 + k >= endStep)) continue;  // before its line a path is as it was made
      uint32_t cost[kPairs], cells[kPairs], excess[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        const int i = kBackward ? k + j : k - j + kPairs - 1;
        uint32_t low = __popc(w.left[k] ^ w.right[0][i]), high = __popc(w.left[k] ^ w.right[1][i]);
        if (kCareful) {
          const int d = firstPair + j, rightX = x0 + kStep * k - a.minDisparity - d;
          low = d >= a.numDisparities ? 255 : rightX < 0 ? kMaxMatchingCost : low;
          high = d + kHalf >= a.numDisparities ? 255 : rightX < kHalf ? kMaxMatchingCost : high;
        }
        cost[j] = low + (high << 16);
        cells[j] = Cell::fromPlain(cost[j]);
      }
      path.step(cells, kAdaptive ? w.p2[kAdaptive ? k : 0] : constantP2, excess);
      typename Sums::Value sums = Sums::pack(excess);
      Sums::mask(sums, counted);
      typename Costs::Value costs;
#pragma unroll
      for (int i = 0; i < Costs::kWords; ++i) {
        costs.word[i] = __byte_perm(cost[2 * i % kPairs], kPairs > 1 ? cost[(2 * i + 1) % kPairs] : 0u, 0x6420);
      }
      if (walk.valid) {
        Costs::store(costAt + kStep * k * kPadded, costs);
        Sums::store(sumsAt + kStep * k * (kLanes * Sums::kBytes), sums);
      }
    }
  };
  const auto advance = [&](const Window& w, int s0) {
    if (plain(s0)) advanceAs(Plain(), w, s0);
    else advanceAs(Careful(), w, s0);
  };

  Window even = {}, odd = {};
  fetch(even, 0);
#pragma unroll 1
  for (int s = 0; s < own; s += 2 * kBatch) {
    fetch(odd, s + kBatch);
    advance(even, s);
    fetch(even, s + 2 * kBatch);
    advance(odd, s + kBatch);
  }
  if (walk.valid) path.save(a.state + (static_cast<size_t>(walk.row) * 2 + kBackward) * kHalf);
}

template <int kLanes, int kPairs, bool kWide, bool kAdaptive>
__global__ void __launch_bounds__(32 * kWarpsPerBlock, kWalkBlocks) rowsBeginKernel(LineArguments a) {
  const RowWalk<kLanes> walk(a.width, a.height, warpOfBlock());
  if (walk.steps.backward) {
    beginRows<kLanes, kPairs, kWide, kAdaptive, true>(a, walk);
  } else {
    beginRows<kLanes, kPairs, kWide, kAdaptive, false>(a, walk);
  }
}

}  // namespace gpu
}  // namespace depthwatt
