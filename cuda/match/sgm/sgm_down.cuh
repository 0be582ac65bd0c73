// SPDX-License-Identifier: Apache-2.0
// Matching costs and the walk down every column in one kernel on CUDA, for two paths, whose walks only go forward.
//
// A warp walks one column, or as many adjacent ones as have lanes. It computes the costs of a batch of steps from staged
// census words into a double buffer in shared memory and into the volume, then walks the batch. Warps do not wait for
// each other.
#pragma once

#include "sgm_adaptive.cuh"

namespace depthwatt {
namespace gpu {

template <int kLanes, int kPairs>
struct DownShape {
  static constexpr int kThreads = 64;
  static constexpr int kHalf = kLanes * kPairs, kPadded = 2 * kHalf, kColumns = 32 / kLanes;  ///< columns per warp
  /// Eight pairs of a pixel per lane: this many lanes compute a pixel, and each group of them the columns of a step.
  static constexpr int kServing = kHalf / 8, kBatch = 32 / kServing;
  // Padded so that eight neighbouring lanes, four of one step and four of the next, access different banks.
  static constexpr int kStepBytes = kColumns * kPadded + 64, kSlotBytes = kBatch * kStepBytes;
  static constexpr int kRowWords = kPadded + 4;  ///< right pixels of a step: the last kColumns - 1 are behind kPadded
};

/// The census words of a batch of steps, in shared memory: those of the right pixels that the columns' candidates have,
/// and those of the columns.
template <int kLanes, int kPairs>
struct DownWords {
  using Shape = DownShape<kLanes, kPairs>;
  uint32_t right[Shape::kBatch][Shape::kRowWords];
  uint32_t left[Shape::kBatch][4];
};

/// Computes the costs batch by batch: each lane eight pairs of cells of all columns in one step. A batch's census is
/// staged in shared memory while the previous batch is walked.
template <int kLanes, int kPairs, int kWords>
class BatchCosts {
 public:
  using Shape = DownShape<kLanes, kPairs>;
  using Words = DownWords<kLanes, kPairs>;

  /// @param x the first column. @param words [kWords]
  __device__ __forceinline__ BatchCosts(const LineArguments& a, int x, Words* words)
      : x_(x), firstRight_(x - a.minDisparity - kPadded + 1), words_(words) {
    lane_ = threadIdx.x & 31;
    const int eighth = lane_ / 8;
    firstPair_ = 8 * (lane_ % 4 + 4 * (eighth % (kServing / 4)));
    step_ = lane_ / 4 % 2 + 2 * (eighth / (kServing / 4));
  }
  /// Starts copying the census of steps s0.. to shared memory.
  __device__ __forceinline__ void stage(const LineArguments& a, int s0) {
    const int first = s0 * a.width, end = (s0 + kBatch) * a.width;
    // Elsewhere words of another row are copied and not used.
    if (first + firstRight_ >= 0 && end + 4 <= a.width * a.height) {
      stageFrom([](int at) { return at; }, a, s0);
    } else {
      const int last = a.width * a.height - 1;
      stageFrom([&](int at) { return min(max(at, 0), last); }, a, s0);
    }
  }
  /// Writes the costs of the staged steps s0.. into `slot` and the volume.
  __device__ __forceinline__ void compute(const LineArguments& a, uint8_t* slot, int s0) {
    uint32_t left[kWords][4], right[kWords][2][kVectors * 4];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      load<1>(words_[w].left[step_], left[w]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        load<kVectors>(words_[w].right[step_] + kPadded - half * kHalf - firstPair_ - 8, right[w][half]);
      }
    }
    const int y = s0 + step_;
    const bool plain = a.numDisparities == kPadded && x_ - a.minDisparity >= kPadded - 1;
    uint8_t* const to = slot + step_ * Shape::kStepBytes + 2 * firstPair_;
    uint8_t* const volume = a.cost + (static_cast<ptrdiff_t>(y) * a.width + x_) * kPadded + 2 * firstPair_;
#pragma unroll
    for (int p = 0; p < kColumns; ++p) {
      uint32_t cost[16];  // in the order of their bytes
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          cost[2 * j + half] = 0;
#pragma unroll
          for (int w = 0; w < kWords; ++w) {
            cost[2 * j + half] += static_cast<uint32_t>(__popc(left[w][p] ^ right[w][half][p - j + 7]));
          }
        }
      }
      if (!plain) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          const int d = firstPair_ + i / 2 + i % 2 * kHalf, rightX = x_ + p - a.minDisparity - d;
          cost[i] = d >= a.numDisparities ? 255u : rightX < 0 ? static_cast<uint32_t>(a.outsideCost) : cost[i];
        }
      }
      uint4 bytes;
      bytes.x = packBytes(cost[0], cost[1], cost[2], cost[3]), bytes.y = packBytes(cost[4], cost[5], cost[6], cost[7]);
      bytes.z = packBytes(cost[8], cost[9], cost[10], cost[11]);
      bytes.w = packBytes(cost[12], cost[13], cost[14], cost[15]);
      *reinterpret_cast<uint4*>(to + p * kPadded) = bytes;
      if (y < a.height && x_ + p < a.width) *reinterpret_cast<uint4*>(volume + p * kPadded) = bytes;
    }
  }

 private:
  static constexpr int kColumns = Shape::kColumns, kHalf = Shape::kHalf, kPadded = Shape::kPadded;
  static constexpr int kServing = Shape::kServing, kBatch = Shape::kBatch;
  static constexpr int kLoads = kPadded / 32;      ///< per step and lane
  static constexpr int kRests = (kBatch + 3) / 4;  ///< per lane: eight words of a step, four right and four left ones
  static constexpr int kVectors = (kColumns + 10) / 4;  ///< 16 bytes each: the right pixels of eight pairs
  static_assert(kColumns <= 4 && kBatch >= 2, "eight more words of a step");

  /// @param inside gives an index inside the image
  template <class Inside>
  __device__ __forceinline__ void stageFrom(Inside inside, const LineArguments& a, int s0) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t* const left = w == 0 ? a.censusLeft : a.moreLeft;
      const uint32_t* const right = w == 0 ? a.censusRight : a.moreRight;
      const int begin = s0 * a.width + firstRight_;
