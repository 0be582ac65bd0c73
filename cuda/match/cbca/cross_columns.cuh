// SPDX-License-Identifier: Apache-2.0
// Sums down the columns and the winners of one image on a device; see cross_plan.h for lanes and segments.
//
// A thread walks down its piece of a column with a running sum and a private ring of the last 2 armY + 2 sums. A warp
// processes whole pixels; each lane stores the smallest key (sum, then disparity) of its eight disparities, and every
// 16 rows one lane per pixel compares the pixel's keys.
#pragma once

#include "cross_rows.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// Set in the key of a candidate that may not win. Sums do not use this bit.
constexpr uint32_t kNoCandidate = 0x80000000u;

__device__ __forceinline__ uint4 operator+(uint4 a, uint4 b) {
  return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ uint4 operator-(uint4 a, uint4 b) {
  return make_uint4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
__device__ __forceinline__ uint4 crossLow(uint4 a) {
  return make_uint4(a.x & 0xffffu, a.y & 0xffffu, a.z & 0xffffu, a.w & 0xffffu);
}
__device__ __forceinline__ uint4 crossHigh(uint4 a) { return make_uint4(a.x >> 16, a.y >> 16, a.z >> 16, a.w >> 16); }

/// Returns bits 16 to 23 of four words.
__device__ __forceinline__ uint32_t crossTops(uint4 a) {
  return __byte_perm(__byte_perm(a.x, a.y, 0x0062), __byte_perm(a.z, a.w, 0x0062), 0x5410);
}
/// Returns bits 0 to 23 of a disparity's sum, with other bits above them. @param pair the word with its lower half.
/// @param tops the upper bits of its four
template <int kPlace, bool kSecond>
__device__ __forceinline__ uint32_t crossWhole(uint32_t pair, uint32_t tops) {
  return __byte_perm(pair, tops, (kSecond ? 0x4432u : 0x4410u) + 0x1100u * kPlace);
}

/// Returns the smallest key of the region between two running sums. @param ids of the eight disparities. Not for
/// kSplit, which needs a third sum.
template <CrossSums kSums>
__device__ __forceinline__ uint32_t crossKey(const uint4* sums, const uint2* tops, uint32_t lower, uint32_t upper,
                                             const uint32_t (&ids)[8]) {
  uint32_t best = ~0u;
  const uint4 below = sums[lower], above = sums[upper];
  if (kSums == CrossSums::kShort) {
    const uint4 both = below - above;
    const uint32_t words[4] = {both.x, both.y, both.z, both.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) best = min(best, min((words[i] << 16) + ids[i], (words[i] & 0xffff0000u) + ids[4 + i]));
    return best;
  }
  // Below 2^22, so that the shift to the key removes the bits in which a difference modulo 2^24 may be wrong.
  const uint2 belowTops = tops[lower], aboveTops = tops[upper];
  const uint32_t wholes[8] = {crossWhole<0, false>(below.x, belowTops.x) - crossWhole<0, false>(above.x, aboveTops.x),
                              crossWhole<1, false>(below.y, belowTops.x) - crossWhole<1, false>(above.y, aboveTops.x),
                              crossWhole<2, false>(below.z, belowTops.x) - crossWhole<2, false>(above.z, aboveTops.x),
                              crossWhole<3, false>(below.w, belowTops.x) - crossWhole<3, false>(above.w, aboveTops.x),
                              crossWhole<0, true>(below.x, belowTops.y) - crossWhole<0, true>(above.x, aboveTops.y),
                              crossWhole<1, true>(below.y, belowTops.y) - crossWhole<1, true>(above.y, aboveTops.y),
                              crossWhole<2, true>(below.z, belowTops.y) - crossWhole<2, true>(above.z, aboveTops.y),
                              crossWhole<3, true>(below.w, belowTops.y) - crossWhole<3, true>(above.w, aboveTops.y)};
#pragma unroll
  for (int i = 0; i < 8; ++i) best = min(best, (wholes[i] << 9) + ids[i]);
  return best;
}

/// Receives the smallest key of a pixel's disparities of this chunk.
__device__ __forceinline__ void crossGiveWinner(const CrossArguments& a, int x, int y, uint32_t best) {
  const int side = a.firstSide + blockIdx.z;
  const size_t index = static_cast<size_t>(y) * a.width + x;
  uint32_t* before = a.keys + side * (static_cast<size_t>(a.height) * a.width) + index;
  if (!a.firstChunk) best = min(best, *before);
  if (!a.lastChunk) {
    *before = best;
    return;
  }
  const int disparity = best >= kNoCandidate ? kInvalidDisparity : a.minDisparity + static_cast<int>(best & 511);
  // The second side is mirrored.
  a.disparity[side][side == 0 ? index : index - x + (a.width - 1 - x)] = static_cast<int16_t>(disparity);
}

/// The running sums of a lane's eight disparities, and a ring of them in shared memory.
template <CrossSums kSums>
struct CrossColumn {
  static constexpr bool kWide = kSums == CrossSums::kWide;
  static constexpr int kEntryBytes = crossEntryBytes(kSums), kSpareEntries = crossSpareEntries(kSums),
                       kAhead = crossColumnsAhead(kSums);
  uint4* ring;                // two to a word: word i holds d + i (low) and d + 4 + i; wide: the lower half of each
  uint2* tops;                // wide: bits 16 to 23 of d..d+3, then of d+4..d+7
  uint32_t stride, size, at;  // of entries in vectors; `at`: the newest
  uint4 low, high;            // wide: d..d+3 and d+4..d+7; else low alone, two to a word

  __device__ __forceinline__ CrossColumn(uint4* rings, int threads, int entries)
      : ring(rings + threadIdx.x), tops(reinterpret_cast<uint2*>(rings + entries * threads) + threadIdx.x),
        stride(threads), size(entries * threads), at(0) {
    low = high = make_uint4(0, 0, 0, 0);
    store();
  }
  __device__ __forceinline__ void store() {
    if (kWide) {
      ring[at] = make_uint4(__byte_perm(low.x, high.x, 0x5410), __byte_perm(low.y, high.y, 0x5410),
                            __byte_perm(low.z, high.z, 0x5410), __byte_perm(low.w, high.w, 0x5410));
      tops[at] = make_uint2(crossTops(low), crossTops(high));
    } else {
      ring[at] = low;
    }
  }
  __device__ __forceinline__ void add(uint4 along) {
    if (kWide) {
      low = low + crossLow(along);
      high = high + crossHigh(along);
    } else {
      low = low + along;
    }
    at = crossWrapped(at + stride - size, size);
    store();
  }
  __device__ __forceinline__ uint32_t back(uint32_t from, uint32_t entries) const {
    return crossWrapped(from - entries * stride, size);
  }
  /// Returns the smallest key of a region whose arms are counted back from entry `from`. @param ids of the eight
  /// disparities
  __device__ __forceinline__ uint32_t key(uint32_t from, uint32_t arms, uint32_t armY, const uint32_t (&ids)[8]) const {
    const uint32_t lower = back(from, arms & 255), upper = back(from, arms >> 8);
    if (kSums != CrossSums::kSplit) return crossKey<kSums>(ring, tops, lower, upper, ids);
    const uint4 middle = ring[back(from, armY)];
    const uint4 below = ring[lower] - middle, above = middle - ring[upper];
    const uint4 first = crossLow(below) + crossLow(above), second = crossHigh(below) + crossHigh(above);
    const uint32_t sums[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    uint32_t best = ~0u;
#pragma unroll
    for (int i = 0; i < 8; ++i) best = min(best, (sums[i] << 9) + ids[i]);
    return best;
  }
};

/// Finds the winners of up to kCrossKeyRows rows from `row` on, of a warp's columns.
__device__ __forceinline__ void crossWinners(const CrossArguments& a, const uint32_t* keys, int firstColumn, int row,
                                             int rows) {
  __syncwarp();
  for (int item = threadIdx.x % 32; item < kCrossKeyRows * a.columnsPerWarp; item += 32) {
    const int r = item % kCrossKeyRows, column = item / kCrossKeyRows, x = firstColumn + column, y = row + r;
    if (r >= rows || x >= a.width) continue;
    const uint32_t* ownEntries = keys + r * kCrossKeyPitch + column * a.groups;
    uint32_t best = ownEntries[0];
#pragma unroll 4
    for (int group = 1; group < a.groups; ++group) best = min(best, ownEntries[group]);
    crossGiveWinner(a, x, y, best);
  }
  __syncwarp();
}

template <CrossSums kSums>
__global__ void __launch_bounds__(128, crossColumnBlocks(kSums)) crossColumnsKernel(CrossArguments a) {
  extern __shared__ __align__(16) uint4 ring[];
  const CrossSide& side = a.sides[a.firstSide + blockIdx.z];
  constexpr int kSpare = CrossColumn<kSums>::kSpareEntries, kColumnsAhead = CrossColumn<kSums>::kAhead;
  constexpr bool kTogether = kSpare > 0;
  static_assert(!kTogether || kSpare == kColumnsAhead - 1, "no sum is overwritten that a key needs");
  static_assert(kColumnsAhead <= kCrossMaxColumnsAhead && kColumnsAhead <= kCrossKeyRows, "arms and keys hold them");
  const int entries = 2 * a.armY + 2 + kSpare, warps = blockDim.x / 32, warp = threadIdx.x / 32,
            lane = threadIdx.x % 32;
  uint32_t* keys = reinterpret_cast<uint32_t*>(ring) +
                   static_cast<size_t>(entries) * blockDim.x * CrossColumn<kSums>::kEntryBytes / 4 +
                   warp * (kCrossKeyRows * kCrossKeyPitch);
  const int firstColumn = (blockIdx.x * warps + warp) * a.columnsPerWarp, group = lane % a.groups;
  // Spare lanes, and columns beyond the image, work on the last one's sums; their keys are ignored.
  const int x = min(firstColumn + lane / a.groups, a.width - 1);
  const int first = blockIdx.y * a.segment, end = min(first + a.segment, a.height), start = max(first - a.armY, 0);

  uint32_t ids[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int index = kCrossLaneDisparities * group + i;
    const bool candidate = a.firstIndex + index < a.numDisparities && a.firstDisparity + index <= x;
    ids[i] = static_cast<uint32_t>(a.firstIndex + index) | (candidate ? 0u : kNoCandidate);
  }
  const uint32_t lastRow = min(end + a.armY, a.height) - 1, pitch = a.width * a.groups;
  const uint4* sums = side.sums + (static_cast<size_t>(x) * a.groups + group);
  const uint16_t* arms = side.armsY + x;
  CrossColumn<kSums> sum(ring, blockDim.x, entries);

  uint4 ahead[kColumnsAhead];
  uint32_t armsAhead[kColumnsAhead];
  const auto load = [&](uint32_t y4) {
#pragma unroll
    for (int i = 0; i < kColumnsAhead; ++i) {
      ahead[i] = sums[min(y4 + i, lastRow) * pitch];
      armsAhead[i] = arms[(y4 + i) * static_cast<uint32_t>(a.width)];
    }
  };
  load(start);
  int kept = 0;  // rows whose keys are pending
  for (int y4 = start; y4 < end + a.armY; y4 += kColumnsAhead) {
    uint4 along[kColumnsAhead];
    uint32_t reach[kColumnsAhead];
#pragma unroll
    for (int i = 0; i < kColumnsAhead; ++i) along[i] = ahead[i], reach[i] = armsAhead[i];
    load(y4 + kColumnsAhead);
    // Few warps fit with long rings: there the sums of all rows are stored first, so that the keys' loads overlap.
    uint32_t from[kColumnsAhead];
    if (kTogether) {
#pragma unroll
      for (int i = 0; i < kColumnsAhead; ++i) {
        sum.add(along[i]);
        from[i] = sum.at;
      }
    }
#pragma unroll
    for (int i = 0; i < kColumnsAhead; ++i) {
      if (!kTogether) {
        sum.add(along[i]);
        from[i] = sum.at;
      }
      const int y = y4 + i - a.armY;
      if (y < first || y >= end) continue;
      keys[kept * kCrossKeyPitch + lane] = sum.key(from[i], reach[i], a.armY, ids);
      ++kept;
    }
    if (kept <= kCrossKeyRows - kColumnsAhead && y4 + kColumnsAhead < end + a.armY) continue;
    crossWinners(a, keys, firstColumn, min(y4 + kColumnsAhead - a.armY, end) - kept, kept);
    kept = 0;
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
