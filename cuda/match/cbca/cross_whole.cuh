// SPDX-License-Identifier: Apache-2.0
// Sums along whole rows and down whole columns, for arms so long that the rings of cross_rows.cuh and cross_columns.cuh
// leave few warps per multiprocessor; see cross_plan.h.
//
// A block holds the prefix sums of a row (or column) in shared memory: a region's sum is a difference of two of them,
// however long the arms are. A warp's lanes compute pieces of a row in parallel, and a scan gives the sum before each
// piece.
#pragma once

#include "cross_columns.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// Threads per block that the kernels are compiled for. Before 7.0 compilers spill registers at 512, and no row fits
/// anyway.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
constexpr int kCrossWholeBound = kCrossWholeThreads;
#else
constexpr int kCrossWholeBound = 256;
#endif

/// Copies of the table of costs, so that lanes seldom wait for the same bank.
constexpr int kCrossTableCopies = 16;
static_assert(kCrossWholeTableBytes == 256 * kCrossTableCopies * sizeof(uint32_t), "what the plan keeps for them");

/// Makes the compiler recompute values derived from `value` instead of keeping them in registers.
__device__ __forceinline__ void takenAnew(uint4& value) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w));
#else
  (void)value;
#endif
}

/// Like crossCosts, from a table whose entries are kCrossTableCopies words apart; it starts at the lane's copy.
__device__ __forceinline__ void crossCostsOfCopy(const uint32_t* table, const CrossArguments& a,
                                                 uint32_t differencesFirst, uint32_t differencesSecond,
                                                 uint32_t differingFirst, uint32_t differingSecond, uint32_t& low,
                                                 uint32_t& high) {
  const uint32_t selectors =
      (crossDistances(differingFirst) & 0x07070707u) | (crossDistances(differingSecond) << 4 & 0x70707070u);
  low = __byte_perm(a.censusLow, a.censusHigh, selectors);
  high = __byte_perm(a.censusLow, a.censusHigh, selectors >> 16);
  const auto cost = [&](uint32_t differences, int byte) -> uint32_t {
    return table[__byte_perm(differences, 0, 0x4440u + byte) * kCrossTableCopies];
  };
  low += packBytes(cost(differencesFirst, 0), cost(differencesSecond, 0), cost(differencesFirst, 1),
                   cost(differencesSecond, 1));
  high += packBytes(cost(differencesFirst, 2), cost(differencesSecond, 2), cost(differencesFirst, 3),
                    cost(differencesSecond, 3));
}

