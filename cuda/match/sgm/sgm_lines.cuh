// SPDX-License-Identifier: Apache-2.0
// Path aggregation on CUDA along columns and diagonals, and along the rest of the rows where rows do not select.
//
// Two warps meet on a line in the middle. The forward warp visits the first part of the line and the backward warp the second;
// after one barrier each goes on into the part of the other. What a visit finds in the volume it adds to: the other
// direction's excesses, and those of directions before (addFirst). The recurrence itself has no barrier.
// Costs and sums are loaded kBatch pixels ahead, all at once: a load that waits alone would hold up every shuffle that
// shares its scoreboard.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// A line: its first pixel, its direction and its number of pixels.
struct Line {
  int x, y, dx, dy, length;
};

enum LineSet { kRows, kColumns, kDiagonals, kAntiDiagonals, kLineSets };

__host__ __device__ inline int lineCount(int set, int width, int height) {
  if (set == kRows) return height;
  return set == kColumns ? width : width + height - 1;
}

__device__ inline Line lineOf(int set, int index, int width, int height) {
  if (set == kRows) return {0, index, 1, 0, width};
  if (set == kColumns) return {index, 0, 0, 1, height};
  Line line;
  line.dy = 1;
  if (set == kDiagonals) {
    line.dx = 1;
    line.x = index < width ? index : 0;
    line.y = index < width ? 0 : index - width + 1;
    line.length = min(width - line.x, height - line.y);
  } else {
    line.dx = -1;
    line.x = index < width ? index : width - 1;
    line.y = index < width ? 0 : index - width + 1;
    line.length = min(line.x + 1, height - line.y);
  }
  return line;
}

