// SPDX-License-Identifier: Apache-2.0
// The last kernel of matching on CUDA: the second half of both walks along every row, and the selection from the last
// sum, which is never written. select.h defines the selection; sgm_select.cuh is the form for sums of any size.
//
// Each direction has two warps. The first computes the recurrence, whose steps depend on each other, and the keys of a
// pixel's cells; the second selects from them (sgm_tile.cuh) and fills the time in which the first waits. Then the
// block checks the row left against right.
#pragma once

#include "sgm_adaptive.cuh"
#include "sgm_tile.cuh"

namespace depthwatt {
namespace gpu {

/// A block: two walks, and two warps that select from them. They are the two directions of a row, or with two paths
/// two rows: a multiprocessor has barriers for about seven blocks of any size.
constexpr int kRowThreads = 128;
constexpr int rowBlocks(int height, int paths) { return paths == 2 ? (height + 1) / 2 : height; }

/// Returns the steps of a batch that a walk loads: a tile, or fewer so that a slot of the ring has at most 6 KB.
constexpr int rowsBatch(int bytesPerStep) { return 16 * bytesPerStep <= 6144 ? 16 : 8 * bytesPerStep <= 6144 ? 8 : 4; }

/// A ring buffer like that of sgm_ring.cuh for one row, whose pixels are contiguous in memory: a batch is one
/// contiguous piece, copied in memory order and, for the backward direction, reversed on the way. Two slots: one batch
/// is loaded while the other is used. kVolumes: see walkRow.
template <int kPairs, int kVolumes>
class RowsRing {
 public:
  static constexpr int kPadded = 64 * kPairs, kPlanes = 1 + kVolumes, kBatch = rowsBatch(kPlanes * kPadded);
  static constexpr int kPlaneBytes = kBatch * kPadded, kSlotBytes = kPlanes * kPlaneBytes;

  /// @param volumes costs first
  __device__ __forceinline__ RowsRing(const uint8_t* const (&volumes)[kPlanes], const RowWalk& walk, int width,
                                      uint8_t* ring)
      : length_(walk.length) {
    const int lane = threadIdx.x & 31, line = lane / kChunks;
    const int nearest = walk.backward() ? walk.firstX - (kBatch - 1) : walk.firstX;
    const ptrdiff_t first = (static_cast<ptrdiff_t>(walk.row) * width + nearest) * kPadded + 16 * lane;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) from_[p] = volumes[p] + first;
    toNextBatch_ = walk.direction * kPlaneBytes;
    step_ = walk.backward() ? kBatch - 1 - line : line;
    toNextRound_ = walk.direction * kLinesAtOnce;
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      to_[r] = keptShared(ring + (step_ + r * toNextRound_) * kPadded + 16 * (lane % kChunks));
    }
  }
  /// Starts loading the next batch, steps s0.. as far as they are inside the row, into `slot`.
  __device__ __forceinline__ void ask(int slot, int s0) {
    if (s0 + kBatch <= length_) {
      copy(slot, [](int) { return true; });
    } else {
      copy(slot, [&](int r) { return s0 + step_ + r * toNextRound_ < length_; });
    }
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) from_[p] = keptGlobal(from_[p] + toNextBatch_);
  }
  /// Without asynchronous copies: stores the last loads in the batch's slot.
  __device__ __forceinline__ void arrive(int slot) {
    if (kCopiesRunAlone) return;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) {
#pragma unroll
      for (int r = 0; r < kRounds; ++r)
        *reinterpret_cast<uint4*>(to_[r] + slot + p * kPlaneBytes) = waiting_[p * kRounds + r];
    }
  }

 private:
  static constexpr int kChunks = kPadded / 16, kLinesAtOnce = 32 / kChunks, kRounds = kBatch / kLinesAtOnce;

  template <class Wanted>
  __device__ __forceinline__ void copy(int slot, Wanted wanted) {
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      if (!wanted(r)) continue;
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        const uint8_t* const from = from_[p] + r * 512;
        if (kCopiesRunAlone) copyAlone(to_[r] + slot + p * kPlaneBytes, from);
        else waiting_[p * kRounds + r] = *reinterpret_cast<const uint4*>(from);
      }
    }
  }

  const uint8_t* from_[kPlanes];
  uint8_t* to_[kRounds];
  int length_, toNextBatch_, toNextRound_, step_;
  uint4 waiting_[kCopiesRunAlone ? 1 : kPlanes * kRounds] = {};
};

