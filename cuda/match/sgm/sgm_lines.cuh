// SPDX-License-Identifier: Apache-2.0
// Path aggregation on CUDA: kLanes lanes walk one line of the image in one direction, two warps meet on it in the middle.
//
// A lane holds kPerLane disparities that follow each other, two path costs to a register. 32 lanes a line make the shortest
// chain of dependent instructions, 8 lanes the fewest instructions a pixel: which wins depends on how many lines there are
// for each scheduler (sgm.cu chooses; the stored bytes are the same). Of the normalised costs
// N(q, d) = L(q, d) - min_k L(q, k) the next pixel's excess is
//     E(p, d) = min(N(q, d), N(q, d-1) + P1, N(q, d+1) + P1, P2),   L(p, d) = C(p, d) + E(p, d)
// E lies in 0..P2 and is all that is stored. The forward warp writes the first part of the line and the backward warp the
// second; after one barrier each goes on into the part of the other and adds its own excess to what stands there. The
// recurrence itself has no barrier. Volumes are [y][x][kPadded]. A padding cell's cost is 255: its N is then at least 192,
// too much to help a neighbour while P2 <= 192, and it never is the minimum; above that, padding is made infinite.
// Costs and excesses are loaded kBatch pixels ahead, all at once: a load that waits alone would hold up every shuffle that
// shares its scoreboard.
#pragma once

#include "../../gpu/traits.h"
#include "../hamming.h"
#include "sgm.h"

namespace depthwatt {
namespace gpu {

/// A line: its first pixel, its direction and its number of pixels.
struct Line {
  int x, y, dx, dy, length;
};

enum LineSet { kRows, kColumns, kDiagonals, kAntiDiagonals };

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

/// Words of a lane in memory, in one load or two.
template <int kCount>
struct LaneWords {
  uint32_t word[kCount];
};

template <int kCount>
__device__ __forceinline__ LaneWords<kCount> loadWords(const uint8_t* at) {
  LaneWords<kCount> w;
  if (kCount == 1) w.word[0] = *reinterpret_cast<const uint32_t*>(at);
  if (kCount == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(at);
    w.word[0] = two.x, w.word[1 % kCount] = two.y;
  }
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    const uint4 four = reinterpret_cast<const uint4*>(at)[i];
    w.word[(4 * i) % kCount] = four.x, w.word[(4 * i + 1) % kCount] = four.y;
    w.word[(4 * i + 2) % kCount] = four.z, w.word[(4 * i + 3) % kCount] = four.w;
  }
  return w;
}

template <int kCount>
__device__ __forceinline__ void storeWords(uint8_t* at, const LaneWords<kCount>& w) {
  if (kCount == 1) *reinterpret_cast<uint32_t*>(at) = w.word[0];
  if (kCount == 2) *reinterpret_cast<uint2*>(at) = make_uint2(w.word[0], w.word[1 % kCount]);
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    reinterpret_cast<uint4*>(at)[i] = make_uint4(w.word[(4 * i) % kCount], w.word[(4 * i + 1) % kCount],
                                                 w.word[(4 * i + 2) % kCount], w.word[(4 * i + 3) % kCount]);
  }
}

/// What a lane stores per pixel: one byte per cell where two excesses fit (p2 <= 127), else two bytes.
template <int kPerLane, bool kWide>
struct Stored {
  static constexpr int kBytes = kWide ? 2 * kPerLane : kPerLane;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  using Value = LaneWords<kWords>;

  static __device__ __forceinline__ Value load(const uint8_t* at) {
    if (kBytes >= 4) return loadWords<kWords>(at);
    Value value;
    value.word[0] = *reinterpret_cast<const uint16_t*>(at);
    return value;
  }
  static __device__ __forceinline__ void store(uint8_t* at, const Value& value) {
    if (kBytes >= 4) storeWords<kWords>(at, value);
    else *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(value.word[0]);
  }
  static __device__ __forceinline__ Value pack(const uint32_t (&excess)[kPerLane / 2]) {
    Value value;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      value.word[w] = kWide ? Cell::toWords(excess[w % (kPerLane / 2)])
                            : Cell::toBytes(excess[(2 * w) % (kPerLane / 2)], excess[(2 * w + 1) % (kPerLane / 2)]);
    }
    return value;
  }
  /// Nothing overflows: two excesses fit by the choice of kWide. (With two cells a lane the upper half is not stored.)
  static __device__ __forceinline__ void add(Value& value, const Value& other) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) value.word[w] += other.word[w];
  }
  /// Pair j of cells as two uint16.
  static __device__ __forceinline__ uint32_t pair(const Value& value, int j) {
    return kWide ? value.word[j % kWords] : __byte_perm(value.word[j / 2 % kWords], 0, j % 2 != 0 ? 0x4342 : 0x4140);
  }
};

