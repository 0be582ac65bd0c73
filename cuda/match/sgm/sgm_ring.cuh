// SPDX-License-Identifier: Apache-2.0
// Prefetching through shared memory: each warp has a ring buffer of batches, kBatch steps each.
//
// Registers would be worse: outstanding loads share a few scoreboards, so the first use of an old load also waits for
// the newest one. Asynchronous copies to shared memory (cp.async) complete in the order of issue. A copy moves 16
// bytes, which may be several steps of a line.
#pragma once

#include "sgm_cells.cuh"

namespace depthwatt {
namespace gpu {

/// Batches per ring.
constexpr int ringSlots(bool copiesRunAlone) { return copiesRunAlone ? 3 : 2; }
constexpr int kRingSlots = ringSlots(kCopiesRunAlone);
static_assert(kCopiesAhead < kRingSlots, "a batch is not overwritten while it is read");

/// Returns the steps of a batch: the largest power of two up to 8 whose slot takes at most 3 KB, and at least what one
/// copy covers.
constexpr int ringBatch(int bytesPerStep, int least) {
  return least > 4 || 8 * bytesPerStep <= 3072   ? 8
         : least > 2 || 4 * bytesPerStep <= 3072 ? 4
         : least > 1 || 2 * bytesPerStep <= 3072 ? 2
                                                 : 1;
}

/// Returns the steps of a line that one 16-byte copy per lane covers.
constexpr int ringStepsAtOnce(int lanes, int lineBytes) { return 16 * lanes > lineBytes ? 16 * lanes / lineBytes : 1; }

/// One volume's part of the ring. kLineBytes: of one step of a line. A batch is stored as [step][line of the
/// warp][kLineBytes].
template <int kLanes, int kLineBytes, int kBatch>
class RingPlane {
 public:
  static constexpr int kLines = 32 / kLanes, kStepBytes = kLines * kLineBytes, kBytes = kBatch * kStepBytes;

  RingPlane() = default;
  /// @param volume the address of the line's step `begin`, the first requested. @param stride bytes between steps.
  /// @param ring the address of this plane's part of the first slot
  __device__ __forceinline__ RingPlane(uint8_t* ring, const uint8_t* volume, ptrdiff_t stride, int lane, int group)
      : toNextBatch_(kBatch * stride), toNextRound_(kStepsAtOnce * stride) {
    step_ = kChunks < kLanes ? lane / kChunks : 0;
    const int byte = 16 * (kChunks < kLanes ? lane % kChunks : lane);
    from_ = volume + step_ * stride + byte;
    to_ = keptShared(ring + step_ * kStepBytes + group * kLineBytes + byte);
  }
  /// Starts loading the next batch, steps s0.., of which first <= s < end are used, into `slot`.
  __device__ __forceinline__ void ask(int slot, int s0, int first, int end) {
    const uint8_t* from = from_;
#pragma unroll
    for (int r = 0; r < kRounds; ++r, from += toNextRound_) {
      const unsigned s = static_cast<unsigned>(s0 + r * kStepsAtOnce + step_ - first);
      if (s >= static_cast<unsigned>(end - first)) continue;
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        if (kCopiesRunAlone)
          copyAlone(to_ + slot + r * kStepsAtOnce * kStepBytes + c * 16 * kLanes, from + c * 16 * kLanes);
        else waiting_[r * kCopies + c] = *reinterpret_cast<const uint4*>(from + c * 16 * kLanes);
      }
    }
    from_ = keptGlobal(from_ + toNextBatch_);
  }
  /// Without asynchronous copies: stores the last loads in the batch's slot.
  __device__ __forceinline__ void arrive(int slot) {
    if (kCopiesRunAlone) return;
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        *reinterpret_cast<uint4*>(to_ + slot + r * kStepsAtOnce * kStepBytes + c * 16 * kLanes) =
            waiting_[r * kCopies + c];
      }
    }
  }

 private:
  static constexpr int kChunks = kLineBytes / 16, kStepsAtOnce = ringStepsAtOnce(kLanes, kLineBytes);
  static constexpr int kRounds = kBatch / kStepsAtOnce, kCopies = kChunks < kLanes ? 1 : kChunks / kLanes;
  static_assert(kBatch % kStepsAtOnce == 0, "a batch is whole copies");

  const uint8_t* from_;
  ptrdiff_t toNextBatch_, toNextRound_;
  uint8_t* to_;
  int step_;
  uint4 waiting_[kCopiesRunAlone ? 1 : kRounds * kCopies] = {};
};

/// Walks [begin, end) in batches: ask(slot, s) starts the copies of a batch, arrive(slot) finishes them if they are not
/// asynchronous, advance(slot, s) uses them. A slot is a byte offset from the start of the ring.
template <int kBatch, int kSlotBytes, class Ask, class Arrive, class Advance>
__device__ __forceinline__ void walkRing(int begin, int end, Ask ask, Arrive arrive, Advance advance) {
  if (begin >= end) return;
#pragma unroll
  for (int ahead = 0; ahead < kCopiesAhead; ++ahead) {
    if (begin + ahead * kBatch < end) ask(ahead * kSlotBytes, begin + ahead * kBatch);
    groupCopies();
  }
  const auto following = [](int slot, int by) {
    slot += by * kSlotBytes;
    return slot >= kRingSlots * kSlotBytes ? slot - kRingSlots * kSlotBytes : slot;
  };
  int slot = 0;
#pragma unroll 1
  for (int s = begin; s < end; s += kBatch) {
    waitForCopies<kCopiesAhead - 1>();
    arrive(slot);
    __syncwarp();  // all copies are complete, and the batch that is overwritten now is used up
    if (s + kCopiesAhead * kBatch < end) ask(following(slot, kCopiesAhead), s + kCopiesAhead * kBatch);
    groupCopies();
    advance(slot, s);
    slot = following(slot, 1);
  }
  __syncwarp();
}

}  // namespace gpu
}  // namespace depthwatt