/// Returns the shared memory of a walk: a tile, and a ring of two slots.
template <int kPairs, int kVolumes>
constexpr int rowsWalkBytes() {
  return RowTile<kPairs, false>::kBytes + 2 * RowsRing<kPairs, kVolumes>::kSlotBytes;
}

struct First {
  static constexpr int value = 0;
};
struct Second {
  static constexpr int value = 1;
};

/// Makes keys from a lane's sums. This is not on the critical path from one step to the next.
template <int kPairs, bool kLong>
struct KeyRule {
  using Tile = RowTile<kPairs, kLong>;
  static constexpr int kHalf = Tile::kHalf, kPadded = 2 * kHalf;
  static constexpr uint32_t kOne = 1u << Tile::kIndexBits;  ///< a sum of 1

  uint32_t scale;               ///< factor of the cost
  uint32_t index[kPairs];       ///< of the cells, as keys have it
  int plainFirst, plainEnd;     ///< every cell is a candidate from plainFirst on and before plainEnd
  uint32_t beyondNone[kPairs];  ///< minus the last candidate: the highest bit is set where a cell is none

  __device__ __forceinline__ KeyRule(const LineArguments& a, const SelectArguments& s, const RowWalk& walk,
                                     int firstPair)
      : scale(s.paths * kOne) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const uint32_t d = firstPair + j;
      index[j] = (d >> Tile::kGroupBits) * 0x00010001u;
      beyondNone[j] = 0x7fff7fffu + d * 0x00010001u + (static_cast<uint32_t>(kHalf) << 16);
    }
    const int stepOfLeast = (a.minDisparity + kPadded - 1 - walk.firstX) * walk.direction;
    plainFirst = a.numDisparities < kPadded ? walk.steps : walk.backward() ? 0 : stepOfLeast;
    plainEnd = walk.backward() ? stepOfLeast + 1 : walk.steps;
  }
  /// Returns whether every cell of `count` steps from s on is a candidate.
  __device__ __forceinline__ bool isPlain(int s, int count) const { return s >= plainFirst && s + count <= plainEnd; }
};

