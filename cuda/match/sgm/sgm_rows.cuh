// SPDX-License-Identifier: Apache-2.0
// The last kernel of matching on CUDA: the second half of both walks along every row, and the selection where the last sum is
// formed, so that it is never written. See select.h for what is selected; sgm_select.cuh is the form for sums of any size.
//
// A cell's key is sum << kIndexBits | i in 16 bits (i: its disparity within its half), two to a register.
// Right view: d at x and d + 1 at x + 1 are the same right pixel, so one step of the walk moves the best keys of the right
// pixels by one cell; what leaves the last cell is final for this walk and this half, and the check puts the parts together.
// Left view: keys of 32 pixels go to the warp's tile in shared memory, and then each lane selects for one pixel, so that the
// arithmetic that is needed once a pixel is done for 32 pixels at once.
#pragma once

#include "sgm_ring.cuh"
#include "sgm_winner.cuh"

namespace depthwatt {
namespace gpu {

/// A walk along a row. One warp: 32 / kLanes rows.
template <int kLanes>
struct RowWalk {
  Steps steps;
  int lane, row;
  bool valid;

  __device__ __forceinline__ RowWalk(int width, int height, int warp) : steps(width, (warp & 1) != 0) {
    lane = threadIdx.x & (kLanes - 1);
    row = (blockIdx.x * (kWarpsPerBlock / 2) + warp / 2) * (32 / kLanes) + (threadIdx.x & 31) / kLanes;
    valid = row < height;
    row = valid ? row : height - 1;
  }
};

constexpr uint32_t kNoKey16 = 0xffffu, kNoKeys = 0xffffffffu;

template <int kCount>
struct Bits {
  static constexpr int value = 1 + Bits<kCount / 2>::value;
};
template <>
struct Bits<1> {
  static constexpr int value = 0;
};

/// The winner of 32 pixels, one to a lane, out of the warp's tile; the tile is spoilt. candidates: of this lane's pixel.
template <int kHalf>
__device__ __forceinline__ Winner winnerOf(uint32_t* tile, int candidates) {
  constexpr int kIndexBits = Bits<kHalf>::value, kChunks = kHalf / 4;
  const int pixel = threadIdx.x & 31;
  uint32_t* const own = tile + pixel * kHalf;
  uint16_t* const cells = reinterpret_cast<uint16_t*>(own);
  // Lanes begin at different chunks: their words lie a multiple of the banks apart.
  const auto smallest = [&]() {
    uint32_t least = kNoKeys;
#pragma unroll 4
    for (int c = 0; c < kChunks; ++c) {
      const uint4 four = reinterpret_cast<const uint4*>(own)[(c + pixel) & (kChunks - 1)];
      least = __vminu2(least, __vminu2(__vminu2(four.x, four.y), __vminu2(four.z, four.w)));
    }
    return least;
  };
  const uint32_t best = smallest();
  const uint32_t low = best & 0xffffu, high = best >> 16;
  Winner w = {-1, 0, kNoSum, kNoSum, kNoSum};
  if (best == kNoKeys) return w;
  const bool inHigh = (high >> kIndexBits) < (low >> kIndexBits);
  const uint32_t key = inHigh ? high : low;
  w.d0 = static_cast<int>(key & (kHalf - 1)) + (inHigh ? kHalf : 0);
  w.sum = static_cast<int>(key >> kIndexBits);
  const auto place = [](int d) { return 2 * (d & (kHalf - 1)) + d / kHalf; };
  if (w.d0 > 0) {
    w.below = cells[place(w.d0 - 1)] >> kIndexBits;
    cells[place(w.d0 - 1)] = kNoKey16;
  }
  if (w.d0 + 1 < candidates) {
    w.above = cells[place(w.d0 + 1)] >> kIndexBits;
    cells[place(w.d0 + 1)] = kNoKey16;
  }
  cells[place(w.d0)] = kNoKey16;
  const uint32_t others = smallest();
  const uint32_t second = min(others & 0xffffu, others >> 16);
  const uint32_t secondSum = min((others & 0xffffu) >> kIndexBits, others >> (16 + kIndexBits));
  if (second != kNoKey16) w.second = static_cast<int>(secondSum);
  return w;
}

/// What rowsSelectKernel keeps in shared memory for each warp: its ring, and a tile of 32 pixels.
template <int kLanes, int kPairs, int kVolumes>
struct RowsRing {
  static constexpr int kHalf = kLanes * kPairs, kPadded = 2 * kHalf, kPlanes = 1 + kVolumes;
  static constexpr int kBatch = ringBatch(32 / kLanes * kPlanes * kPadded, ringStepsAtOnce(kLanes, kPadded));
  using Plane = RingPlane<kLanes, kPadded, kBatch>;
  static constexpr int kSlotBytes = kPlanes * Plane::kBytes;
  static constexpr int kBlockBytes = kWarpsPerBlock * kSlotBytes;  ///< of a block, for each slot
  static constexpr int kTileBytes = kWarpsPerBlock * 32 * kHalf * static_cast<int>(sizeof(uint32_t));
};

/// kVolumes: 1 or 3, the first of them rows and columns together; 2 or 4, rows and columns apart; then the diagonals'.
template <int kLanes, int kPairs, bool kAdaptive, int kVolumes, bool kBackward>
__device__ __forceinline__ void selectRows(const LineArguments& a, const SelectArguments& s, const RowWalk<kLanes>& walk,
                                           uint32_t* tile, uint8_t* ring) {
  using Ring = RowsRing<kLanes, kPairs, kVolumes>;
  using Plane = typename Ring::Plane;
  constexpr int kHalf = Ring::kHalf, kPadded = Ring::kPadded, kIndexBits = Bits<kHalf>::value, kBatch = Ring::kBatch;
  constexpr int kStep = kBackward ? -1 : 1, kFirstDiagonal = 2 - kVolumes % 2;
  using Bytes = Stored<kPairs, false>;
  const size_t row = static_cast<size_t>(walk.row) * a.width;
  // Step 0 is the first one behind the meeting.
  const int firstX = kBackward ? walk.steps.meeting - 1 : walk.steps.meeting;
  const int steps = kBackward ? walk.steps.meeting : walk.steps.behind;
  const int firstStep = kBackward ? max(walk.steps.meeting - a.width, 0) : 0;
  const int endStep = kBackward ? steps : max(a.width - walk.steps.meeting, 0);
  // All steps lie in the row and every cell is a candidate.
  const auto plain = [&](int s0) {
    const int lowestX = firstX + kStep * s0 - (kBackward ? kBatch - 1 : 0);
    return s0 >= firstStep && s0 + kBatch <= endStep && a.numDisparities == kPadded && lowestX - a.minDisparity >= kPadded - 1;
  };
  const ptrdiff_t offset0 = (static_cast<ptrdiff_t>(row) + firstX) * kPadded;
  const int firstPair = walk.lane * kPairs, group = (threadIdx.x & 31) / kLanes;
  const uint8_t* const own = keptShared(ring + group * kPadded + walk.lane * Bytes::kBytes);
  Plane cost(ring, a.cost + offset0, kStep * kPadded, walk.lane, group);
  Plane sums[kVolumes];
#pragma unroll
  for (int v = 0; v < kVolumes; ++v) sums[v] = Plane(ring + (1 + v) * Plane::kBytes, s.sums[v] + offset0, kStep * kPadded, walk.lane, group);

  uint32_t p2[kAdaptive ? kBatch : 1], nextP2[kAdaptive ? kBatch : 1];
  const auto fetchP2 = [&](int s0) {
    if (!kAdaptive) return;
    const uint8_t* const grey = a.grey + row;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int x = min(max(firstX + kStep * (s0 + k), 0), a.width - 1);
      nextP2[kAdaptive ? k : 0] = adaptedP2(a, grey[x], grey[min(max(x - kStep, 0), a.width - 1)]);
    }
  };

