// SPDX-License-Identifier: Apache-2.0
// Coarse-to-fine search on CUDA: selection, a block a row and a thread a pixel. select.h and sgm.h define it.
//
// A key is a sum above the cell's place in its half of the pixel's cells; two keys share a register. The highest bit of a
// key marks a cell that takes no part.
#pragma once

#include "guided_choose.cuh"
#include "sgm_winner.cuh"

namespace depthwatt {
namespace gpu {

constexpr int kGuidedSelectThreads = 128;
constexpr uint32_t kNoRightKey = 0xffffffffu;

/// A bit for each cell of a pixel, arranged as pairs are.
template <int kLanes>
struct CellSet {
  static constexpr int kHalf = 8 * kLanes, kWords = kHalf / 16;
  uint32_t word[kWords];  ///< word w: cells 16 w to 16 w + 15 of the lower half, then of the upper one

  static __device__ __forceinline__ CellSet of(uint32_t lower, uint32_t upper) {
    CellSet set;
#pragma unroll
    for (int w = 0; w < kWords; ++w) set.word[w] = __byte_perm(lower, upper, w == 0 ? 0x5410 : 0x7632);
    return set;
  }
  /// Returns the highest bit of a key for each cell of pair i that is in the set.
  __device__ __forceinline__ uint32_t marks(int i) const {
    return word[i / 16 % kWords] << (15 - i % 16) & 0x80008000u;
  }
};

/// The smallest of all keys.
template <int kLanes>
struct SmallestKey {
  static constexpr int kHalf = 8 * kLanes, kBits = kLanes == 2 ? 4 : 5;
  int cell, sum;  ///< cell -1: none

  static __device__ __forceinline__ SmallestKey of(uint32_t pair) {
    const uint32_t low = pair & 0xffffu, high = pair >> 16;
    const bool upper = (high >> kBits) < (low >> kBits);
    const uint32_t key = upper ? high : low;
    SmallestKey s;
    s.sum = static_cast<int>(key >> kBits);
    s.cell = (key & 0x8000u) != 0 ? -1 : static_cast<int>(key & (kHalf - 1)) + (upper ? kHalf : 0);
    return s;
  }
};

/// The cells of a pixel. @param kByteSums whether all sums fit bytes, and no cell is beyond the range. If so, the sums
/// of columns contain the costs.
template <int kLanes, bool kByteSums>
class GuidedPixel {
 public:
  using Shape = GuidedShape<kLanes>;
  static constexpr int kHalf = Shape::kCells / 2, kBits = SmallestKey<kLanes>::kBits;

