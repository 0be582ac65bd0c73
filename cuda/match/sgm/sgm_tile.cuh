// SPDX-License-Identifier: Apache-2.0
// Winner selection for one row. One warp aggregates along the row (sgm_rows.cuh) and writes a key for every cell into a tile
// in shared memory; a second warp, this code, reads the tile and selects.
//
// Key: sum << kIndexBits | i in 16 bits, where i is the disparity within its half of the range; two keys to a register. The
// smallest key is the smallest sum, and of equal sums the smallest disparity. Where that takes more than 16 bits (kLong),
// a key has i / 4 instead, and the winner's group of four cells shows which of them has the key.
// Left view: two lanes search one pixel, so a warp searches 16 pixels at once. Sub-pixel position and confidence are
// computed for 32 pixels at once, one per lane. Right view: cells (x, d) and (x + 1, d + 1) belong to the same right
// pixel, so the best key of each right pixel moves up by one cell with every step. A key that leaves the last cell is
// the best of this direction and this half of the range; the left-right check takes the smallest of these parts. Long
// keys move up in 32 bits each, with the whole disparity.
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
/// @param kLong keys without the two lowest bits of their index
template <int kPairs, bool kLong>
struct RowTile {
  static constexpr int kHalf = 32 * kPairs, kGroupBits = kLong ? 2 : 0, kIndexBits = Bits<kHalf>::value - kGroupBits;
  static constexpr int kPixels = 16;
  static constexpr int kLeavingWords = kLong ? 2 : 1;  ///< of a right key that leaves the tile, both halves
  /// Words of a pixel. Padded by 16 bytes, so that 16-byte loads of eight neighbouring pixels hit different banks.
  static constexpr int kStride = kHalf + 4;
  static constexpr int kBytes = 2 * kPixels * kStride * static_cast<int>(sizeof(uint32_t));
};

/// Returns the pixel where the two directions along a row meet. With two paths there is one direction, from pixel 0.
__device__ __forceinline__ int rowMeeting(int width, int paths) {
  return paths == 2 ? 0 : min(Steps(width, false).meeting, width);
}

/// The second half of one direction along a row, from the middle to the border: step s visits pixel x(s), 0 <= s <
/// length. `steps` is `length` rounded up to whole tiles. Steps from `length` on compute on undefined values; their
/// results are not stored.
struct RowWalk {
  int row, firstX, direction, length, steps;
  bool second;  ///< of the block's two walks

  /// @param meeting where the forward direction begins, from rowMeeting
  template <int kPixels>
  static __device__ __forceinline__ RowWalk of(int width, int meeting, int row, bool backward, bool second) {
    RowWalk w;
    w.row = row, w.direction = backward ? -1 : 1, w.second = second;
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
template <int kPairs, bool kLong>
__device__ __forceinline__ Winner findWinner(uint32_t* half, int candidates) {
  using Tile = RowTile<kPairs, kLong>;
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
  int d0 = static_cast<int>((key & ((1u << kIndexBits) - 1)) << Tile::kGroupBits) + (inHigh ? kHalf : 0);
  if (kLong) {
    const uint4 group = *reinterpret_cast<const uint4*>(own + (d0 & (kHalf - 1)));
    const auto has = [&](uint32_t pair) { return (inHigh ? pair >> 16 : pair & 0xffffu) == key; };
    d0 += has(group.x) ? 0 : has(group.y) ? 1 : has(group.z) ? 2 : 3;
  }
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

/// Selects the pixels of one direction tile by tile, and stores the keys of the right view in s.rightKeys if it is needed.
template <int kPairs, bool kLong>
__device__ __forceinline__ void selectTiles(const SelectArguments& s, const RowWalk& walk, uint32_t* tile) {
  using Tile = RowTile<kPairs, kLong>;
  constexpr int kHalf = Tile::kHalf, kPixels = Tile::kPixels, kWords = Tile::kLeavingWords;
  const TileTurns turns(walk.second);
  const int lane = threadIdx.x & 31, pixel = lane & (kPixels - 1), part = lane / kPixels;
  uint32_t* const leaving = s.rightKeys + static_cast<size_t>(walk.row) * (s.width + kHalf) * kWords;
  uint32_t carried[kWords][kPairs];  // long keys: of each half
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) carried[w][j] = kNoKeys;
  }
  const bool rightView = s.leftRight || s.rightDisparity != nullptr;
  uint32_t disparities[kPairs];  // without minDisparity, of a pair's two cells
#pragma unroll
  for (int j = 0; j < kPairs; ++j) disparities[j] = packPair(lane * kPairs + j, lane * kPairs + j + kHalf);

  const auto carryAs = [&](auto backward, const uint32_t* half, int s0) {
    constexpr bool kBackward = decltype(backward)::value;
    const bool delivers = lane == (kBackward ? 0 : 31);
    uint32_t* const at = leaving + walk.x(s0) * kWords;
    const auto carry = [&](int k) {
      const LaneWords<kPairs> key =
          Stored<kPairs, true>::load(reinterpret_cast<const uint8_t*>(half + k * Tile::kStride + lane * kPairs));
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        uint32_t (&own)[kPairs] = carried[w];
        uint32_t entering =
            kBackward ? __shfl_down_sync(kFullWarp, own[0], 1) : __shfl_up_sync(kFullWarp, own[kPairs - 1], 1);
        if (lane == (kBackward ? 31 : 0)) entering = kNoKeys;
#pragma unroll
        for (int i = 0; i < kPairs; ++i) {
          const int j = kBackward ? i : kPairs - 1 - i, before = kBackward ? j + 1 : j - 1;
          const uint32_t previous = i == kPairs - 1 ? entering : own[(before + kPairs) % kPairs];
          if (kLong) own[j] = min(previous, __byte_perm(disparities[j], key.word[j], w == 0 ? 0x5410 : 0x7632));
          else own[j] = __vminu2(previous, key.word[j]);
        }
        if (delivers) at[(kBackward ? -k : k) * kWords + w] = own[kBackward ? 0 : kPairs - 1];
      }
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
    if (rightView && walk.backward()) carryAs(Backward(), half, s0);
    if (rightView && !walk.backward()) carryAs(Forward(), half, s0);
    const Winner winner = findWinner<kPairs, kLong>(half, s.candidates(walk.x(s0 + pixel)));
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
  if (rightView && !walk.backward()) {
#pragma unroll
    for (int i = 0; i < kPairs * kWords; ++i) {
      leaving[(s.width + lane * kPairs) * kWords + i] = carried[i % kWords][i / kWords];
    }
  }
}

}  // namespace gpu
}  // namespace depthwatt