/// Pixels of a line are counted by the step s at which a warp meets them. On rows the first part has been walked
/// (sgm_begin.cuh).
template <int kLanes, int kPairs, bool kWide, bool kAdaptive>
__global__ void __launch_bounds__(32 * kWarpsPerBlock, kWalkBlocks) linesKernel(LineArguments a, int set) {
  using CostValues = Stored<kPairs, false>;
  using SumValues = Stored<kPairs, kWide>;
  constexpr int kPadded = 2 * kLanes * kPairs, kLinesPerWarp = 32 / kLanes;
  constexpr int kBatch = kPairs >= 8 && (kAdaptive || kWide) ? 2 : kPairs <= 2 && !kAdaptive && !kWide ? 8 : 4;
  const int lane = threadIdx.x & (kLanes - 1), group = (threadIdx.x & 31) / kLanes, warp = warpOfBlock();
  const int asked = (blockIdx.x * (kWarpsPerBlock / 2) + warp / 2) * kLinesPerWarp + group;
  const int index = min(asked, lineCount(set, a.width, a.height) - 1);
  const bool valid = asked == index;
  const Line line = lineOf(set, index, a.width, a.height);
  int longest = line.length, shortest = line.length;
#pragma unroll
  for (int offset = kLanes; offset < 32; offset *= 2) {
    longest = max(longest, __shfl_xor_sync(kFullWarp, longest, offset));
    shortest = min(shortest, __shfl_xor_sync(kFullWarp, shortest, offset));
  }
  // Both warps of a pair meet at the same place of all their lines.
  const Steps steps(__shfl_sync(kFullWarp, longest, 0), (warp & 1) != 0);
  shortest = __shfl_sync(kFullWarp, shortest, 0);
  const int allFirst = steps.first(shortest), allEnd = steps.end(shortest);
  const int firstStep = steps.first(line.length), endStep = steps.end(line.length);
  const ptrdiff_t forwardStep = static_cast<ptrdiff_t>(line.dy) * a.width + line.dx;
  const ptrdiff_t pixelStep = steps.backward ? -forwardStep : forwardStep;
  const ptrdiff_t pixel0 = static_cast<ptrdiff_t>(line.y) * a.width + line.x + steps.firstPixel() * forwardStep;
  const uint8_t* cost = a.cost + pixel0 * kPadded + lane * CostValues::kBytes;
  uint8_t* sumsAt = a.sums + (pixel0 * kLanes + lane) * SumValues::kBytes;
  const ptrdiff_t costStep = pixelStep * kPadded, sumsStep = pixelStep * kLanes * SumValues::kBytes;
  const auto plain = [&](int s0) { return s0 >= allFirst && s0 + kBatch <= allEnd; };

  struct Batch {
    typename CostValues::Value cost[kBatch];
    typename SumValues::Value sums[kBatch];
    uint32_t p2[kAdaptive ? kBatch : 1];
  };
  const auto fetchAs = [&](auto careful, Batch& batch, int s0, bool joining) {
    constexpr bool kCareful = decltype(careful)::value;
    const auto wanted = [&](int k) { return !kCareful || (s0 + k >= firstStep && s0 + k < endStep); };
    const uint8_t* costHere = cost + s0 * costStep;
    const uint8_t* sumsHere = sumsAt + s0 * sumsStep;
#pragma unroll
    for (int k = 0; k < kBatch; ++k, costHere += costStep) {
      if (wanted(k)) batch.cost[k] = CostValues::load(costHere);
    }
    if (joining) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k, sumsHere += sumsStep) {
        if (wanted(k)) batch.sums[k] = SumValues::load(sumsHere);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) batch.sums[k] = SumValues::zero();
    }
    if (kAdaptive) {
      const uint8_t* grey = a.grey + pixel0 + s0 * pixelStep;
#pragma unroll
      for (int k = 0; k < kBatch; ++k, grey += pixelStep) {
        // The first pixel of a line has no step before it; its P2 is of no effect.
        if (wanted(k)) batch.p2[kAdaptive ? k : 0] = adaptedP2(a, grey[0], grey[s0 + k > firstStep ? -pixelStep : 0]);
      }
    }
  };
  const auto fetch = [&](Batch& batch, int s0, bool joining) {
    if (plain(s0)) fetchAs(Plain(), batch, s0, joining);
    else fetchAs(Careful(), batch, s0, joining);
  };

  Path<kLanes, kPairs, kWide> path(a, lane);
  const uint32_t constantP2 = Cell::pair(a.p2);
  const auto advanceAs = [&](auto careful, const Batch& batch, int s0) {
    constexpr bool kCareful = decltype(careful)::value;
    uint8_t* here = sumsAt + s0 * sumsStep;
#pragma unroll
    for (int k = 0; k < kBatch; ++k, here += sumsStep) {
      uint32_t cells[kPairs], excess[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        cells[j] = Cell::fromBytes(batch.cost[k].word[j / 2 % CostValues::kWords], j % 2);
      }
      path.step(cells, kAdaptive ? batch.p2[kAdaptive ? k : 0] : constantP2, excess);
      typename SumValues::Value value = SumValues::pack(excess);
      SumValues::add(value, batch.sums[k]);
      if (valid && (!kCareful || (s0 + k >= firstStep && s0 + k < endStep))) SumValues::store(here, value);
      if (kCareful && s0 + k < firstStep) path.reset();
    }
  };
  const auto advance = [&](const Batch& batch, int s0) {
    if (plain(s0)) advanceAs(Plain(), batch, s0);
    else advanceAs(Careful(), batch, s0);
  };

  if (set == kRows) path.restore(a.state + (static_cast<size_t>(index) * 2 + steps.backward) * (kPadded / 2));
  const bool walks = a.both || !steps.backward;
  Batch even = {}, odd = {};
#pragma unroll 1
  for (int part = set == kRows ? 1 : 0; part < 2; ++part) {
    const int begin = part == 0 ? 0 : steps.own(), end = !walks ? begin : part == 0 ? steps.own() : steps.total();
    // Behind the meeting of two walks stands what the other one has written.
    const bool joining = a.addFirst || (part != 0 && a.both);
    if (part != 0) __syncthreads();
    if (begin < end) fetch(even, begin, joining);
#pragma unroll 1
    for (int s = begin; s < end; s += 2 * kBatch) {
      fetch(odd, s + kBatch, joining);
      advance(even, s);
      if (s + 2 * kBatch < end) fetch(even, s + 2 * kBatch, joining);
      advance(odd, s + kBatch);
    }
  }
}

}  // namespace gpu
}  // namespace depthwatt