/// blockIdx: row and its part of the groups; unused; side. A warp has a group, a lane `fours` times four pixels.
__global__ void __launch_bounds__(kCrossWholeBound, 1) crossWholeRowsKernel(CrossArguments a) {
  extern __shared__ __align__(16) uint4 prefix[];  // [group][slot]: before entry e, e = 0..width
  const int threads = blockDim.x, own32 = threadIdx.x % 32, ownGroup = threadIdx.x / 32, groups = threads / 32;
  const int parts = a.groups / groups, y = blockIdx.x / parts, firstGroup = blockIdx.x % parts * groups;
  const int piece = 4 * a.fours, pitch = 32 * piece + 33;
  uint32_t* table = reinterpret_cast<uint32_t*>(prefix + groups * pitch);
  for (int i = threadIdx.x; i < 256 * kCrossTableCopies; i += threads)
    table[i] = a.differenceCosts[i / kCrossTableCopies];
  __syncthreads();
  const CrossSide& side = a.sides[a.firstSide + blockIdx.z];
  const size_t rowWords = static_cast<size_t>(y) * a.words;
  {
    const int start = own32 * piece, end = min(start + piece, (a.width + 3) & ~3);
    const uint32_t* copy = table + own32 % kCrossTableCopies;
    const uint2* own = side.own + rowWords + start / 4;
    const uint2* partner = side.partner + rowWords;
    const int disparity = a.firstDisparity + kCrossLaneDisparities * (firstGroup + ownGroup);
    const uint32_t shifted = 0x7654u - 0x1111u * (disparity & 3);
    int word = start / 4 - disparity / 4;
    const int lastWord = a.words - 1;
    const auto load = [&](int at) { return partner[min(max(at, 0), lastWord)]; };
    const auto joined = [&](uint2 before, uint2 after) {
      return make_uint2(__byte_perm(before.x, after.x, shifted), __byte_perm(before.y, after.y, shifted));
    };
    uint2 last = load(word - 1), before = load(word - 2);
    uint2 u0, u1 = joined(load(word - 3), before), u2 = joined(before, last);
    uint32_t low[4 * kCrossWholeFours], high[4 * kCrossWholeFours];
    uint4 sum = make_uint4(0, 0, 0, 0);
    const auto add = [&sum](uint32_t ofLow, uint32_t ofHigh) {
      sum.x += __byte_perm(ofLow, 0, 0x4140);
      sum.y += __byte_perm(ofLow, 0, 0x4342);
      sum.z += __byte_perm(ofHigh, 0, 0x4140);
      sum.w += __byte_perm(ofHigh, 0, 0x4342);
    };
#pragma unroll
    for (int four = 0; four < kCrossWholeFours; ++four) {
      const int x4 = start + 4 * four;
      if (x4 >= end) continue;
      const uint2 mid = own[four], next = load(word + four);
      u0 = u1, u1 = u2, u2 = joined(last, next);
      last = next;
      const bool border = x4 - disparity < kCrossLaneDisparities - 1;
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        const int i = 4 * four + s;
        const uint32_t backwards = 0x1234u + 0x1111u * s;
        const uint32_t grey = __byte_perm(mid.x, 0, 0x1111u * s), census = __byte_perm(mid.y, 0, 0x1111u * s);
        crossCostsOfCopy(copy, a, __vabsdiffu4(__byte_perm(u1.x, u2.x, backwards), grey),
                         __vabsdiffu4(__byte_perm(u0.x, u1.x, backwards), grey),
                         __byte_perm(u1.y, u2.y, backwards) ^ census, __byte_perm(u0.y, u1.y, backwards) ^ census,
                         low[i], high[i]);
        if (border) {
          const int inside = x4 + s - disparity + 1;
          const uint32_t one = crossFirstBytes(inside), two = crossFirstBytes(inside - 4);
          const uint32_t keepLow = __byte_perm(one, two, 0x5140), keepHigh = __byte_perm(one, two, 0x7362);
          low[i] = (low[i] & keepLow) | (kOutside & ~keepLow);
          high[i] = (high[i] & keepHigh) | (kOutside & ~keepHigh);
        }
        add(low[i], high[i]);
      }
    }
    // The sum before the lane's piece.
    const uint4 whole = sum;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const uint4 other = make_uint4(__shfl_up_sync(kFullWarp, sum.x, by), __shfl_up_sync(kFullWarp, sum.y, by),
                                     __shfl_up_sync(kFullWarp, sum.z, by), __shfl_up_sync(kFullWarp, sum.w, by));
      if (own32 >= by) sum = sum + other;
    }
    sum = sum - whole;
    uint4* ownEntries = prefix + ownGroup * pitch;
    if (own32 == 0) ownEntries[0] = sum;
    ownEntries += own32 * (piece + 1) + 2;
#pragma unroll
    for (int four = 0; four < kCrossWholeFours; ++four) {
      if (start + 4 * four >= end) continue;
#pragma unroll
      for (int s = 0; s < 4; ++s) {
        add(low[4 * four + s], high[4 * four + s]);
        ownEntries[4 * four + s] = sum;
      }
    }
  }
  __syncthreads();
  const int group = threadIdx.x % groups;
  const uint4* const sums = prefix + group * pitch;
  const auto slot = [&](int e) { return e + (static_cast<uint32_t>(e + piece - 1) * a.pieceInverse >> 20); };
  const uint16_t* arms = reinterpret_cast<const uint16_t*>(side.armsX + rowWords);
  uint4* out = side.sums + static_cast<size_t>(y) * a.width * a.groups + firstGroup + group;
#pragma unroll 4
  for (int x = threadIdx.x / groups; x < a.width; x += 32) {
    const uint32_t back = arms[x + a.armX], from = x + a.armX + 1;
    out[static_cast<uint32_t>(x) * a.groups] = sums[slot(from - (back & 255))] - sums[slot(from - (back >> 8))];
  }
}

