// SPDX-License-Identifier: Apache-2.0
// Kernels of semi-global matching before their optimisations, for the speed-up tables of Hernandez-Juarez et al. 2016 (section 3).
// A slice is the pixels of one path. L(p, d) fits a byte, because it is at most kMaxMatchingCost + p2.
#pragma once

#include "../../device/traits.h"
#include "../../match/cost/hamming.h"
#include "sgm_baseline.h"

namespace depthwatt {
namespace gpu {
namespace baseline {

constexpr int kOutside = 63;           ///< cost of a candidate outside the right image; it is never selected
constexpr int kIndexBits = 9;          ///< of a disparity in a key: sum << kIndexBits | d
constexpr int kWarpDisparities = 128;  ///< of the words that a warp holds in one register per lane

struct Direction {
  int x, y;
};

/// Volumes hold one byte a cell.
struct SgmArguments {
  const uint32_t *censusLeft, *censusRight;
  uint8_t* cost;
  uint8_t* paths[8];  ///< L of each direction
  int16_t* disparity;
  cudaTextureObject_t costTexture;
  int width, height, numDisparities, padded, p1, p2, pathCount;
};

// Where a volume holds disparity d of pixel p.
struct ByDisparity {
  static __device__ __forceinline__ size_t at(const SgmArguments& a, size_t p, int d) { return p * a.padded + d; }
};
struct ByPlane {
  static __device__ __forceinline__ size_t at(const SgmArguments& a, size_t p, int d) {
    return static_cast<size_t>(d) * a.width * a.height + p;
  }
};
/// Byte j of word w of lane l holds d = 128 w + 32 j + l: the neighbours d - 1 and d + 1 are in the next lanes.
struct ByLane {
  static __device__ __forceinline__ size_t at(const SgmArguments& a, size_t p, int d) {
    return p * a.padded + (d & ~127) + 4 * (d & 31) + (d >> 5 & 3);
  }
};

__host__ __device__ __forceinline__ int sliceCount(Direction r, int width, int height) {
  return r.x == 0 ? width : r.y == 0 ? height : width + height - 1;
}
/// Returns the first pixel of a slice.
__device__ __forceinline__ int2 sliceStart(Direction r, int slice, int width, int height) {
  const int firstX = r.x > 0 ? 0 : width - 1, firstY = r.y > 0 ? 0 : height - 1;
  int2 start;
  start.x = r.y != 0 && slice < width ? slice : firstX;
  start.y = r.y == 0 ? slice : slice < width ? firstY : r.y > 0 ? slice - width + 1 : height - 2 - (slice - width);
  return start;
}
__device__ __forceinline__ bool inside(int x, int y, int width, int height) {
  return x >= 0 && x < width && y >= 0 && y < height;
}
__device__ __forceinline__ int costOf(const SgmArguments& a, size_t p, int x, int d) {
  return x < d ? kOutside : __popc(a.censusLeft[p] ^ a.censusRight[p - d]);
}

/// Census of one pixel per thread, straight from global memory: 62 loads.
static __global__ void naiveCensusKernel(const uint8_t* image, uint32_t* census, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  const auto at = [&](int dx, int dy) {
    return image[static_cast<size_t>(min(max(y + dy, 0), height - 1)) * width + min(max(x + dx, 0), width - 1)];
  };
  uint32_t bits = 0;
  for (int i = 1; i <= 4; ++i) {
    for (int j = -3; j <= 3; ++j) bits = 2 * bits + (at(i, j) >= at(-i, -j) ? 1 : 0);
  }
  for (int j = 1; j <= 3; ++j) bits = 2 * bits + (at(0, j) >= at(0, -j) ? 1 : 0);
  census[static_cast<size_t>(y) * width + x] = bits;
}

/// Cost of one cell per thread, straight from global memory. Threads of a warp differ in d, or in x with kAcross.
template <class Layout, bool kAcross>
__global__ void naiveCostsKernel(SgmArguments a) {
  const int along = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = kAcross ? along : along / a.numDisparities,
            d = kAcross ? static_cast<int>(blockIdx.z) : along % a.numDisparities;
  if (x >= a.width) return;
  const size_t p = static_cast<size_t>(blockIdx.y) * a.width + x;
  a.cost[Layout::at(a, p, d)] = static_cast<uint8_t>(costOf(a, p, x, d));
}

/// Algorithm 2: a block computes kTile pixels of a row from words in shared memory, one disparity per thread.
constexpr int kTile = 64;
template <class Layout>
__global__ void tiledCostsKernel(SgmArguments a) {
  __shared__ uint32_t left[kTile], right[kTile + 512];
  const int x0 = blockIdx.x * kTile, d = threadIdx.x, threads = blockDim.x;
  const size_t row = static_cast<size_t>(blockIdx.y) * a.width;
  for (int i = d; i < kTile + a.padded; i += threads) {
    const int x = x0 + i - a.padded;
    right[i] = inside(x, 0, a.width, 1) ? a.censusRight[row + x] : 0;
    if (i < kTile) left[i] = x0 + i < a.width ? a.censusLeft[row + x0 + i] : 0;
  }
  __syncthreads();
  for (int i = 0; i < kTile && x0 + i < a.width; ++i) {
    const int cost = d >= a.numDisparities ? 0 : x0 + i < d ? kOutside : __popc(left[i] ^ right[i + a.padded - d]);
    a.cost[Layout::at(a, row + x0 + i, d)] = static_cast<uint8_t>(cost);
  }
}

/// One thread walks a slice and keeps L in global memory alone.
static __global__ void threadWalkKernel(SgmArguments a, Direction r, int path) {
  const int slice = blockIdx.x * blockDim.x + threadIdx.x, num = a.numDisparities;
  if (slice >= sliceCount(r, a.width, a.height)) return;
  int2 at = sliceStart(r, slice, a.width, a.height);
  const uint8_t* before = nullptr;
  for (int smallest = 0; inside(at.x, at.y, a.width, a.height); at.x += r.x, at.y += r.y) {
    const size_t p = static_cast<size_t>(at.y) * a.width + at.x;
    uint8_t* const now = a.paths[path] + p * a.padded;
    int least = 255;
    for (int d = 0; d < num; ++d) {
      int excess = 0;
      if (before != nullptr) {
        excess = min(static_cast<int>(before[d]), smallest + a.p2);
        if (d > 0) excess = min(excess, before[d - 1] + a.p1);
        if (d + 1 < num) excess = min(excess, before[d + 1] + a.p1);
        excess -= smallest;
      }
      const int value = a.cost[p * a.padded + d] + excess;
      now[d] = static_cast<uint8_t>(value);
      least = min(least, value);
    }
    before = now, smallest = least;
  }
}

/// Returns the smallest value of a block of whole warps, on every thread. Includes barriers. @param shared 32 words
__device__ __forceinline__ uint32_t blockMin(uint32_t value, uint32_t* shared) {
  const uint32_t own = warpMin(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  uint32_t least = shared[0];
  for (unsigned i = 1; i < blockDim.x / 32; ++i) least = min(least, shared[i]);
  __syncthreads();
  return least;
}

/// Algorithm 3: a block of one thread per disparity walks a slice.
template <class Layout, bool kTexture>
__global__ void blockWalkKernel(SgmArguments a, Direction r, int path) {
  __shared__ uint32_t aggregated[512 + 2], minima[32];
  const int d = threadIdx.x, far = 1 << 16;
  int2 at = sliceStart(r, blockIdx.x, a.width, a.height);
  int value = 0, smallest = 0;
  aggregated[d + 1] = d < a.numDisparities ? 0 : far;
  if (d == 0) aggregated[0] = aggregated[blockDim.x + 1] = far;
  for (bool first = true; inside(at.x, at.y, a.width, a.height); first = false, at.x += r.x, at.y += r.y) {
    const size_t place = Layout::at(a, static_cast<size_t>(at.y) * a.width + at.x, d);
    int cost = 0;
    if (d < a.numDisparities)
      cost = kTexture ? tex1Dfetch<uint8_t>(a.costTexture, static_cast<int>(place)) : a.cost[place];
    __syncthreads();
    const int left = static_cast<int>(aggregated[d]), right = static_cast<int>(aggregated[d + 2]);
    value = cost + (first ? 0 : min(min(value, smallest + a.p2), min(left, right) + a.p1) - smallest);
    if (d >= a.numDisparities) value = far;
    else a.paths[path][place] = static_cast<uint8_t>(value);
    smallest = static_cast<int>(blockMin(static_cast<uint32_t>(value), minima));
    aggregated[d + 1] = static_cast<uint32_t>(value);
  }
}

/// Algorithm 4: a block of one thread per disparity adds the paths of a pixel and finds the winner.
template <class Layout>
__global__ void blockSelectKernel(SgmArguments a) {
  __shared__ uint32_t minima[32];
  const int x = blockIdx.x, d = threadIdx.x;
  const size_t p = static_cast<size_t>(blockIdx.y) * a.width + x;
  uint32_t key = 0xffffffffu;
  if (d < a.numDisparities && d <= x) {
    uint32_t sum = 0;
    for (int path = 0; path < a.pathCount; ++path) sum += a.paths[path][Layout::at(a, p, d)];
    key = sum << kIndexBits | static_cast<uint32_t>(d);
  }
  key = blockMin(key, minima);
  if (d == 0) a.disparity[p] = static_cast<int16_t>(key & ((1 << kIndexBits) - 1));
}

/// Four unsigned bytes in a word.
struct BytesAny {
  static constexpr bool kSeven = false;
  static __device__ __forceinline__ uint32_t min(uint32_t a, uint32_t b) { return __vminu4(a, b); }
  static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b) { return __vaddus4(a, b); }
  static __device__ __forceinline__ uint32_t far(int) { return 0xffffffffu; }
};
/// Four bytes below 128: the highest bits are free, so that a minimum takes four instructions and an addition one.
struct BytesSeven {
  static constexpr bool kSeven = true;
  static __device__ __forceinline__ uint32_t min(uint32_t a, uint32_t b) {
    const uint32_t larger = (a | 0x80808080u) - b;
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
    uint32_t mask;
    asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(mask) : "r"(larger));
#else
    const uint32_t mask = (larger >> 7 & 0x01010101u) * 255u;
#endif
    return (b & mask) | (a & ~mask);
  }
  static __device__ __forceinline__ uint32_t add(uint32_t a, uint32_t b) { return a + b; }
  /// Larger than p2 after p1 is added, and then below 128.
  static __device__ __forceinline__ uint32_t far(int p1) { return (127u - static_cast<uint32_t>(p1)) * 0x01010101u; }
};

/// Where a warp takes its costs from.
enum class Costs {
  kVolume,      ///< the volume
  kCensus,      ///< the census
  kCensusKept,  ///< the census; it writes them to the volume
};

/// A warp walks a slice with kWords words of four costs per lane.
template <int kWords>
struct WarpSlice {
  uint32_t state[kWords];    ///< L less its minimum
  uint32_t padding[kWords];  ///< 255 where d is beyond the search