struct LineArguments {
  const uint8_t* cost;    ///< [height][width][padded]
  const uint8_t* grey;    ///< [height][width], only for adaptive P2
  uint8_t* excess;        ///< [height][width][padded] of one or two bytes
  int width, height;
  int numDisparities, p1, p2, adaptiveP2;
};

/// The recurrence of a lane's cells.
template <int kLanes, int kPerLane, bool kWide>
class Path {
 public:
  static constexpr int kPairs = kPerLane / 2;
  using Costs = typename Stored<kPerLane, false>::Value;

  __device__ __forceinline__ Path(const LineArguments& a, int laneInLine)
      : p1_(Cell::pair(a.p1)), first_(laneInLine == 0), last_(laneInLine == kLanes - 1) {
    if (!kWide) return;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const int d = laneInLine * kPerLane + 2 * j;
      padding_[j] = (d < a.numDisparities ? 0 : Cell::kInfinity & 0xffffu) |
                    (d + 1 < a.numDisparities ? 0 : Cell::kInfinity & 0xffff0000u);
    }
  }

  /// As before the first pixel of a line: all equal, so that its excess comes out as 0.
  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) before_[j] = 0;
  }

  /// Takes the cost of the next pixel and gives its excess.
  __device__ __forceinline__ void step(const Costs& cost, uint32_t p2, uint32_t (&excess)[kPairs]) {
    uint32_t below = __shfl_up_sync(kFullWarp, before_[kPairs - 1], 1, kLanes);
    uint32_t above = __shfl_down_sync(kFullWarp, before_[0], 1, kLanes);
    below = first_ ? Cell::kInfinity : below;
    above = last_ ? Cell::kInfinity : above;
    uint32_t crossing[kPairs + 1];  // (last of pair j-1, first of pair j)
#pragma unroll
    for (int j = 0; j <= kPairs; ++j) {
      const uint32_t low = j == 0 ? below : before_[(j + kPairs - 1) % kPairs];
      const uint32_t high = j == kPairs ? above : before_[j % kPairs];
      crossing[j] = __byte_perm(low, high, 0x5432);
    }
    uint32_t smallest = 0;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const uint32_t neighbour = Cell::add(Cell::min(crossing[j], crossing[j + 1]), p1_);
      excess[j] = Cell::min(Cell::min(before_[j], p2), neighbour);
      const uint32_t c = Cell::fromBytes(cost.word[j / 2 % Stored<kPerLane, false>::kWords], j % 2);
      uint32_t now = Cell::add(c, excess[j]);
      if (kWide) now = Cell::max(now, padding_[j]);
      smallest = j == 0 ? now : Cell::min(smallest, now);
      excessCost_[j] = now;
    }
    const uint32_t both = lineMin(smallest);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) before_[j] = Cell::sub(excessCost_[j], both);
    // Infinity stays above every sum of the next step: 0x7fff less at most 63 + 1023, and half's infinity stays infinite.
  }

 private:
  /// Smallest of both halves over the lanes of the line, in both halves.
  static __device__ __forceinline__ uint32_t lineMin(uint32_t pair) {
    if (kLanes == 32 && kHasWarpMin) {
      const uint32_t low = pair & 0xffffu, high = pair >> 16;
      return warpMin(low < high ? low : high) * 0x00010001u;
    }
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      pair = Cell::min(pair, __shfl_xor_sync(kFullWarp, pair, offset));
    }
    return Cell::min(pair, __byte_perm(pair, 0, 0x1032));
  }

  uint32_t p1_;
  bool first_, last_;
  uint32_t before_[kPairs] = {};
  uint32_t excessCost_[kPairs];
  uint32_t padding_[kPairs];
};

constexpr int kWarpsPerBlock = 4;

