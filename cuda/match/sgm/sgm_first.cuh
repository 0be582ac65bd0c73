// SPDX-License-Identifier: Apache-2.0
// Matching costs and the first half of the rows in one kernel on CUDA: two warps aggregate a row from both ends to its
// middle, and a further warp for each computes its next costs.
//
// The costs are written to the volume, for the other kernels, and to a tile in shared memory, the only memory that the
// aggregating warp of this kernel reads. The two warps share the tile as a double buffer (sgm_turns.cuh).
// The roles of the warps are the same in every block: the hardware assigns a block's warps to the schedulers in turn, so each
// scheduler gets both kinds.
#pragma once

#include "sgm_adaptive.cuh"
#include "sgm_turns.cuh"

namespace depthwatt {
namespace gpu {

template <int kPairs>
struct FirstShape {
  static constexpr int kThreads = 128;  ///< two warps that walk, two that compute
  static constexpr int kHalf = 32 * kPairs, kPadded = 2 * kHalf;
  static constexpr int kTile = 16;                  ///< steps
  static constexpr int kTileWords = kTile * kHalf;  ///< a word for each pair of cells
  /// Eight pairs of a pixel per lane: this many lanes compute a pixel, and each group of them a run of pixels.
  static constexpr int kServing = kHalf / 8, kRun = kTile * kServing / 32;
  static_assert(Steps::kUnit % kTile == 0 && kRun >= 1, "walks are whole tiles, tiles whole runs");
};

/// Computes the costs tile by tile: each lane a run of adjacent pixels, eight pairs of cells of each.
template <int kPairs>
class TileCosts {
 public:
  using Shape = FirstShape<kPairs>;

  __device__ __forceinline__ TileCosts(const LineArguments& a, int row, const Steps& steps)
      : backward_(steps.backward) {
    const int thread = threadIdx.x & 31;
    firstStep_ = thread / Shape::kServing * kRun, firstPair_ = thread % Shape::kServing * 8;
    row_ = row * a.width;
    x_ = backward_ ? steps.firstPixel() - firstStep_ - (kRun - 1) : firstStep_;  // the run's leftmost pixel
    load(a);
  }
  /// Writes the tile and the volume, and starts loading the census of the next tile. No tile after the last is read.
  __device__ __forceinline__ void compute(const LineArguments& a, uint32_t* tile) {
    const bool plain = a.numDisparities == kPadded && x_ - a.minDisparity >= kPadded - 1;
    uint8_t* const volume = a.cost + (static_cast<ptrdiff_t>(row_) + x_) * kPadded + 2 * firstPair_;
#pragma unroll
    for (int p = 0; p < kRun; ++p) {
      uint32_t cost[16];  // in the order of their bytes
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          cost[2 * j + half] = static_cast<uint32_t>(__popc(left_[p] ^ right_[half][p - j + 7]));
        }
      }
      if (!plain) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const int d = firstPair_ + i / 2 + i % 2 * kHalf, rightX = x_ + p - a.minDisparity - d;
          cost[i] = d >= a.numDisparities ? 255u : rightX < 0 ? static_cast<uint32_t>(a.outsideCost) : cost[i];
        }
      }
      uint32_t pair[8], word[4];
#pragma unroll
      for (int j = 0; j < 8; ++j) pair[j] = packPair(cost[2 * j], cost[2 * j + 1]);
#pragma unroll
      for (int w = 0; w < 4; ++w) word[w] = Cell::toBytes(pair[2 * w], pair[2 * w + 1]);
      const int step = firstStep_ + (backward_ ? kRun - 1 - p : p);
      uint4* const to = reinterpret_cast<uint4*>(tile + step * kHalf + firstPair_);
      to[0] = make_uint4(pair[0], pair[1], pair[2], pair[3]);
      to[1] = make_uint4(pair[4], pair[5], pair[6], pair[7]);
      if (x_ + p >= 0 && x_ + p < a.width) {
        *reinterpret_cast<uint4*>(volume + p * kPadded) = make_uint4(word[0], word[1], word[2], word[3]);
      }
    }
    x_ += backward_ ? -kTile : kTile;
    load(a);
  }

 private:
  static constexpr int kRun = Shape::kRun, kHalf = Shape::kHalf, kPadded = Shape::kPadded, kTile = Shape::kTile;

  __device__ __forceinline__ void load(const LineArguments& a) {
    // Near the first and the last pixel of the image, words outside of it are not read; elsewhere words of another row
    // are read and not used.
    const int linear = row_ + x_, right = linear - a.minDisparity - firstPair_ - 7;
    if (linear >= 0 && right - kHalf >= 0 && linear + kRun <= a.width * a.height) {
      loadFrom([&](const uint32_t* image, int first, int i) { return image[first + i]; }, a, linear, right);
    } else {
      const int last = a.width * a.height - 1;
      loadFrom([&](const uint32_t* image, int first, int i) { return image[min(max(first + i, 0), last)]; }, a, linear,
               right);
    }
  }
  template <class Get>
  __device__ __forceinline__ void loadFrom(Get get, const LineArguments& a, int linear, int right) {
#pragma unroll
    for (int p = 0; p < kRun; ++p) left_[p] = get(a.censusLeft, linear, p);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < kRun + 7; ++i) right_[half][i] = get(a.censusRight, right - half * kHalf, i);
    }
  }

  bool backward_;
  int firstStep_, firstPair_, row_, x_;
  uint32_t left_[kRun], right_[2][kRun + 7];
};