  __device__ __forceinline__ GuidedPixel(const GuidedArguments& a, int x, int y)
      : paths_(a.paths), keyFactor_(a.one << kBits) {
    const size_t tile = static_cast<size_t>(y / kTileSide) * a.tilesAcross + x / kTileSide;
    const int row = y % kTileSide, column = x % kTileSide;
    const size_t at = tile * Shape::kTileBytes + row * (kTileSide * Shape::kCells) + (column ^ row) * Shape::kCells;
    cost_ = a.cost + at, rows_ = a.rows + at, columns_ = a.columns + at;
    if (Shape::kGuided) list_ = a.lists[tile];
    limit_ = a.numDisparities;
    if (a.outsideCost >= kNeverOutside) limit_ = min(limit_, x - a.minDisparity + 1);
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      const uint4 c = kByteSums ? make_uint4(0, 0, 0, 0) : load(cost_, l), r = load(rows_, l), v = load(columns_, l);
      addWord(4 * l, c.x, r.x, v.x);
      addWord(4 * l + 1, c.y, r.y, v.y);
      addWord(4 * l + 2, c.z, r.z, v.z);
      addWord(4 * l + 3, c.w, r.w, v.w);
    }
    if (disparity(Shape::kCells - 1) >= limit_) leaveOut();
  }
  /// Returns the disparity of a cell, less minDisparity.
  __device__ __forceinline__ int disparity(int cell) const {
    const int entry = cell / kBlockDisparities;
    return kBlockDisparities * (Shape::kGuided ? blockAt(list_, entry) : entry) + cell % kBlockDisparities;
  }
  __device__ __forceinline__ SmallestKey<kLanes> smallest() const {
    uint32_t least = keys_[0];
#pragma unroll
    for (int i = 1; i < kHalf; ++i) least = __vminu2(least, keys_[i]);
    return SmallestKey<kLanes>::of(least);
  }
  /// Returns whether the cell before, or after, is a candidate with the neighbouring disparity.
  __device__ __forceinline__ bool hasBelow(int cell) const {
    const int entry = cell / kBlockDisparities;
    if (cell % kBlockDisparities != 0 || !Shape::kGuided) return cell > 0;
    return entry > 0 && blockAt(list_, entry - 1) + 1 == blockAt(list_, entry);
  }
  __device__ __forceinline__ bool hasAbove(int cell) const {
    return cell + 1 < Shape::kCells && hasBelow(cell + 1) && disparity(cell) + 1 < limit_;
  }
  /// Returns the smallest key but those of the cells first to last.
  __device__ __forceinline__ SmallestKey<kLanes> smallestBut(int first, int last) const {
    const uint32_t lower = bitsOf(first, last), upper = bitsOf(first - kHalf, last - kHalf);
    const CellSet<kLanes> set = CellSet<kLanes>::of(lower, upper);
    uint32_t least = keys_[0] | set.marks(0);
#pragma unroll
    for (int i = 1; i < kHalf; ++i) least = __vminu2(least, keys_[i] | set.marks(i));
    return SmallestKey<kLanes>::of(least);
  }
  /// Reads the sum of one cell again: its place in registers is not a constant.
  __device__ __forceinline__ int sum(int cell) const {
    const int half = cell / kHalf, pair = cell % kHalf;
    const int at = pair / 2 * 4 + pair % 2 + 2 * half;
    return (kByteSums ? 0 : paths_ * cost_[at]) + rows_[at] + columns_[at];
  }

 private:
  static __device__ __forceinline__ uint4 load(const uint8_t* from, int lane) {
    return reinterpret_cast<const uint4*>(from)[lane];
  }
  __device__ __forceinline__ void addWord(int word, uint32_t cost, uint32_t rows, uint32_t columns) {
    const auto indexOf = [](int pair) { return static_cast<uint32_t>(pair) * 0x00010001u; };
    if (kByteSums) {
      const uint32_t sums = rows + columns;
      keys_[2 * word] = multiplyAdd(evenBytes(sums), keyFactor_, indexOf(2 * word));
      keys_[2 * word + 1] = multiplyAdd(oddBytes(sums), keyFactor_, indexOf(2 * word + 1));
      return;
    }
    const auto key = [&](int pair, uint32_t c, uint32_t r, uint32_t v) {
      const uint32_t index = indexOf(pair);
      keys_[pair] = multiplyAdd(r + v, keyFactor_, multiplyAdd(c, static_cast<uint32_t>(paths_) << kBits, index));
    };
    key(2 * word, evenBytes(cost), evenBytes(rows), evenBytes(columns));
    key(2 * word + 1, oddBytes(cost), oddBytes(rows), oddBytes(columns));
  }
  /// Returns the bits of the cells first to last, as far as they are among the first kHalf.
  static __device__ __forceinline__ uint32_t bitsOf(int first, int last) {
    const int from = max(first, 0), to = min(last, kHalf - 1);
    return from > to ? 0u : 0xffffffffu >> (31 - (to - from)) << from;
  }
  /// Marks the cells that may not win.
  __device__ __forceinline__ void leaveOut() {
    uint32_t out[2] = {0, 0};
#pragma unroll
    for (int k = 0; k < Shape::kEntries; ++k) {
      const int block = Shape::kGuided ? blockAt(list_, k) : k;
      const int in = min(max(limit_ - kBlockDisparities * block, 0), kBlockDisparities);
      const uint32_t bits = 15u << in & 15u;
      out[k / (Shape::kEntries / 2)] |= bits << (kBlockDisparities * (k % (Shape::kEntries / 2)));
    }
    const CellSet<kLanes> set = CellSet<kLanes>::of(out[0], out[1]);
#pragma unroll
    for (int i = 0; i < kHalf; ++i) keys_[i] |= set.marks(i);
  }