/// Aggregates along the row and writes keys. kVolumes: the number of volumes of sums to read. A volume's sums fit bytes;
/// those of several do not.
template <int kPairs, bool kAdaptive, int kVolumes, bool kLong>
__device__ __forceinline__ void walkRow(const LineArguments& a, const SelectArguments& s, const RowWalk& walk,
                                        uint32_t* tile, uint8_t* ringBytes, uint8_t* p2Bytes) {
  using Ring = RowsRing<kPairs, kVolumes>;
  using Tile = RowTile<kPairs, kLong>;
  using Rule = KeyRule<kPairs, kLong>;
  using Bytes = Stored<kPairs, false>;
  using Keys = Stored<kPairs, true>;
  constexpr int kHalf = Tile::kHalf, kPadded = Ring::kPadded, kBatch = Ring::kBatch;
  static_assert(Tile::kPixels % kBatch == 0, "a tile is whole batches");
  const TileTurns turns(walk.second);
  const int lane = threadIdx.x & 31, firstPair = lane * kPairs;
  const uint8_t* volumes[Ring::kPlanes];
  volumes[0] = a.cost;
#pragma unroll
  for (int v = 0; v < kVolumes; ++v) volumes[1 + v] = s.sums[v];
  Ring ring(volumes, walk, a.width, ringBytes);
  const uint8_t* const own = keptShared(ringBytes + lane * Bytes::kBytes);

  const int x0 = walk.firstX, beforeFirst = x0 - walk.direction;
  StepP2<kAdaptive, 32, kBatch> p2(a, p2Bytes, a.grey + static_cast<ptrdiff_t>(walk.row) * a.width + x0, walk.direction,
                                   0, walk.length, beforeFirst >= 0 && beforeFirst < a.width ? -1 : 0, lane, 0);

  Path<32, kPairs, false> path(a, lane);
  // The first pixel of a path with two paths, else the second half of one.
  if (s.paths != 2) path.restore(a.state + (static_cast<size_t>(walk.row) * 2 + walk.backward()) * kHalf);
  const Rule rule(a, s, walk, firstPair);
  const auto stepAs = [&](auto careful, const uint8_t* from, int step, uint32_t p2OfStep, uint32_t* keys) {
    const auto load = [&](int plane) { return Bytes::load(from + plane * Ring::kPlaneBytes); };
    const typename Bytes::Value costs = load(0);
    typename Bytes::Value sums[kVolumes];
#pragma unroll
    for (int v = 0; v < kVolumes; ++v) sums[v] = load(1 + v);
    uint32_t cells[kPairs], excess[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) cells[j] = Cell::fromBytes(costs.word[j / 2 % Bytes::kWords], j % 2);
    path.step(cells, p2OfStep, excess);
    typename Keys::Value key;
    const uint32_t last = max(s.candidates(walk.x(step)) - 1, -1);  // below it no candidate is left: -1
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      uint32_t sum = excess[j];
#pragma unroll
      for (int v = 0; v < kVolumes; ++v) sum += Bytes::pair(sums[v], j);
      key.word[j] = Rule::kOne * sum + (rule.scale * Bytes::pair(costs, j) + rule.index[j]);
      if (decltype(careful)::value) key.word[j] |= signBits(rule.beyondNone[j] - last * 0x00010001u);
    }
    Keys::store(reinterpret_cast<uint8_t*>(keys), key);
  };
  const auto advanceAs = [&](auto careful, const uint8_t* from, int s0, uint32_t* keys) {
    constexpr int kTogether = 4;  // steps in one piece of code; in a longer one the compiler moves all keys to its end
#pragma unroll 1
    for (int k0 = 0; k0 < kBatch; k0 += kTogether, from += kTogether * kPadded, keys += kTogether * Tile::kStride) {
      const auto p2OfSteps = p2.template read<kTogether>(k0);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        stepAs(careful, from + k * kPadded, s0 + k0 + k, p2OfSteps.pair(k), keys + k * Tile::kStride);
      }
    }
  };
  // Half a tile. Its number is a constant, and so is the slot of the ring if a batch is as long.
  const auto walkTile = [&](auto number, int s0) {
    constexpr int kNumber = decltype(number)::value, kBatches = Tile::kPixels / kBatch;
#pragma unroll 1
    for (int b = 0; b < kBatches; ++b) {
      const int s = s0 + b * kBatch, slot = (kBatches == 1 ? kNumber : b % 2) * Ring::kSlotBytes;
      waitForCopies<0>();
      ring.arrive(slot);
      p2.arrive();
      __syncwarp();  // all copies are complete, and the batch that is overwritten now is used up
      if (s + kBatch < walk.steps) ring.ask(Ring::kSlotBytes - slot, s + kBatch);
      groupCopies();
      p2.fetch(s + kBatch);
      if (b == 0 && s >= 2 * Tile::kPixels) turns.untilEmptied(kNumber);
      uint32_t* const keys = tile + (kNumber * Tile::kPixels + b * kBatch) * Tile::kStride + firstPair;
      if (rule.isPlain(s, kBatch)) advanceAs(Plain(), own + slot, s, keys);
      else advanceAs(Careful(), own + slot, s, keys);
    }
    turns.filled(kNumber);
  };

  if (walk.steps == 0) return;
  p2.fetch(0);
  ring.ask(0, 0);
  groupCopies();
#pragma unroll 1
  for (int s0 = 0; s0 < walk.steps; s0 += 2 * Tile::kPixels) {
    walkTile(First(), s0);
    if (s0 + Tile::kPixels < walk.steps) walkTile(Second(), s0 + Tile::kPixels);
  }
}