#pragma unroll
      for (int r = 0; r < kBatch; ++r) {
        const int at = begin + r * a.width + lane_;
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
          copyWordAlone(words_[w].right[r] + 32 * i + lane_, right + inside(at + 32 * i));
      }
#pragma unroll
      for (int e = 0; e < kRests; ++e) {
        const int r = 4 * e + lane_ / 8, k = lane_ % 8, at = begin + r * a.width;
        if (r >= kBatch) continue;
        if (k < 4) copyWordAlone(words_[w].right[r] + kPadded + k, right + inside(at + kPadded + k));
        else copyWordAlone(words_[w].left[r] + k - 4, left + inside(s0 * a.width + r * a.width + x_ + k - 4));
      }
    }
    groupCopies();
  }
  template <int kCount>
  static __device__ __forceinline__ void load(const uint32_t* from, uint32_t* words) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[i];
      words[4 * i] = four.x, words[4 * i + 1] = four.y, words[4 * i + 2] = four.z, words[4 * i + 3] = four.w;
    }
  }

  int x_, firstRight_, lane_, step_, firstPair_;
  Words* words_;
};

/// Writes the costs, and the excesses of the direction (0, 1) into a.sums. @param kWords census words of a pixel
template <int kLanes, int kPairs, bool kAdaptive, int kWords>
__global__ void __launch_bounds__(64, downBlocks(kPairs, kWords)) downKernel(LineArguments a) {
  using Shape = DownShape<kLanes, kPairs>;
  using Bytes = Stored<kPairs, false>;
  constexpr int kPadded = Shape::kPadded, kBatch = Shape::kBatch, kWarps = Shape::kThreads / 32;
  using P2 = StepP2<kAdaptive, kLanes, kBatch>;
  __shared__ __align__(16) uint8_t slots[kWarps][2 * Shape::kSlotBytes];
  __shared__ __align__(16) DownWords<kLanes, kPairs> words[kWarps][kWords];
  __shared__ __align__(16) uint8_t p2Bytes[kWarps][P2::kBytes];
  untilKernelBefore();
  const int lane = threadIdx.x & (kLanes - 1), group = (threadIdx.x & 31) / kLanes, warp = warpOfBlock();
  const int x0 = (static_cast<int>(blockIdx.x) * kWarps + warp) * Shape::kColumns, x = min(x0 + group, a.width - 1);
  if (x0 >= a.width) return;
  const bool valid = x0 + group < a.width;
  BatchCosts<kLanes, kPairs, kWords> costs(a, x0, words[warp]);
  costs.stage(a, 0);
  P2 p2(a, p2Bytes[warp], a.grey + x, a.width, 0, a.height, 0, lane, group);
  p2.fetch(0);
  const uint8_t* const own = keptShared(slots[warp] + group * kPadded + lane * Bytes::kBytes);
  const ptrdiff_t toNext = static_cast<ptrdiff_t>(a.width) * kPadded;
  uint8_t* here = a.sums + static_cast<ptrdiff_t>(x) * kPadded + lane * Bytes::kBytes;
  Path<kLanes, kPairs, false> path(a, lane);
  int slot = 0;
#pragma unroll 1
  for (int s = 0; s < a.height; s += kBatch, slot = Shape::kSlotBytes - slot) {
    waitForCopies<0>();
    __syncwarp();  // the census of the batch is complete, and the batch before the previous one is used up
    costs.compute(a, slots[warp] + slot, s);
    p2.arrive();
    __syncwarp();  // the costs are complete, and their census is used up
    if (s + kBatch < a.height) costs.stage(a, s + kBatch);
    p2.fetch(s + kBatch);
    const auto p2OfSteps = p2.template read<kBatch>(0);
#pragma unroll
    for (int k = 0; k < kBatch; ++k, here = keptGlobal(here + toNext)) {
      const typename Bytes::Value cost = Bytes::load(own + slot + k * Shape::kStepBytes);
      uint32_t cells[kPairs], excess[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) cells[j] = Cell::fromBytes(cost.word[j / 2 % Bytes::kWords], j % 2);
      path.step(cells, p2OfSteps.pair(k), excess);
      if (valid && s + k < a.height) Bytes::store(here, Bytes::pack(excess));
    }
  }
}

}  // namespace gpu
}  // namespace depthwatt
