// SPDX-License-Identifier: Apache-2.0
// Winner selection for one row. One warp aggregates along the row (sgm_rows.cuh) and writes a key for every cell into a tile
// in shared memory; a second warp, this code, reads the tile and selects.
//
// Key: sum << kIndexBits | i in 16 bits, where i is the disparity within its half of the range; two keys to a register. The
// smallest key is the smallest sum, and of equal sums the smallest disparity.
// Left view: two lanes search one pixel, so a warp searches 16 pixels at once. Sub-pixel position and confidence are
// computed for 32 pixels at once, one per lane. Right view: cells (x, d) and (x + 1, d + 1) belong to the same right
// pixel, so the best key of each right pixel moves up by one cell with every step. A key that leaves the last cell is
// the best of this direction and this half of the range; the left-right check takes the smallest of these parts.
#pragma once

#include "sgm_turns.cuh"
#include "sgm_winner.cuh"

namespace depthwatt {
namespace gpu {

constexpr uint32_t kNoKey16 = 0xffffu, kNoKeys = 0xffffffffu;

template <int kCount>
struct Bits {
  static constexpr int value = 1 + Bits<kCount / 2>::value;
};
template <>
struct Bits<1> {
  static constexpr int value = 0;
};

/// Double buffer of 2 x kPixels pixels: the first warp fills one half while the second selects from the other.
template <int kPairs>
struct RowTile {
  static constexpr int kHalf = 32 * kPairs, kIndexBits = Bits<kHalf>::value, kPixels = 16;
  /// Words of a pixel. Padded by 16 bytes, so that 16-byte loads of eight neighbouring pixels hit different banks.
  static constexpr int kStride = kHalf + 4;
  static constexpr int kBytes = 2 * kPixels * kStride * static_cast<int>(sizeof(uint32_t));
};

/// The second half of one direction along a row, from the middle to the border: step s visits pixel x(s), 0 <= s <
/// length. `steps` is `length` rounded up to whole tiles. Steps from `length` on compute on undefined values; their
/// results are not stored.
struct RowWalk {
  int row, firstX, direction, length, steps;