  __device__ __forceinline__ void begin(int lane, int numDisparities) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      state[w] = padding[w] = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (kWarpDisparities * w + 32 * j + lane >= numDisparities) padding[w] |= 255u << 8 * j;
      }
    }
  }

  /// Moves to the next pixel: costs in, L out.
  template <class Bytes>
  __device__ __forceinline__ void step(int lane, uint32_t p1, uint32_t p2, uint32_t far, bool first,
                                       uint32_t (&cells)[kWords]) {
    uint32_t below[kWords], above[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      below[w] = __shfl_sync(kFullWarp, state[w], (lane + 31) % 32);
      above[w] = __shfl_sync(kFullWarp, state[w], (lane + 1) % 32);
    }
    const uint32_t takeBelow = lane == 0 ? 0x2107 : 0x3210, takeAbove = lane == 31 ? 0x4321 : 0x3210;
    uint32_t least = 0xffffffffu;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t smaller = __byte_perm(below[w], w > 0 ? below[(w + kWords - 1) % kWords] : far, takeBelow);
      const uint32_t larger = __byte_perm(above[w], w + 1 < kWords ? above[(w + 1) % kWords] : far, takeAbove);
      const uint32_t near = Bytes::add(Bytes::min(smaller, larger), p1);
      const uint32_t excess = Bytes::min(Bytes::min(state[w], near), p2);
      cells[w] = (first ? cells[w] : cells[w] + excess) | padding[w];
      least = w == 0 ? cells[w] : Bytes::min(least, cells[w]);
    }
    least = Bytes::min(least, least >> 16 | (Bytes::kSeven ? 0x7f7f0000u : 0xffff0000u));
    least = Bytes::min(least, least >> 8 | (Bytes::kSeven ? 0x7f7f7f00u : 0xffffff00u)) & 255u;
    least = warpMin(least) * 0x01010101u;
