// SPDX-License-Identifier: Apache-2.0
// Path aggregation on CUDA along columns and diagonals, and along the rest of the rows if rows do not select.
//
// Two warps process a line, one forward and one backward, and meet in the middle. Each first writes its own half of the
// line; after one barrier each continues into the other's half and adds to its sums. With addFirst the first half is
// added to as well, because earlier directions wrote it. The recurrence itself needs no barrier. Costs and sums are
// loaded batches ahead through a ring buffer in shared memory.
#pragma once

#include "sgm_adaptive.cuh"
#include "sgm_ring.cuh"

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

__device__ inline Line lineAt(int set, int index, int width, int height) {
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

/// A lane's line, and the steps in which its warp walks all its lines.
struct LineWalk {
  int index;                 ///< of the line in its set
  bool valid;                ///< whether the lane's line exists; otherwise it repeats the set's last one
  Steps steps;               ///< of the longest line: loop bounds must be the same for all of a warp's lanes
  int firstStep, endStep;    ///< steps inside the lane's line
  int allFirst, allEnd;      ///< steps inside all lines
  ptrdiff_t pixel0, toNext;  ///< pixel of step 0, and the distance between steps

  /// @param kLanes lanes per line
  template <int kLanes>
  static __device__ __forceinline__ LineWalk of(const LineArguments& a, int set, int asked, bool backward) {
    const int index = min(asked, lineCount(set, a.width, a.height) - 1);
    const Line line = lineAt(set, index, a.width, a.height);
    int longest = line.length, shortest = line.length;
#pragma unroll
    for (int offset = kLanes; offset < 32; offset *= 2) {
      longest = max(longest, __shfl_xor_sync(kFullWarp, longest, offset));
      shortest = min(shortest, __shfl_xor_sync(kFullWarp, shortest, offset));
    }
    const Steps steps(__shfl_sync(kFullWarp, longest, 0), backward);
    shortest = __shfl_sync(kFullWarp, shortest, 0);
    const ptrdiff_t forward = static_cast<ptrdiff_t>(line.dy) * a.width + line.dx;
    return {index,
            asked == index,
            steps,
            steps.first(line.length),
            steps.end(line.length),
            steps.first(shortest),
            steps.end(shortest),
            static_cast<ptrdiff_t>(line.y) * a.width + line.x + steps.firstPixel() * forward,
            steps.backward ? -forward : forward};
  }
};

/// The shared memory of linesKernel.
template <int kLanes, int kPairs, bool kWide>
struct LinesRing {
  static constexpr int kPadded = 2 * kLanes * kPairs, kSumBytes = kPadded * (kWide ? 2 : 1);
  static constexpr int kBatch = ringBatch(32 / kLanes * (kPadded + kSumBytes), ringStepsAtOnce(kLanes, kPadded));
  using Costs = RingPlane<kLanes, kPadded, kBatch>;
  using Sums = RingPlane<kLanes, kSumBytes, kBatch>;
  static constexpr int kSlotBytes = Costs::kBytes + Sums::kBytes;
  static constexpr int kBlockBytes = kWarpsPerBlock * kSlotBytes;  ///< per block and slot
};

enum LineParts { kFirstPart = 1, kSecondPart = 2, kBothParts = 3 };

/// s counts the steps of a warp, and so the pixels of its line. parts: which halves of the lines this launch processes.
/// If two launches process one half each, a.state carries the path costs between them. Dynamic shared memory:
/// LinesRing.
template <int kLanes, int kPairs, bool kWide, bool kAdaptive>
__global__ void __launch_bounds__(32 * kWarpsPerBlock, kWalkBlocks) linesKernel(LineArguments a, int set, int parts) {
  using CostValues = Stored<kPairs, false>;
  using SumValues = Stored<kPairs, kWide>;
  using Ring = LinesRing<kLanes, kPairs, kWide>;
  constexpr int kPadded = Ring::kPadded, kLinesPerWarp = 32 / kLanes, kBatch = Ring::kBatch;
  extern __shared__ __align__(16) uint8_t ring[];
  const int lane = threadIdx.x & (kLanes - 1), group = (threadIdx.x & 31) / kLanes, warp = warpOfBlock();
  const LineWalk walk = LineWalk::of<kLanes>(
      a, set, (blockIdx.x * (kWarpsPerBlock / 2) + warp / 2) * kLinesPerWarp + group, (warp & 1) != 0);
  const Steps& steps = walk.steps;
  const ptrdiff_t startPixel = walk.pixel0 + (parts == kSecondPart ? steps.own() * walk.toNext : 0);
  uint8_t* here = a.sums + startPixel * Ring::kSumBytes + lane * SumValues::kBytes;
  const ptrdiff_t sumsStep = walk.toNext * Ring::kSumBytes;
  uint8_t* const ownRing = ring + warp * Ring::kSlotBytes * kRingSlots;
  typename Ring::Costs costs(ownRing, a.cost + startPixel * kPadded, walk.toNext * kPadded, lane, group);
  typename Ring::Sums sums(ownRing + Ring::Costs::kBytes, a.sums + startPixel * Ring::kSumBytes, sumsStep, lane, group);
  const uint8_t* const ownCosts = keptShared(ownRing + group * kPadded + lane * CostValues::kBytes);
  const uint8_t* const ownSums =
      keptShared(ownRing + Ring::Costs::kBytes + group * Ring::kSumBytes + lane * SumValues::kBytes);

  using P2 = StepP2<kAdaptive, kLanes, kBatch>;
  __shared__ __align__(16) uint8_t p2Bytes[kWarpsPerBlock * P2::kBytes];
  P2 p2(a, p2Bytes + warp * P2::kBytes, a.grey + walk.pixel0, walk.toNext, walk.firstStep, walk.endStep, walk.firstStep,
        lane, group);

  Path<kLanes, kPairs, kWide> path(a, lane);
  const auto advanceAs = [&](auto careful, int slot, int s0, bool joining) {
    constexpr bool kCareful = decltype(careful)::value;
    typename CostValues::Value cost[kBatch];
    typename SumValues::Value found[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      cost[k] = CostValues::load(ownCosts + slot + k * Ring::Costs::kStepBytes);
      found[k] = SumValues::zero();
    }
    const auto p2OfSteps = p2.template read<kBatch>(0);
    if (joining) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) found[k] = SumValues::load(ownSums + slot + k * Ring::Sums::kStepBytes);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k, here = keptGlobal(here + sumsStep)) {
      uint32_t cells[kPairs], excess[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) cells[j] = Cell::fromBytes(cost[k].word[j / 2 % CostValues::kWords], j % 2);
      path.step(cells, p2OfSteps.pair(k), excess);
      typename SumValues::Value value = SumValues::pack(excess);
      SumValues::add(value, found[k]);
      if (walk.valid && (!kCareful || (s0 + k >= walk.firstStep && s0 + k < walk.endStep)))
        SumValues::store(here, value);
      if (kCareful && s0 + k < walk.firstStep) path.reset();
    }
  };

  untilKernelBefore();
  uint32_t* const state = a.state + (static_cast<size_t>(walk.index) * 2 + steps.backward) * (kPadded / 2);
  if (parts == kSecondPart) path.restore(state);
  const bool walks = a.both || !steps.backward;
  if (!walks && parts == kFirstPart) {  // later kernels add to the backward half, so it must hold zeros
    for (int s = 0; s < steps.own(); ++s, here += sumsStep) {
      if (walk.valid && s >= walk.firstStep) SumValues::store(here, SumValues::zero());
    }
  }
