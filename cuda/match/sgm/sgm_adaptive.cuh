// SPDX-License-Identifier: Apache-2.0
// Adaptive P2 on CUDA: computes the P2 of the next batch of steps while the current one is walked, one lane per step.
//
// All lanes of a line use the same P2. Shared memory holds it in two bytes a step, so that one load gives a lane the
// values of several steps, and one instruction duplicates each value into both halves of a register.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// P2 of kCount consecutive steps, as loaded from shared memory.
template <int kCount>
struct P2Values {
  static constexpr int kWords = (kCount + 1) / 2;
  LaneWords<kWords> words;

  static __device__ __forceinline__ P2Values load(const uint8_t* at) {
    P2Values v;
    v.words = Stored < kCount == 1 ? 1 : kWords, (kCount > 1) > ::load(at);
    return v;
  }
  __device__ __forceinline__ uint32_t pair(int k) const {
    return __byte_perm(words.word[k / 2 % kWords], 0, k % 2 != 0 ? 0x3232 : 0x1010);
  }
};

/// Two halves of shared memory, [line of the warp][step of the batch] in each: one is read while the other is written.
/// A batch is fetched (its grey values are loaded), arrives (its P2 are written, and visible to others after a barrier)
/// and is read.
template <bool kAdaptive, int kLanes, int kBatch>
class StepP2 {
 public:
  static constexpr int kHalfBytes = 2 * (32 / kLanes) * kBatch, kBytes = 2 * kHalfBytes;
  static_assert(kBatch <= kLanes, "a lane for each step");

  /// @param grey of the pixel at step 0. @param toNext from there to the pixel of step 1. Steps first <= s < end are
  /// inside the image; `alone` is the one of them without a previous step (its P2 has no effect), or -1.
  __device__ __forceinline__ StepP2(const LineArguments& a, uint8_t* shared, const uint8_t* grey, ptrdiff_t toNext,
                                    int first, int end, int alone, int lane, int group)
      : grey_(grey + lane * toNext), toNext_(toNext), p1_(a.p1), p2_(a.p2), adaptiveP2_(a.adaptiveP2), step_(lane),
        first_(first), end_(lane < kBatch ? end : first), alone_(alone) {
    to_ = keptShared(shared + kHalfBytes + 2 * (group * kBatch + lane));
    from_ = keptShared(shared + kHalfBytes + 2 * group * kBatch);
    writes_ = lane < kBatch;
  }
  __device__ __forceinline__ void fetch(int s0) {
    const int s = s0 + step_;
    now_ = before_ = 0;
    if (s < first_ || s >= end_) return;
    const uint8_t* const at = grey_ + s0 * toNext_;
    now_ = at[0];
    before_ = at[s == alone_ ? 0 : -toNext_];
  }
  __device__ __forceinline__ void arrive() {
    half_ = half_ == 0 ? -kHalfBytes : 0;
    const int p2 = max(p1_, p2_ - ((adaptiveP2_ * abs(now_ - before_)) >> 4));
    if (writes_) *reinterpret_cast<uint16_t*>(to_ + half_) = static_cast<uint16_t>(p2);
  }
  /// Returns the P2 of steps k.. of the batch that arrived last.
  template <int kCount>
  __device__ __forceinline__ P2Values<kCount> read(int k) const {
    return P2Values<kCount>::load(from_ + half_ + 2 * k);
  }
  /// Returns the P2 of steps k.. of batch t (from 0), for a warp whose P2 another warp computes.
  template <int kCount>
  static __device__ __forceinline__ P2Values<kCount> served(const LineArguments&, const uint8_t* shared, int t, int k) {
    return P2Values<kCount>::load(shared + t % 2 * kHalfBytes + 2 * k);
  }

 private:
  const uint8_t* grey_;
  ptrdiff_t toNext_;
  int p1_, p2_, adaptiveP2_, step_, first_, end_, alone_;
  uint8_t *to_, *from_;
  int half_ = 0;
  int now_ = 0, before_ = 0;
  bool writes_;
};

/// The same P2 for every step.
template <int kLanes, int kBatch>
class StepP2<false, kLanes, kBatch> {
 public:
  static constexpr int kBytes = 16;

  __device__ __forceinline__ explicit StepP2(uint32_t pair) : pair_(pair) {}
  __device__ __forceinline__ StepP2(const LineArguments& a, uint8_t*, const uint8_t*, ptrdiff_t, int, int, int, int,
                                    int)
      : pair_(Cell::pair(a.p2)) {}
  __device__ __forceinline__ void fetch(int) {}
  __device__ __forceinline__ void arrive() {}
  __device__ __forceinline__ uint32_t pair(int) const { return pair_; }
  template <int kCount>
  __device__ __forceinline__ const StepP2& read(int) const {
    return *this;
  }
  template <int kCount>
  static __device__ __forceinline__ StepP2 served(const LineArguments& a, const uint8_t*, int, int) {
    return StepP2(Cell::pair(a.p2));
  }

 private:
  uint32_t pair_;
};

}  // namespace gpu
}  // namespace depthwatt