#pragma unroll
    for (int w = 0; w < kWords; ++w) state[w] = cells[w] - least;
  }
};

constexpr int kWalkWarps = 2;   ///< of a block; each walks a slice
constexpr int kOtherPaths = 7;  ///< at most, besides the one that selects

/// @param kSelects adds the other paths and writes the winners instead of L
/// @param kSeven keeps the values of pixels with all candidates inside below 128: 31 + p1 + p2 <= 127, padded = numDisparities
template <int kWords, Costs kCosts, bool kSelects, bool kSeven>
__global__ void __launch_bounds__(32 * kWalkWarps) warpWalkKernel(SgmArguments a, Direction r, int path) {
  const int lane = threadIdx.x % 32, slice = blockIdx.x * kWalkWarps + threadIdx.x / 32;
  if (slice >= sliceCount(r, a.width, a.height)) return;
  int2 at = sliceStart(r, slice, a.width, a.height);
  const uint32_t p1 = static_cast<uint32_t>(a.p1) * 0x01010101u, p2 = static_cast<uint32_t>(a.p2) * 0x01010101u;
  const int words = a.padded / 4, lastX = r.x > 0 ? a.width - 1 : 0, lastY = r.y > 0 ? a.height - 1 : 0;
  const int across = r.x == 0 ? a.height : abs(lastX - at.x) + 1, down = r.y == 0 ? a.width : abs(lastY - at.y) + 1;
  const int steps = min(across, down), pixelStep = r.y * a.width + r.x, cellStep = pixelStep * words;
  int x = at.x, p = at.y * a.width + at.x, cell = p * words + lane;
  WarpSlice<kWords> warp;
  warp.begin(lane, a.numDisparities);
  uint32_t ahead[4 * kWords + 1];  // what the next pixel needs
  const auto load = [&](int pixelX, int pixel, int firstCell) {
    if (kCosts == Costs::kVolume) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) ahead[w] = reinterpret_cast<const uint32_t*>(a.cost)[firstCell + 32 * w];
    } else {
      ahead[4 * kWords] = a.censusLeft[pixel];
#pragma unroll
      for (int i = 0; i < 4 * kWords; ++i) ahead[i] = a.censusRight[pixel - min(32 * i + lane, pixelX)];
    }
  };
  load(x, p, cell);
  for (int step = 0; step < steps; ++step) {
    uint32_t cells[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      if (kCosts == Costs::kVolume) {
        cells[w] = ahead[w];
      } else {
        uint32_t cost[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int d = kWarpDisparities * w + 32 * j + lane;
          cost[j] = static_cast<uint32_t>(__popc(ahead[4 * kWords] ^ ahead[4 * w + j]));
          if (d > x) cost[j] = kOutside;
        }
        cells[w] = packBytes(cost[0], cost[1], cost[2], cost[3]) & ~warp.padding[w];
      }
      if (kCosts == Costs::kCensusKept) reinterpret_cast<uint32_t*>(a.cost)[cell + 32 * w] = cells[w];
    }
    if (step + 1 < steps) load(x + r.x, p + pixelStep, cell + cellStep);
    uint32_t others[kSelects ? kWords : 1][kOtherPaths];
    if (kSelects) {
#pragma unroll
      for (int i = 0; i < kWords * kOtherPaths; ++i) {
        const int w = i / kOtherPaths, other = i % kOtherPaths;
        others[w][other] =
            other + 1 < a.pathCount ? reinterpret_cast<const uint32_t*>(a.paths[other])[cell + 32 * w] : 0;
      }
    }
    if (kSeven && x >= a.numDisparities - 1) {
      warp.template step<BytesSeven>(lane, p1, p2, BytesSeven::far(a.p1), step == 0, cells);
    } else {
      warp.template step<BytesAny>(lane, p1, p2, BytesAny::far(a.p1), step == 0, cells);
      // Values beyond p2 all act alike in the next step, and BytesSeven needs them below 128.
      if (kSeven) {
#pragma unroll
        for (int w = 0; w < kWords; ++w) warp.state[w] = BytesAny::min(warp.state[w], p2);
      }
    }
    if (!kSelects) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) reinterpret_cast<uint32_t*>(a.paths[path])[cell + 32 * w] = cells[w];
    } else {
      uint32_t best = 0xffffffffu;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        uint32_t even = cells[w] & 0x00ff00ffu, odd = cells[w] >> 8 & 0x00ff00ffu;
#pragma unroll
        for (int other = 0; other < kOtherPaths; ++other) {
          if (other + 1 < a.pathCount)
            even += others[w][other] & 0x00ff00ffu, odd += others[w][other] >> 8 & 0x00ff00ffu;
        }
        const uint32_t sums[4] = {even & 0xffffu, odd & 0xffffu, even >> 16, odd >> 16};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int d = kWarpDisparities * w + 32 * j + lane;
          if (d < a.numDisparities && d <= x) best = min(best, sums[j] << kIndexBits | static_cast<uint32_t>(d));
        }
      }
      best = warpMin(best);
      if (lane == 0) a.disparity[p] = static_cast<int16_t>(best & ((1 << kIndexBits) - 1));
    }
    x += r.x, p += pixelStep, cell += cellStep;
  }
}

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
