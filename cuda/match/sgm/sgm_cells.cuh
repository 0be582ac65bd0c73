// SPDX-License-Identifier: Apache-2.0
// How a lane holds and stores its cells on CUDA, and the step from one pixel of a line to the next.
//
// Volumes are [y][x][kPadded] in their own order: disparities i and i + kPadded / 2 are adjacent and share a register,
// so that the neighbours i - 1 and i + 1 of a pair are whole registers too. kLanes lanes walk a line and hold kPairs
// such pairs each, in order; 32 lanes give the shortest chain of dependent instructions, 8 lanes the fewest
// instructions a pixel. Stored bytes do not depend on the number of lanes.
#pragma once

#include "../../device/traits.h"
#include "../cost/hamming.h"
#include "sgm.h"

namespace depthwatt {
namespace gpu {

/// Words of a lane in memory, loaded at once or in a few parts.
template <int kCount>
struct LaneWords {
  uint32_t word[kCount];
};

/// A lane's stored data per pixel: two bytes a pair if sums of excesses fit bytes, else a word.
template <int kPairs, bool kWide>
struct Stored {
  static constexpr int kBytes = kWide ? 4 * kPairs : 2 * kPairs;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  using Value = LaneWords<kWords>;

  static __device__ __forceinline__ Value load(const uint8_t* at) {
    Value v;
    if (kBytes == 2) v.word[0] = *reinterpret_cast<const uint16_t*>(at);
    if (kBytes == 4) v.word[0] = *reinterpret_cast<const uint32_t*>(at);
    if (kBytes == 8) {
      const uint2 two = *reinterpret_cast<const uint2*>(at);
      v.word[0] = two.x, v.word[1 % kWords] = two.y;
    }
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      const uint4 four = reinterpret_cast<const uint4*>(at)[i];
      v.word[(4 * i) % kWords] = four.x, v.word[(4 * i + 1) % kWords] = four.y;
      v.word[(4 * i + 2) % kWords] = four.z, v.word[(4 * i + 3) % kWords] = four.w;
    }
    return v;
  }
  static __device__ __forceinline__ void store(uint8_t* at, const Value& v) {
    if (kBytes == 2) *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(v.word[0]);
    if (kBytes == 4) *reinterpret_cast<uint32_t*>(at) = v.word[0];
    if (kBytes == 8) *reinterpret_cast<uint2*>(at) = make_uint2(v.word[0], v.word[1 % kWords]);
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      reinterpret_cast<uint4*>(at)[i] = make_uint4(v.word[(4 * i) % kWords], v.word[(4 * i + 1) % kWords],
                                                   v.word[(4 * i + 2) % kWords], v.word[(4 * i + 3) % kWords]);
    }
  }
  static __device__ __forceinline__ Value pack(const uint32_t (&cells)[kPairs]) {
    Value v;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      v.word[w] = kWide ? cells[w % kPairs]
                        : Cell::toBytes(cells[(2 * w) % kPairs], kPairs > 1 ? cells[(2 * w + 1) % kPairs] : 0u);
    }
    return v;
  }
  /// Nothing overflows: kWide is chosen so that sums fit.
  static __device__ __forceinline__ void add(Value& v, const Value& other) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) v.word[w] += other.word[w];
  }
  static __device__ __forceinline__ void mask(Value& v, uint32_t bits) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) v.word[w] &= bits;
  }
  static __device__ __forceinline__ Value zero() {
    Value v = {};
    return v;
  }
  /// Returns pair j as two uint16.
  static __device__ __forceinline__ uint32_t pair(const Value& v, int j) {
    return kWide ? v.word[j % kWords] : __byte_perm(v.word[j / 2 % kWords], 0, j % 2 != 0 ? 0x4342 : 0x4140);
  }
};

/// Arguments of all line kernels. Volumes: [height][width][kPadded] of one byte (costs, narrow sums) or two.
struct LineArguments {
  const uint32_t *censusLeft, *censusRight;
  const uint32_t *moreLeft, *moreRight;  ///< the second words, if there are two
  const uint8_t* grey;                   ///< only for adaptive P2
  uint8_t* cost;
  uint8_t* sums;    ///< excesses of the directions so far
  uint32_t* state;  ///< [height][2][kPadded / 2]: the state of the two walks along a row where they meet
  int width, height;
  int minDisparity, numDisparities, p1, p2, adaptiveP2, outsideCost;
  bool both;      ///< false: forward directions only (two-path mode); backward excesses count as 0
  bool addFirst;  ///< the first visit adds to sums of earlier directions
};