/// A block has kWarpsPerBlock warps; a pair of them serves 32 / kLanes lines. kBoth = false: forward only (two-path mode).
/// Pixels of a line are counted by the step s at which a warp meets them.
template <int kLanes, int kPerLane, bool kWide, bool kAdaptive, bool kBoth>
__global__ void __launch_bounds__(32 * kWarpsPerBlock) linesKernel(LineArguments a, int set) {
  using Costs = typename Path<kLanes, kPerLane, kWide>::Costs;
  using Volume = Stored<kPerLane, kWide>;
  constexpr int kPadded = kLanes * kPerLane, kLinesPerWarp = 32 / kLanes;
    constexpr int kBatch = kPerLane == 16 && (kAdaptive || kWide) ? 2 : kPerLane == 4 && !kAdaptive && !kWide ? 8 : 4;
  const int lane = threadIdx.x & (kLanes - 1), group = (threadIdx.x & 31) / kLanes, warp = threadIdx.x >> 5;
  const int warpsPerLine = kBoth ? 2 : 1;
  const int index = (blockIdx.x * (kWarpsPerBlock / warpsPerLine) + warp / warpsPerLine) * kLinesPerWarp + group;
  const bool backward = kBoth && (warp & 1) != 0;
  Line line = {0, 0, 0, 0, 0};
  if (index < lineCount(set, a.width, a.height)) line = lineOf(set, index, a.width, a.height);
  int longest = line.length, shortest = line.length;
#pragma unroll
  for (int offset = kLanes; offset < 32; offset *= 2) {
    longest = max(longest, __shfl_xor_sync(kFullWarp, longest, offset));
    shortest = min(shortest, __shfl_xor_sync(kFullWarp, shortest, offset));
  }
  const bool ragged = longest != shortest;
  // Both warps of a pair meet at the same place of all their lines.
  const int meeting = kBoth ? (longest + 1) / 2 : longest;
  const int own = backward ? longest - meeting : meeting;
  const int place0 = backward ? longest - 1 : 0;
  const ptrdiff_t forwardStep = static_cast<ptrdiff_t>(line.dy) * a.width + line.dx;
  const ptrdiff_t pixelStep = backward ? -forwardStep : forwardStep;
  const ptrdiff_t pixel0 = static_cast<ptrdiff_t>(line.y) * a.width + line.x + place0 * forwardStep;
  const uint8_t* cost = a.cost + pixel0 * kPadded + lane * kPerLane;
  uint8_t* excessAt = a.excess + (pixel0 * kLanes + lane) * Volume::kBytes;
  const ptrdiff_t costStep = pixelStep * kPadded, excessStep = pixelStep * kLanes * Volume::kBytes;
  // Lines that are shorter than their neighbours begin later (backward) or end earlier.
  const int firstStep = backward ? longest - line.length : 0, endStep = firstStep + line.length;
  const auto active = [&](int s) { return s >= firstStep && s < endStep; };

  struct Batch {
    Costs cost[kBatch];
    typename Volume::Value others[kBatch];
    uint32_t p2[kAdaptive ? kBatch : 1];
  };
  const auto fetch = [&](Batch& batch, int s0, bool joining) {
    const uint8_t* costHere = cost + s0 * costStep;
    const uint8_t* othersHere = excessAt + s0 * excessStep;
#pragma unroll
    for (int k = 0; k < kBatch; ++k, costHere += costStep) {
      if (active(s0 + k)) batch.cost[k] = Stored<kPerLane, false>::load(costHere);
    }
    if (joining) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k, othersHere += excessStep) {
        if (active(s0 + k)) batch.others[k] = Volume::load(othersHere);
      }
    }
    if (kAdaptive) {
      const uint8_t* grey = a.grey + pixel0 + s0 * pixelStep;
#pragma unroll
      for (int k = 0; k < kBatch; ++k, grey += pixelStep) {
        if (active(s0 + k) && s0 + k > firstStep) {
          const int change = abs(static_cast<int>(grey[0]) - static_cast<int>(grey[-pixelStep]));
          batch.p2[kAdaptive ? k : 0] = Cell::pair(max(a.p1, a.p2 - ((a.adaptiveP2 * change) >> 4)));
        }
      }
    }
  };

  Path<kLanes, kPerLane, kWide> path(a, lane);
  const uint32_t constantP2 = Cell::pair(a.p2);
  const auto advance = [&](const Batch& batch, int s0, int end, bool joining) {
    uint8_t* here = excessAt + s0 * excessStep;
#pragma unroll
    for (int k = 0; k < kBatch; ++k, here += excessStep) {
      const int s = s0 + k;
      if (s >= end) break;
      uint32_t excess[kPerLane / 2];
      path.step(batch.cost[k], kAdaptive ? batch.p2[kAdaptive ? k : 0] : constantP2, excess);
      typename Volume::Value value = Volume::pack(excess);
      if (joining) Volume::add(value, batch.others[k]);
      if (active(s)) Volume::store(here, value);
      if (ragged && s < firstStep) path.reset();
    }
  };

  Batch even = {}, odd = {};
  const auto walk = [&](int begin, int end, bool joining) {
    fetch(even, begin, joining);
    for (int s = begin; s < end; s += 2 * kBatch) {
      fetch(odd, s + kBatch, joining);
      advance(even, s, end, joining);
      fetch(even, s + 2 * kBatch, joining);
      advance(odd, s + kBatch, end, joining);
    }
  };
  walk(0, own, false);
  if (!kBoth) return;
  __syncthreads();  // the other warp's part is written
  walk(own, longest, true);
}

}  // namespace gpu
}  // namespace depthwatt