#pragma unroll 1
  for (int part = parts == kSecondPart ? 1 : 0; part < (parts == kFirstPart ? 1 : 2); ++part) {
    const int begin = part == 0 ? 0 : steps.own(), end = !walks ? begin : part == 0 ? steps.own() : steps.total();
    // Past the middle the other direction's sums exist: add to them.
    const bool joining = a.addFirst || (part != 0 && a.both);
    if (part != 0) __syncthreads();
    const int lastStep = max(min(walk.endStep, end), walk.firstStep);
    if (begin < end) p2.fetch(begin);
    walkRing<kBatch, Ring::kSlotBytes>(
        begin, end,
        [&](int slot, int s) {
          costs.ask(slot, s, walk.firstStep, lastStep);
          sums.ask(slot, s, walk.firstStep, joining ? lastStep : walk.firstStep);
        },
        [&](int slot) {
          costs.arrive(slot);
          sums.arrive(slot);
          p2.arrive();
        },
        [&](int slot, int s) {
          p2.fetch(s + kBatch);
          if (s >= walk.allFirst && s + kBatch <= walk.allEnd) advanceAs(Plain(), slot, s, joining);
          else advanceAs(Careful(), slot, s, joining);
        });
  }
  if (parts == kFirstPart && walk.valid) path.save(state);
}

}  // namespace gpu
}  // namespace depthwatt