/// The recurrence of a lane's cells. With m the smallest path cost of the previous pixel, the next pixel's excess is
///     E(p, d) = min(L(q, d), L(q, d-1) + P1, L(q, d+1) + P1, m + P2) - m,   L(p, d) = C(p, d) + E(p, d)
/// E is in 0..P2, and only E is stored. The minimum m is reduced while the neighbours' shuffles are in flight, so no shuffle waits
/// for it. A padding cell costs 255: while P2 <= 127 it is never the minimum and never lowers a neighbour. For larger P2 (kWide)
/// padding cells are set to infinity.
template <int kLanes, int kPairs, bool kWide>
class Path {
 public:
  __device__ __forceinline__ Path(const LineArguments& a, int lane) : p1_(Cell::pair(a.p1)), lane_(lane) {
    // At the seam the low half of the last pair neighbours the high half of the first.
    fromBelow_ = lane == 0 ? 0x1054 : 0x3210;
    fromAbove_ = lane == kLanes - 1 ? 0x5432 : 0x3210;
    reset();
    if (!kWide) return;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const int d = lane * kPairs + j;
      padding_[j] = (d < a.numDisparities ? 0 : Cell::kInfinity & 0xffffu) |
                    (d + kLanes * kPairs < a.numDisparities ? 0 : Cell::kInfinity & 0xffff0000u);
    }
  }

  /// Sets the state before the first pixel of a line: all cells are equal, so that every excess of that pixel is 0.
  __device__ __forceinline__ void reset() {
    smallest_ = 0, below_ = above_ = p1_;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) now_[j] = 0, stepped_[j] = p1_;
  }
  __device__ __forceinline__ void save(uint32_t* state) const {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) state[lane_ * kPairs + j] = Cell::sub(now_[j], smallest_);
  }
  __device__ __forceinline__ void restore(const uint32_t* state) {
    smallest_ = 0;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) now_[j] = state[lane_ * kPairs + j];
    exchange();
  }

  /// Takes the costs of the next pixel and returns its excesses.
  __device__ __forceinline__ void step(const uint32_t (&cost)[kPairs], uint32_t p2, uint32_t (&excess)[kPairs]) {
    const uint32_t below = __byte_perm(below_, Cell::kInfinity, fromBelow_);
    const uint32_t above = __byte_perm(above_, Cell::kInfinity, fromAbove_);
    uint32_t next[kPairs], smallest = 0;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const uint32_t low = j == 0 ? below : stepped_[(j + kPairs - 1) % kPairs];
      const uint32_t high = j == kPairs - 1 ? above : stepped_[(j + 1) % kPairs];
      // m is used last: everything else runs while its shuffles are in flight.
      excess[j] = Cell::min(Cell::sub(Cell::min(now_[j], Cell::min(low, high)), smallest_), p2);
      next[j] = Cell::add(excess[j], cost[j]);
      if (kWide) next[j] = Cell::max(next[j], padding_[j]);
      smallest = j == 0 ? next[j] : Cell::min(smallest, next[j]);
    }
#pragma unroll
    for (int j = 0; j < kPairs; ++j) now_[j] = next[j];
    exchange();
    smallest_ = lineMin(smallest);
    // Infinity stays above every sum of the next step.
  }

 private:
  /// Sends the outer cells to the neighbouring lanes. P1 is added before sending, so that only one minimum of three
  /// values remains after the shuffles.
  __device__ __forceinline__ void exchange() {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) stepped_[j] = Cell::add(now_[j], p1_);
    below_ = __shfl_sync(kFullWarp, stepped_[kPairs - 1], lane_ + kLanes - 1, kLanes);
    above_ = __shfl_sync(kFullWarp, stepped_[0], lane_ + 1, kLanes);
  }
  /// Returns the smallest of both halves over the lanes of the line, in both halves.
  static __device__ __forceinline__ uint32_t lineMin(uint32_t pair) {
    if (kLanes == 32 && kHasWarpMin) return warpMin(Cell::min(pair, __byte_perm(pair, 0, 0x1032)));
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) {
      pair = Cell::min(pair, __shfl_xor_sync(kFullWarp, pair, offset));
    }
    return Cell::min(pair, __byte_perm(pair, 0, 0x1032));
  }

  uint32_t p1_, fromBelow_, fromAbove_, smallest_;
  int lane_;
  uint32_t now_[kPairs], stepped_[kPairs];
  uint32_t below_, above_;  ///< the neighbours' ends, as sent
  uint32_t padding_[kPairs];
};

constexpr int kWarpsPerBlock = 2;  ///< the forward and the backward warp of a line (or a group of lines)

/// Returns the thread's warp as a value that the compiler knows to be uniform over the warp.
__device__ __forceinline__ int warpOfBlock() { return __shfl_sync(kFullWarp, static_cast<int>(threadIdx.x >> 5), 0); }

struct Plain {
  static constexpr bool value = false;
};
struct Careful {
  static constexpr bool value = true;
};

/// The steps of the two directions that meet on a line of `longest` pixels (the longest line of the warp). Both take
/// the same number of steps before and after the middle, in whole units, so that the loops need no test in each step.
/// The forward direction therefore runs past the end of the line, and the backward one starts outside of it.
struct Steps {
  static constexpr int kUnit = 16;
  int meeting;  ///< forward: pixels below it come before the meeting
  int behind;   ///< steps from there to the end
  bool backward;

  __device__ __forceinline__ Steps(int longest, bool backwards) : backward(backwards) {
    meeting = ((longest + 1) / 2 + kUnit - 1) / kUnit * kUnit;
    behind = (max(longest - meeting, 0) + kUnit - 1) / kUnit * kUnit;
  }
  __device__ __forceinline__ int total() const { return meeting + behind; }
  __device__ __forceinline__ int own() const { return backward ? behind : meeting; }  ///< steps before the meeting
  __device__ __forceinline__ int firstPixel() const { return backward ? meeting + behind - 1 : 0; }
  /// Returns the first of the steps inside a line of this length: first <= s < end.
  __device__ __forceinline__ int first(int length) const { return backward ? total() - length : 0; }
  __device__ __forceinline__ int end(int length) const { return backward ? total() : length; }
};

}  // namespace gpu
}  // namespace depthwatt