  const uint8_t *cost_, *rows_, *columns_;
  uint2 list_;
  int limit_;  ///< candidates have disparities below it
  int paths_;
  uint32_t keyFactor_;  ///< 1 << kBits, but no constant: see addByMultiplying
  uint32_t keys_[kHalf];
};

/// Writes a row's votes for the next finer level.
template <int kLanes, bool kByteSums>
__global__ void __launch_bounds__(kGuidedSelectThreads)
    guidedVotesKernel(GuidedArguments a, GuidedVotes votes, int holeColumns) {
  untilKernelBefore();
  const int y = blockIdx.x;
  for (int x = threadIdx.x; x < a.width; x += kGuidedSelectThreads) {
    const GuidedPixel<kLanes, kByteSums> pixel(a, x, y);
    const SmallestKey<kLanes> best = pixel.smallest();
    uint32_t winner = kNoVote, second = kNoVote;
    const int d = best.cell < 0 ? 0 : a.minDisparity + pixel.disparity(best.cell);
    if (best.cell >= 0 && d <= x && x >= holeColumns) {
      winner = voteOf(d, votes.minDisparity, votes.numDisparities);
      const SmallestKey<kLanes> other = pixel.smallestBut(pixel.hasBelow(best.cell) ? best.cell - 1 : best.cell,
                                                          pixel.hasAbove(best.cell) ? best.cell + 1 : best.cell);
      if (other.cell >= 0 && 255 * (other.sum - best.sum) < kUncertain * max(other.sum, 1)) {
        second = voteOf(a.minDisparity + pixel.disparity(other.cell), votes.minDisparity, votes.numDisparities);
      }
    }
    votes.votes[static_cast<size_t>(y) * a.width + x] = winner | second << 16;
  }
}

/// Writes a row's results, with its left-right check. Dynamic shared memory: a word a pixel.
template <int kLanes, bool kByteSums>
__global__ void __launch_bounds__(kGuidedSelectThreads) guidedSelectKernel(GuidedArguments a, SelectArguments s) {
  extern __shared__ __align__(16) uint32_t rightKeys[];
  const int y = blockIdx.x;
  for (int x = threadIdx.x; x < a.width; x += kGuidedSelectThreads) rightKeys[x] = kNoRightKey;
  untilKernelBefore();
  __syncthreads();
  const size_t row = static_cast<size_t>(y) * a.width;
  for (int x = threadIdx.x; x < a.width; x += kGuidedSelectThreads) {
    const GuidedPixel<kLanes, kByteSums> pixel(a, x, y);
    const SmallestKey<kLanes> best = pixel.smallest();
    Winner winner = {-1, best.sum, kNoSum, kNoSum, kNoSum};
    if (best.cell >= 0) {
      const bool below = pixel.hasBelow(best.cell), above = pixel.hasAbove(best.cell);
      winner.d0 = pixel.disparity(best.cell);
      const SmallestKey<kLanes> other =
          pixel.smallestBut(below ? best.cell - 1 : best.cell, above ? best.cell + 1 : best.cell);
      if (other.cell >= 0) winner.second = other.sum;
      if (below && above) winner.below = pixel.sum(best.cell - 1), winner.above = pixel.sum(best.cell + 1);
    }
    const Selected selected = finished(s, winner, x);
    s.disparityQ4[row + x] = selected.q4;
    s.disparity[row + x] = selected.whole;
    s.confidence[row + x] = selected.confidence;
    if (selected.whole != kInvalidDisparity && selected.whole <= x) {
      atomicMin(&rightKeys[x - selected.whole],
                static_cast<uint32_t>(best.sum) << 16 | static_cast<uint32_t>(selected.whole));
    }
  }
  if (!s.leftRight) return;
  __syncthreads();
  for (int x = threadIdx.x; x < a.width; x += kGuidedSelectThreads) {
    const int whole = s.disparity[row + x], right = x - whole;
    if (whole != kInvalidDisparity && right >= 0 && right < a.width &&
        abs(whole - static_cast<int>(rightKeys[right] & 0xffffu)) <= 1)
      continue;
    s.disparityQ4[row + x] = kInvalidDisparity;
    s.confidence[row + x] = 0;
  }
}

}  // namespace gpu
}  // namespace depthwatt