  Path<kLanes, kPairs, false> path(a, walk.lane);
  path.restore(a.state + (static_cast<size_t>(walk.row) * 2 + kBackward) * kHalf);
  const uint32_t constantP2 = Cell::pair(a.p2);
  const uint32_t counted = kBackward && !a.both ? 0 : 1;
  const uint32_t scale = static_cast<uint32_t>(s.paths);
  uint32_t keyBase[kPairs], carried[kPairs];
#pragma unroll
  for (int j = 0; j < kPairs; ++j) {
    keyBase[j] = (firstPair + j) * 0x00010001u;
    carried[j] = kNoKeys;
  }
  uint32_t* const leaving = s.rightKeys + static_cast<size_t>(walk.row) * (a.width + kHalf);
  const bool delivers = walk.valid && walk.lane == (kBackward ? 0 : kLanes - 1);

  const auto advanceAs = [&](auto careful, int slot, int s0) {
    constexpr bool kCareful = decltype(careful)::value;
    typename Bytes::Value costs[kBatch], straight[kBatch], diagonal[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const auto load = [&](int plane) { return Bytes::load(own + slot + plane * Plane::kBytes + k * Plane::kStepBytes); };
      costs[k] = load(0), straight[k] = load(1), diagonal[k] = Bytes::zero();
      // Sums of rows and columns fit bytes together, and so do those of the diagonals.
      if (kFirstDiagonal == 2) Bytes::add(straight[k], load(2));
#pragma unroll
      for (int v = kFirstDiagonal; v < kVolumes; ++v) Bytes::add(diagonal[k], load(1 + v));
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (kCareful && (s0 + k < firstStep || s0 + k >= endStep)) continue;
      const int x = firstX + kStep * (s0 + k);
      uint32_t cells[kPairs], excess[kPairs], key[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) cells[j] = Cell::fromBytes(costs[k].word[j / 2 % Bytes::kWords], j % 2);
      path.step(cells, kAdaptive ? p2[kAdaptive ? k : 0] : constantP2, excess);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        uint32_t sum = Bytes::pair(straight[k], j) + counted * excess[j];
        if (kVolumes > 2) sum += Bytes::pair(diagonal[k], j);
        sum += scale * Bytes::pair(costs[k], j);
        key[j] = (sum << kIndexBits) + keyBase[j];
      }
      const int candidates = kCareful ? min(a.numDisparities, x - a.minDisparity + 1) : kPadded;
      if (kCareful && candidates < kPadded) {
        const int limit = candidates - firstPair;
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          if (j >= limit) key[j] |= 0xffffu;
          if (j + kHalf >= limit) key[j] |= 0xffff0000u;
        }
      }
      uint32_t* const at = tile + group * kLanes * kHalf + ((s0 + k) & (kLanes - 1)) * kHalf + firstPair;
      if (kPairs == 1) at[0] = key[0];
      if (kPairs == 2) *reinterpret_cast<uint2*>(at) = make_uint2(key[0], key[1 % kPairs]);
#pragma unroll
      for (int q = 0; q < kPairs / 4; ++q) {
        reinterpret_cast<uint4*>(at)[q] = make_uint4(key[4 * q % kPairs], key[(4 * q + 1) % kPairs],
                                                     key[(4 * q + 2) % kPairs], key[(4 * q + 3) % kPairs]);
      }
      if (kBackward) {
        uint32_t entering = __shfl_down_sync(kFullWarp, carried[0], 1, kLanes);
        if (walk.lane == kLanes - 1) entering = kNoKeys;
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          carried[j] = __vminu2(j == kPairs - 1 ? entering : carried[(j + 1) % kPairs], key[j]);
        }
        if (delivers) leaving[x] = carried[0];
      } else {
        uint32_t entering = __shfl_up_sync(kFullWarp, carried[kPairs - 1], 1, kLanes);
        if (walk.lane == 0) entering = kNoKeys;
#pragma unroll
        for (int j = kPairs - 1; j >= 0; --j) {
          carried[j] = __vminu2(j == 0 ? entering : carried[(j + kPairs - 1) % kPairs], key[j]);
        }
        if (delivers) leaving[x] = carried[kPairs - 1];
      }
    }
  };
  // The pixel of the batch that this lane selects for.
  const int slot = threadIdx.x & (kLanes - 1);
  const auto select = [&](int s0) {
    const int x = firstX + kStep * (s0 + slot);
    __syncwarp();
    const Winner winner = winnerOf<kHalf>(tile, min(a.numDisparities, x - a.minDisparity + 1));
    if (walk.valid && s0 + slot >= firstStep && s0 + slot < endStep) {
      const Selected selected = finished(s, winner);
      s.disparityQ4[row + x] = selected.q4;
      s.disparity[row + x] = selected.whole;
      s.confidence[row + x] = selected.confidence;
    }
    __syncwarp();
  };

  if (steps > 0) fetchP2(0);
  walkRing<kBatch, Ring::kSlotBytes>(
      0, steps,
      [&](int slot, int s0) {
        cost.ask(slot, s0, firstStep, endStep);
#pragma unroll
        for (int v = 0; v < kVolumes; ++v) sums[v].ask(slot, s0, firstStep, endStep);
      },
      [&](int slot) {
        cost.arrive(slot);
#pragma unroll
        for (int v = 0; v < kVolumes; ++v) sums[v].arrive(slot);
      },
      [&](int slot, int s0) {
        if (kAdaptive) {
#pragma unroll
          for (int k = 0; k < kBatch; ++k) p2[kAdaptive ? k : 0] = nextP2[kAdaptive ? k : 0];
          fetchP2(s0 + kBatch);
        }
        if (plain(s0)) advanceAs(Plain(), slot, s0);
        else advanceAs(Careful(), slot, s0);
        const int next = s0 + kBatch;
        if ((next & (kLanes - 1)) == 0 || next == steps) select((next - 1) & ~(kLanes - 1));
      });
  if (!kBackward && walk.valid) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) leaving[a.width + firstPair + j] = carried[j];
  }
}