  template <int kPixels>
  static __device__ __forceinline__ RowWalk of(int width, int row, bool backward) {
    const int meeting = min(Steps(width, false).meeting, width);
    RowWalk w;
    w.row = row, w.direction = backward ? -1 : 1;
    w.firstX = backward ? meeting - 1 : meeting;
    w.length = backward ? meeting : width - meeting;
    w.steps = (w.length + kPixels - 1) / kPixels * kPixels;
    return w;
  }
  __device__ __forceinline__ bool backward() const { return direction < 0; }
  __device__ __forceinline__ int x(int s) const { return firstX + direction * s; }
};

struct Forward {
  static constexpr bool value = false;
};
struct Backward {
  static constexpr bool value = true;
};

/// Finds the winners of 16 pixels, two lanes each. Overwrites the half tile that it reads. @param candidates of this
/// lane's pixel
template <int kPairs>
__device__ __forceinline__ Winner findWinner(uint32_t* half, int candidates) {
  using Tile = RowTile<kPairs>;
  constexpr int kHalf = Tile::kHalf, kIndexBits = Tile::kIndexBits;
  const int pixel = threadIdx.x & (Tile::kPixels - 1), part = threadIdx.x / Tile::kPixels & 1;
  uint32_t* const own = half + pixel * Tile::kStride;
  uint16_t* const cells = reinterpret_cast<uint16_t*>(own);
  const auto smallest = [&]() {
    const uint4* const chunks = reinterpret_cast<const uint4*>(own + part * (kHalf / 2));
    uint32_t least = kNoKeys;
#pragma unroll
    for (int c = 0; c < kHalf / 8; ++c) {
      const uint4 four = chunks[c];
      least = __vminu2(least, __vminu2(__vminu2(four.x, four.y), __vminu2(four.z, four.w)));
    }
    return __vminu2(least, __shfl_xor_sync(kFullWarp, least, Tile::kPixels));
  };
  const auto place = [](int d) { return 2 * (d & (kHalf - 1)) + d / kHalf; };
  const uint32_t best = smallest();
  const uint32_t low = best & 0xffffu, high = best >> 16;
  const bool inHigh = (high >> kIndexBits) < (low >> kIndexBits);
  const uint32_t key = inHigh ? high : low;
  const int d0 = static_cast<int>(key & (kHalf - 1)) + (inHigh ? kHalf : 0);
  // One lane reads the neighbour below the winner, the other the one above. Then these cells and the winner's are overwritten
  // with kNoKey16, so that the second search skips them.
  const int side = part == 0 ? d0 - 1 : d0 + 1;
  uint32_t neighbour = kNoSum;
  __syncwarp();
  if (best != kNoKeys) {
    if (side >= 0 && side < candidates) {
      neighbour = cells[place(side)] >> kIndexBits;
      cells[place(side)] = kNoKey16;
    }
    if (part == 0) cells[place(d0)] = kNoKey16;
  }
  __syncwarp();
  const uint32_t others = smallest();
  const uint32_t otherSide = __shfl_xor_sync(kFullWarp, neighbour, Tile::kPixels);
  const uint32_t second = min((others & 0xffffu) >> kIndexBits, others >> (16 + kIndexBits));
  Winner w;
  w.d0 = best == kNoKeys ? -1 : d0;
  w.sum = static_cast<int>(key >> kIndexBits);
  w.second = others == kNoKeys ? kNoSum : static_cast<int>(second);
  w.below = static_cast<int>(part == 0 ? neighbour : otherSide);
  w.above = static_cast<int>(part == 0 ? otherSide : neighbour);
  return w;
}

/// Selects the pixels of one direction tile by tile and stores the keys of the right view in s.rightKeys.
template <int kPairs>
__device__ __forceinline__ void selectTiles(const SelectArguments& s, const RowWalk& walk, uint32_t* tile) {
  using Tile = RowTile<kPairs>;
  constexpr int kHalf = Tile::kHalf, kPixels = Tile::kPixels;
  const TileTurns turns(walk.backward());
  const int lane = threadIdx.x & 31, pixel = lane & (kPixels - 1), part = lane / kPixels;
  uint32_t* const leaving = s.rightKeys + static_cast<size_t>(walk.row) * (s.width + kHalf);
  uint32_t carried[kPairs];
#pragma unroll
  for (int j = 0; j < kPairs; ++j) carried[j] = kNoKeys;

  const auto carryAs = [&](auto backward, const uint32_t* half, int s0) {
    constexpr bool kBackward = decltype(backward)::value;
    const bool delivers = lane == (kBackward ? 0 : 31);
    uint32_t* const at = leaving + walk.x(s0);
    const auto carry = [&](int k) {
      const LaneWords<kPairs> key =
          Stored<kPairs, true>::load(reinterpret_cast<const uint8_t*>(half + k * Tile::kStride + lane * kPairs));
      uint32_t entering =
          kBackward ? __shfl_down_sync(kFullWarp, carried[0], 1) : __shfl_up_sync(kFullWarp, carried[kPairs - 1], 1);
      if (lane == (kBackward ? 31 : 0)) entering = kNoKeys;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int j = kBackward ? i : kPairs - 1 - i, before = kBackward ? j + 1 : j - 1;
        carried[j] = __vminu2(i == kPairs - 1 ? entering : carried[(before + kPairs) % kPairs], key.word[j]);
      }
      if (delivers) at[kBackward ? -k : k] = carried[kBackward ? 0 : kPairs - 1];
    };
    if (s0 + kPixels <= walk.length) {
#pragma unroll
      for (int k = 0; k < kPixels; ++k) carry(k);
    } else {
#pragma unroll 1
      for (int k = 0; k < walk.length - s0; ++k) carry(k);
    }
  };
  Winner kept = {-1, 0, kNoSum, kNoSum, kNoSum};
  for (int s0 = 0; s0 < walk.steps; s0 += kPixels) {
    const int number = s0 / kPixels & 1;
    uint32_t* const half = tile + number * (kPixels * Tile::kStride);
    turns.untilFilled(number);
    if (walk.backward()) carryAs(Backward(), half, s0);
    else carryAs(Forward(), half, s0);
    const Winner winner = findWinner<kPairs>(half, s.candidates(walk.x(s0 + pixel)));
    if (s0 + 2 * kPixels < walk.steps) turns.emptied(number);
    if (number == part) kept = winner;
    if (number == 0 && s0 + kPixels < walk.steps) continue;
    const int step = (s0 & ~kPixels) + lane;
    if (step < walk.length) {
      const Selected selected = finished(s, kept, walk.x(step));
      const size_t at = static_cast<size_t>(walk.row) * s.width + walk.x(step);
      s.disparityQ4[at] = selected.q4;
      s.disparity[at] = selected.whole;
      s.confidence[at] = selected.confidence;
    }
  }
  if (!walk.backward()) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) leaving[s.width + lane * kPairs + j] = carried[j];
  }
}

}  // namespace gpu
}  // namespace depthwatt