/// blockIdx: column; unused; side. A thread has a group and kCrossWholeRows consecutive rows, then one row per turn.
template <bool kWide>
__global__ void __launch_bounds__(kCrossWholeBound, 1) crossWholeColumnsKernel(CrossArguments a) {
  // [entry][group], entries 0..height; then the upper bytes, then keys.
  extern __shared__ __align__(16) uint4 lower[];
  const int groups = a.groups, threads = blockDim.x, group = threadIdx.x % groups, piece = threadIdx.x / groups,
            pieces = threads / groups;
  uint2* upper = reinterpret_cast<uint2*>(lower + (a.height + 1) * groups);
  uint32_t* keys = reinterpret_cast<uint32_t*>(upper + (kWide ? ((a.height + 1) * groups + 1) / 2 * 2 : 0));
  const CrossSide& side = a.sides[a.firstSide + blockIdx.z];
  const int x = blockIdx.x, first = piece * kCrossWholeRows;
  const uint32_t pitch = a.width * groups;
  const uint4* sums = side.sums + static_cast<size_t>(x) * groups + group;
  uint4 rows[kCrossWholeRows];
#pragma unroll
  for (int i = 0; i < kCrossWholeRows; ++i) rows[i] = sums[min(first + i, a.height - 1) * pitch];
  uint4 low = make_uint4(0, 0, 0, 0), high = low;
  const auto add = [&](uint4 along) {
    if (kWide) {
      low = low + crossLow(along);
      high = high + crossHigh(along);
    } else {
      low = low + along;
    }
  };
#pragma unroll
  for (int i = 0; i < kCrossWholeRows; ++i) add(rows[i]);
  // The sum before each piece: a thread adds up all pieces of a word.
  uint4* totals = reinterpret_cast<uint4*>(keys);
  constexpr int kParts = kWide ? 2 : 1;
  totals[kParts * threadIdx.x] = low;
  if (kWide) totals[kParts * threadIdx.x + 1] = high;
  __syncthreads();
  uint32_t* words = reinterpret_cast<uint32_t*>(totals);
  for (int word = threadIdx.x; word < 4 * kParts * groups; word += threads) {
    uint32_t run = 0;
    for (int i = 0, at = word; i < pieces; ++i, at += 4 * kParts * groups) {
      const uint32_t own = words[at];
      words[at] = run;
      run += own;
    }
  }
  __syncthreads();
  low = totals[kParts * threadIdx.x];
  if (kWide) high = totals[kParts * threadIdx.x + 1];
  const auto store = [&](int at) {
    if (kWide) {
      lower[at] = make_uint4(__byte_perm(low.x, high.x, 0x5410), __byte_perm(low.y, high.y, 0x5410),
                             __byte_perm(low.z, high.z, 0x5410), __byte_perm(low.w, high.w, 0x5410));
      upper[at] = make_uint2(crossTops(low), crossTops(high));
    } else {
      lower[at] = low;
    }
  };
  if (piece == 0) store(group);
#pragma unroll
  for (int i = 0; i < kCrossWholeRows; ++i) {
    if (first + i >= a.height) break;
    takenAnew(rows[i]);
    add(rows[i]);
    store((first + i + 1) * groups + group);
  }
  uint32_t ids[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int index = kCrossLaneDisparities * group + i;
    const bool candidate = a.firstIndex + index < a.numDisparities && a.firstDisparity + index <= x;
    ids[i] = static_cast<uint32_t>(a.firstIndex + index) | (candidate ? 0u : kNoCandidate);
  }
  // The barrier also ensures that all threads have read the totals, which keys overwrite.
  __syncthreads();
  const int keyPitch = groups | 1;
  const uint16_t* arms = side.armsY + static_cast<size_t>(a.armY) * a.width + x;
#pragma unroll 2
  for (int y = piece; y < a.height; y += pieces) {
    const uint32_t reach = arms[static_cast<uint32_t>(y) * a.width], from = y + a.armY + 1;
    keys[y * keyPitch + group] = crossKey<kWide ? CrossSums::kWide : CrossSums::kShort>(
        lower, upper, (from - (reach & 255)) * groups + group, (from - (reach >> 8)) * groups + group, ids);
  }
  __syncthreads();
  for (int y = threadIdx.x; y < a.height; y += threads) {
    const uint32_t* ownEntries = keys + y * keyPitch;
    uint32_t best = ownEntries[0];
    for (int i = 1; i < groups; ++i) best = min(best, ownEntries[i]);
    crossGiveWinner(a, x, y, best);
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
