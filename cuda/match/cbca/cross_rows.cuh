// SPDX-License-Identifier: Apache-2.0
// Matching costs and their sums along the rows on a device; see cross_plan.h for lanes and segments.
//
// A thread walks along its piece of a row. Its eight partners are contiguous and move by one byte per step, so four
// steps need one new word of grey and one of mini-census, and every step extracts its bytes from three words. Costs
// stay bytes until the running sum, which has two uint16 per word modulo 2^32: a word is one whole number, low + 65536
// high, so a difference of two running sums is exact if both sums of the region fit 16 bits (at most 254 * 123).
#pragma once

#include <cuda_runtime.h>

#include "../../device/traits.h"
#include "cross_plan.h"

namespace depthwatt {
namespace gpu {

/// The matching of one image: find each pixel of `own` in `partner`, whose pixel x - d belongs to x and d. The right
/// image is matched the same way with both images mirrored.
struct CrossSide {
  const uint2* own;  ///< [height][words] four greys, four mini-censuses
  const uint2* partner;
  /// Two bytes a pixel: steps back from the end of the longest arm to the region's ends. armsX: [height][words], right
  /// and left, of four pixels; column x is stored at x + armX, where the walk is when it needs them. armsY:
  /// [rows][width], lower and upper; row y is stored at y + armY.
  const uint2* armsX;
  const uint16_t* armsY;
  uint4* sums;  ///< [height][width][groups] sums along x of one chunk
};

struct CrossArguments {
  CrossSide sides[2];
  const uint8_t* differenceCosts;  ///< [256]
  uint32_t censusLow, censusHigh;  ///< costs of distances 0 to 3 and 4 to 6, a byte each
  uint32_t* keys;                  ///< [2][height][width] smallest so far; null with one chunk
  int16_t* disparity[2];           ///< whole pixels
  int32_t width, height, words, groups, armX, armY;
  int32_t firstDisparity;  ///< of the chunk, absolute
  int32_t firstIndex;      ///< of the chunk, from the smallest disparity of the search
  int32_t minDisparity, numDisparities;
  int32_t segment;  ///< pixels or rows
  int32_t columnsPerWarp;
  int32_t fours;          ///< whole rows: times four pixels per lane
  uint32_t pieceInverse;  ///< 2^20 / (4 fours) + 1
  int32_t firstSide;      ///< first side of the launch
  bool firstChunk, lastChunk;
};

namespace {

constexpr uint32_t kOutside = kMaxCrossCost * 0x01010101u;

/// Counts the set bits of each of eight nibbles of three bits; then returns pairs' sums in the low nibble of each byte.
__device__ __forceinline__ uint32_t crossDistances(uint32_t differing) {
  const uint32_t counts = differing - (differing >> 1 & 0x33333333u) - (differing >> 2 & 0x11111111u);
  return counts + (counts >> 4);
}

/// Costs of eight disparities as bytes. first: d..d+3 (bytes 0..3), second: d+4..d+7.
/// low: d, d+4, d+1, d+5; high: d+2, d+6, d+3, d+7.
__device__ __forceinline__ void crossCosts(const uint8_t* table, const CrossArguments& a, uint32_t differencesFirst,
                                           uint32_t differencesSecond, uint32_t differingFirst,
                                           uint32_t differingSecond, uint32_t& low, uint32_t& high) {
  // Distances become selectors of bytes: one instruction then looks up four of them in a table of seven.
  const uint32_t selectors =
      (crossDistances(differingFirst) & 0x07070707u) | (crossDistances(differingSecond) << 4 & 0x70707070u);
  low = __byte_perm(a.censusLow, a.censusHigh, selectors);
  high = __byte_perm(a.censusLow, a.censusHigh, selectors >> 16);
  // No byte overflows: 127 + 127.
  const auto cost = [&](uint32_t differences, int byte) -> uint32_t {
    return table[__byte_perm(differences, 0, 0x4440u + byte)];
  };
  low += cost(differencesFirst, 0) + (cost(differencesSecond, 0) << 8) + (cost(differencesFirst, 1) << 16) +
         (cost(differencesSecond, 1) << 24);
  high += cost(differencesFirst, 2) + (cost(differencesSecond, 2) << 8) + (cost(differencesFirst, 3) << 16) +
          (cost(differencesSecond, 3) << 24);
}

/// Returns ones in the first n bytes, n of any sign and size.
__device__ __forceinline__ uint32_t crossFirstBytes(int n) {
  return n >= 4 ? ~0u : (n <= 0 ? 0u : ~0u >> (32 - 8 * n));
}

/// Wraps a place in a ring of `size`: it may be one turn before the start, or past the end with size already
/// subtracted.
__device__ __forceinline__ uint32_t crossWrapped(uint32_t place, uint32_t size) { return min(place, place + size); }

/// kTogether: stores the sums of four steps before the first subtraction, so that the loads overlap.
template <bool kTogether>
__global__ void __launch_bounds__(128, kCrossRowBlocks) crossRowsKernel(CrossArguments a) {
  extern __shared__ __align__(16) uint4 ring[];  // [entry][thread] running sums
  __shared__ uint8_t table[256];
  const int threads = blockDim.x;
  for (int i = threadIdx.x; i < 256; i += threads) table[i] = a.differenceCosts[i];
  __syncthreads();
  const CrossSide& side = a.sides[a.firstSide + blockIdx.z];
  const int item = blockIdx.x * threads + threadIdx.x, y = item / a.groups, group = item % a.groups;
  if (y >= a.height) return;
  const int first = blockIdx.y * a.segment, end = min(first + a.segment, a.width);
  const int start = max(first - a.armX, 0) & ~3;

  const size_t rowWords = static_cast<size_t>(y) * a.words;
  const uint2* own = side.own + rowWords + start / 4;
  const uint2* arms = side.armsX + rowWords + start / 4;
  const uint2* partner = side.partner + rowWords;
  const int disparity = a.firstDisparity + kCrossLaneDisparities * group;
  // Partner of x4 and the first disparity: `disparity % 4` bytes before the word x4 / 4 - disparity / 4.
  const uint32_t shifted = 0x7654u - 0x1111u * (disparity & 3);
  int word = start / 4 - disparity / 4;
  const auto load = [&](int at) { return partner[max(at, 0)]; };
  const auto joined = [&](uint2 before, uint2 after) {
    return make_uint2(__byte_perm(before.x, after.x, shifted), __byte_perm(before.y, after.y, shifted));
  };
  uint2 last = load(word - 1), before = load(word - 2);
  uint2 u0, u1 = joined(load(word - 3), before), u2 = joined(before, last);

  uint4 sum = make_uint4(0, 0, 0, 0);
  const uint32_t stride = threads, ringSize = (2 * a.armX + 2 + (kTogether ? 3 : 0)) * stride;
  uint32_t at = 0;
  uint4* ownEntries = ring + threadIdx.x;
  ownEntries[0] = sum;
  uint4* out = side.sums + (static_cast<size_t>(y) * a.width + first) * a.groups + group;

  // Load four steps ahead.
  uint2 ownAhead = *own, armsAhead = *arms, partnerAhead = load(word);
  for (int x4 = start; x4 < end + a.armX; x4 += 4) {
    const uint2 mid = ownAhead, back = armsAhead, next = partnerAhead;
    ownAhead = *++own;
    armsAhead = *++arms;
    partnerAhead = load(++word);

    u0 = u1, u1 = u2, u2 = joined(last, next);
    last = next;
    const bool border = x4 - disparity < kCrossLaneDisparities - 1;
    const auto give = [&](int s, uint32_t from) {
      if (static_cast<uint32_t>(x4 + s - a.armX - first) >= static_cast<uint32_t>(end - first)) return;
      const uint32_t pair = s < 2 ? back.x : back.y;
      const uint32_t toRight = __byte_perm(pair, 0, s % 2 == 0 ? 0x4440 : 0x4442);
      const uint32_t toLeft = __byte_perm(pair, 0, s % 2 == 0 ? 0x4441 : 0x4443);
      const uint4 upper = ownEntries[crossWrapped(from - toRight * stride, ringSize)];
      const uint4 lower = ownEntries[crossWrapped(from - toLeft * stride, ringSize)];
      *out = make_uint4(upper.x - lower.x, upper.y - lower.y, upper.z - lower.z, upper.w - lower.w);
      out += a.groups;
    };
    uint32_t stored[4];
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      // With rising disparity, places fall.
      const uint32_t backwards = 0x1234u + 0x1111u * s;
      const uint32_t grey = __byte_perm(mid.x, 0, 0x1111u * s), census = __byte_perm(mid.y, 0, 0x1111u * s);
      uint32_t low, high;
      crossCosts(table, a, __vabsdiffu4(__byte_perm(u1.x, u2.x, backwards), grey),
                 __vabsdiffu4(__byte_perm(u0.x, u1.x, backwards), grey), __byte_perm(u1.y, u2.y, backwards) ^ census,
                 __byte_perm(u0.y, u1.y, backwards) ^ census, low, high);
      if (border) {
        const int inside = x4 + s - disparity + 1;
        const uint32_t one = crossFirstBytes(inside), two = crossFirstBytes(inside - 4);
        const uint32_t keepLow = __byte_perm(one, two, 0x5140), keepHigh = __byte_perm(one, two, 0x7362);
        low = (low & keepLow) | (kOutside & ~keepLow);
        high = (high & keepHigh) | (kOutside & ~keepHigh);
      }
      sum.x += __byte_perm(low, 0, 0x4140);
      sum.y += __byte_perm(low, 0, 0x4342);
      sum.z += __byte_perm(high, 0, 0x4140);
      sum.w += __byte_perm(high, 0, 0x4342);
      at = crossWrapped(at + stride - ringSize, ringSize);
      ownEntries[at] = sum;
      stored[s] = at;
      if (!kTogether) give(s, at);
    }
    if (kTogether) {
#pragma unroll
      for (int s = 0; s < 4; ++s) give(s, stored[s]);
    }
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