/// A block: a row with its forward and backward walk to their meeting, where `state` keeps their state. Both directions
/// are walked. The warps that compute costs also compute adaptive P2.
template <int kPairs, bool kAdaptive>
__global__ void __launch_bounds__(FirstShape<kPairs>::kThreads, firstBlocks(kPairs, kAdaptive))
    firstRowsKernel(LineArguments a) {
  using Shape = FirstShape<kPairs>;
  using Bytes = Stored<kPairs, false>;
  using Words = Stored<kPairs, true>;
  constexpr int kHalf = Shape::kHalf, kPadded = Shape::kPadded, kTile = Shape::kTile, kUnroll = 8;
  using P2 = StepP2<kAdaptive, 32, kTile>;
  __shared__ __align__(16) uint32_t tiles[2][2][Shape::kTileWords];
  __shared__ __align__(16) uint8_t p2Bytes[2][P2::kBytes];
  untilKernelBefore();
  const int warp = warpOfBlock(), lane = threadIdx.x & 31, row = blockIdx.x;
  const bool backward = (warp & 1) != 0;
  const Steps steps(a.width, backward);
  const int count = steps.own() / kTile;  // tiles: one is computed while the previous one is walked
  const TileTurns turns(backward);
  const int firstStep = steps.first(a.width), endStep = steps.end(a.width);
  if (warp >= 2) {
    TileCosts<kPairs> costs(a, row, steps);
    P2 p2(a, p2Bytes[warp & 1], a.grey + static_cast<ptrdiff_t>(row) * a.width + steps.firstPixel(), backward ? -1 : 1,
          firstStep, endStep, firstStep, lane, 0);
    p2.fetch(0);
#pragma unroll 1
    for (int t = 0; t < count; ++t) {
      if (t >= 2) turns.untilEmptied(t & 1);
      costs.compute(a, tiles[warp & 1][t & 1]);
      p2.arrive();
      p2.fetch((t + 1) * kTile);
      turns.filled(t & 1);
    }
    return;
  }
  const ptrdiff_t toNext = backward ? -kPadded : kPadded;
  uint8_t* here =
      a.sums + (static_cast<ptrdiff_t>(row) * a.width + steps.firstPixel()) * kPadded + lane * Bytes::kBytes;
  Path<32, kPairs, false> path(a, lane);
  const auto advanceAs = [&](auto careful, const uint8_t* from, int t, int s0) {
    constexpr bool kCareful = decltype(careful)::value;
    const auto p2 = P2::template served<kUnroll>(a, p2Bytes[warp & 1], t, s0 - t * kTile);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k, here = keptGlobal(here + toNext)) {
      const typename Words::Value cost = Words::load(from + 4 * k * kHalf);
      uint32_t excess[kPairs];
      path.step(cost.word, p2.pair(k), excess);
      if (!kCareful || (s0 + k >= firstStep && s0 + k < endStep)) Bytes::store(here, Bytes::pack(excess));
      if (kCareful && s0 + k < firstStep) path.reset();
    }
  };
#pragma unroll 1
  for (int t = 0; t < count; ++t) {
    turns.untilFilled(t & 1);
    const uint8_t* const from = keptShared(reinterpret_cast<uint8_t*>(tiles[warp & 1][t & 1] + lane * kPairs));
#pragma unroll 1
    for (int s = t * kTile; s < (t + 1) * kTile; s += kUnroll) {
      const uint8_t* const at = from + 4 * (s - t * kTile) * kHalf;
      if (s >= firstStep && s + kUnroll <= endStep) advanceAs(Plain(), at, t, s);
      else advanceAs(Careful(), at, t, s);
    }
    if (t + 2 < count) turns.emptied(t & 1);
  }
  path.save(a.state + (static_cast<size_t>(row) * 2 + backward) * kHalf);
}

}  // namespace gpu
}  // namespace depthwatt