/// Checks a row left against right, after its winners are written and its right keys have left the walks.
/// @param meeting where its walks met. @param thread of the `threads` that check the row
template <int kPairs, bool kLong>
__device__ __forceinline__ void checkRow(const SelectArguments& s, int y, int meeting, int thread, int threads) {
  using Tile = RowTile<kPairs, kLong>;
  constexpr int kHalf = Tile::kHalf, kIndexBits = Tile::kIndexBits, kWords = Tile::kLeavingWords, kTogether = 5;
  const uint32_t* const leaving = s.rightKeys + static_cast<size_t>(y) * (s.width + kHalf) * kWords;
  const size_t row = static_cast<size_t>(y) * s.width;
  // Keys of a right pixel, for each half of the disparities: one that left the backward walk, and one that left the
  // forward walk or stayed in it. All are loaded, and the right one is used.
  struct RightKeys {
    uint32_t behind[2], ahead[2];
  };
  const auto load = [&](int xr) {
    RightKeys keys;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int nearest = min(xr + s.minDisparity + half * kHalf, s.width - 1), furthest = nearest + kHalf - 1;
      const int furthestAt = furthest < s.width ? furthest : 2 * s.width - 1 - nearest;
      keys.behind[half] = leaving[nearest * kWords + half % kWords];
      keys.ahead[half] = leaving[furthestAt * kWords + half % kWords];
    }
    return keys;
  };
  const auto winnerAt = [&](int xr, const RightKeys& keys) {
    const auto halfKey = [](uint32_t word, int half) { return kLong ? word : word >> 16 * half & 0xffffu; };
    uint32_t best[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int nearest = xr + s.minDisparity + half * kHalf;
      best[half] = kLong ? kNoKeys : kNoKey16;
      if (nearest < meeting) best[half] = halfKey(keys.behind[half], half);
      if (nearest < s.width && nearest + kHalf > meeting) best[half] = min(best[half], halfKey(keys.ahead[half], half));
    }
    constexpr int kShift = kLong ? 16 : 0;  // a long key is a 16-bit key and behind it the disparity
    if ((best[0] >> kShift) == kNoKey16 && (best[1] >> kShift) == kNoKey16) return -1;
    const bool inHigh = (best[1] >> (kShift + kIndexBits)) < (best[0] >> (kShift + kIndexBits));
    const uint32_t key = inHigh ? best[1] : best[0];
    return kLong ? static_cast<int>(key & 0xffffu) : static_cast<int>(key & (kHalf - 1)) + (inHigh ? kHalf : 0);
  };
  // Several pixels at once, because each waits twice for the second-level cache.
  for (int x0 = thread; x0 < s.width && s.leftRight; x0 += kTogether * threads) {
    int whole[kTogether];
    RightKeys keys[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) whole[i] = s.disparity[row + min(x0 + i * threads, s.width - 1)];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) keys[i] = load(min(max(x0 + i * threads - whole[i], 0), s.width - 1));
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int x = x0 + i * threads, xr = x - whole[i], winner = winnerAt(xr, keys[i]);
      const bool keep = whole[i] != kInvalidDisparity && xr >= 0 && xr < s.width && winner >= 0 &&
                        abs(whole[i] - (s.minDisparity + winner)) <= 1;
      if (keep || x >= s.width) continue;
      s.disparityQ4[row + x] = kInvalidDisparity;
      s.confidence[row + x] = 0;
    }
  }
  for (int x = thread; x < s.width && s.rightDisparity != nullptr; x += threads) {
    const int winner = winnerAt(x, load(x));
    s.rightDisparity[row + x] = winner < 0 ? kInvalidDisparity : static_cast<int16_t>(s.minDisparity + winner);
  }
}

/// rowBlocks blocks of kRowThreads. Dynamic shared memory: rowsWalkBytes for each of the two walks.
template <int kPairs, bool kAdaptive, int kVolumes, bool kLong>
__global__ void __launch_bounds__(kRowThreads, kAdaptive&& kPairs > 2 ? kSelectBlocks - 1 : kSelectBlocks)
    rowsSelectKernel(LineArguments a, SelectArguments s) {
  using Tile = RowTile<kPairs, kLong>;
  using Ring = RowsRing<kPairs, kVolumes>;
  extern __shared__ __align__(16) uint32_t tiles[];
  using P2 = StepP2<kAdaptive, 32, Ring::kBatch>;
  __shared__ __align__(16) uint8_t p2Bytes[2 * P2::kBytes];
  const bool twoRows = s.paths == 2;
  const int warp = warpOfBlock(), own = warp & 1, block = static_cast<int>(blockIdx.x);
  const int row = twoRows ? 2 * block + own : block, meeting = rowMeeting(a.width, s.paths);
  const RowWalk walk = RowWalk::of<Tile::kPixels>(a.width, meeting, row, !twoRows && own != 0, own != 0);
  uint32_t* const tile = tiles + own * (Tile::kBytes / 4);
  untilKernelBefore();
  if (row >= a.height) {
    // The second row of the last block is below an image of odd height.
  } else if (warp < 2) {
    uint8_t* const rings = reinterpret_cast<uint8_t*>(tiles) + 2 * Tile::kBytes;
    walkRow<kPairs, kAdaptive, kVolumes, kLong>(a, s, walk, tile, rings + own * 2 * Ring::kSlotBytes,
                                                p2Bytes + own * P2::kBytes);
  } else {
    selectTiles<kPairs, kLong>(s, walk, tile);
  }
  __syncthreads();
  const int threads = twoRows ? kRowThreads / 2 : kRowThreads, thread = threadIdx.x;
  const int checked = twoRows ? 2 * block + thread / threads : block;
  if (checked < a.height) checkRow<kPairs, kLong>(s, checked, meeting, thread & (threads - 1), threads);
}

}  // namespace gpu
}  // namespace depthwatt