/// Dynamic shared memory: a tile of 32 pixels for each warp, then RowsRing.
template <int kLanes, int kPairs, bool kAdaptive, int kVolumes>
__global__ void __launch_bounds__(32 * kWarpsPerBlock, kWalkBlocks) rowsSelectKernel(LineArguments a, SelectArguments s) {
  constexpr int kHalf = kLanes * kPairs, kIndexBits = Bits<kHalf>::value, kRows = kWarpsPerBlock / 2 * (32 / kLanes);
  extern __shared__ __align__(16) uint32_t tiles[];
  const int warp = warpOfBlock(), meeting = min(Steps(a.width, false).meeting, a.width);
  const RowWalk<kLanes> walk(a.width, a.height, warp);
  uint32_t* const tile = tiles + warp * 32 * kHalf;
  using Ring = RowsRing<kLanes, kPairs, kVolumes>;
  uint8_t* const ring = reinterpret_cast<uint8_t*>(tiles) + Ring::kTileBytes + warp * Ring::kSlotBytes * kRingSlots;
  if (walk.steps.backward) {
    selectRows<kLanes, kPairs, kAdaptive, kVolumes, true>(a, s, walk, tile, ring);
  } else {
    selectRows<kLanes, kPairs, kAdaptive, kVolumes, false>(a, s, walk, tile, ring);
  }
  __syncthreads();
  const int firstRow = blockIdx.x * kRows, rows = min(kRows, a.height - firstRow);
  for (int i = threadIdx.x; i < rows * a.width; i += 32 * kWarpsPerBlock) {
    const int y = firstRow + i / a.width, x = i % a.width;
    const uint32_t* const leaving = s.rightKeys + static_cast<size_t>(y) * (a.width + kHalf);
    // Best key of a right pixel among the disparities of one half: what left the forward walk (or stayed in it) and what left
    // the backward walk.
    const auto bestOf = [&](int xr, int half) {
      const int nearest = xr + a.minDisparity + half * kHalf, furthest = nearest + kHalf - 1, shift = 16 * half;
      uint32_t best = kNoKey16;
      if (nearest < meeting) best = leaving[nearest] >> shift & 0xffffu;
      if (furthest < a.width) {
        if (furthest >= meeting) best = min(best, leaving[furthest] >> shift & 0xffffu);
      } else if (nearest < a.width) {
        best = min(best, leaving[a.width + (a.width - 1 - nearest)] >> shift & 0xffffu);
      }
      return best;
    };
    const auto rightWinner = [&](int xr) {
      const uint32_t low = bestOf(xr, 0), high = bestOf(xr, 1);
      if (low == kNoKey16 && high == kNoKey16) return -1;
      const bool inHigh = (high >> kIndexBits) < (low >> kIndexBits);
      return static_cast<int>((inHigh ? high : low) & (kHalf - 1)) + (inHigh ? kHalf : 0);
    };
    const size_t at = static_cast<size_t>(y) * a.width + x;
    const Selected selected = {s.disparityQ4[at], s.disparity[at], s.confidence[at]};
    writeChecked(s, y, x, selected, rightWinner);
  }
}

}  // namespace gpu
}  // namespace depthwatt
