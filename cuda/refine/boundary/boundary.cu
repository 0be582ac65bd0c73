// SPDX-License-Identifier: Apache-2.0
// Boundary vote on CUDA; see boundary.h and README.md.
// A block decides 64 x 8 pixels; shared memory holds its tile of 72 x 16 disparities and grey values. Extremes are
// found by columns, then along the rows. A thread votes for 2 x 2 pixels at once, in half-precision numbers: two
// adjacent pixels share a register, and neighbours are loaded for all four. Pixels that change sides are collected in a
// list, whose entries search for their values in parallel.
#include "boundary.h"

#include <cuda_fp16.h>

#include <algorithm>

#include "boundary_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 64, kTileHeight = 8, kRadius = kBoundaryRadius, kWindow = 2 * kRadius + 1;
constexpr int kBoundaryThreads = 128, kThreadRows = 2;
constexpr int kHaloWidth = kTileWidth + 2 * kRadius, kHaloHeight = kTileHeight + 2 * kRadius;
constexpr int kWords = (kHaloWidth - kTileWidth) / 2 + 1;  ///< words of two pixels that a pair's window covers in a row
constexpr int kInvalid = kInvalidDisparity;
constexpr int kPlaces = kWindow * kWindow - 1;
static_assert(kTileWidth == 2 * 32 && kTileHeight == kThreadRows * kBoundaryThreads / 32, "a thread has 2 x 2 pixels");
static_assert(kTileHeight == 8 && kWindow == 9, "the extremes of columns share the rows 7 and 8 of their windows");

/// Grey n as the half-precision number 64 + n / 16, which is exact: differences are in units of the vote's range.
constexpr uint32_t kGreyZero = 0x5400, kGreyNone = 0x7bff;
static_assert(kBoundaryGrey == 16, "a weight is 1 - |difference| / 16, cut at 0");

/// Below this value, disparities read as half-precision numbers keep their order, and the invalid one is a zero.
constexpr int kOrderedEnd = 0x7c00;

/// A window's places without its centre, the closest first, then upper rows, then left columns.
struct Places {
  int8_t x[kPlaces], y[kPlaces];
};

Places placesByDistance() {
  struct Place {
    int x, y;
  } all[kPlaces];
  int n = 0;
  for (int y = -kRadius; y <= kRadius; ++y) {
    for (int x = -kRadius; x <= kRadius; ++x) {
      if (x != 0 || y != 0) all[n++] = {x, y};
    }
  }
  std::stable_sort(all, all + kPlaces,
                   [](const Place& a, const Place& b) { return a.x * a.x + a.y * a.y < b.x * b.x + b.y * b.y; });
  Places places;
  for (int k = 0; k < kPlaces; ++k) {
    places.x[k] = static_cast<int8_t>(all[k].x);
    places.y[k] = static_cast<int8_t>(all[k].y);
  }
  return places;
}

__device__ __forceinline__ __half2 halves(uint32_t bits) { return *reinterpret_cast<__half2*>(&bits); }
__device__ __forceinline__ uint32_t halfBits(__half2 value) { return *reinterpret_cast<uint32_t*>(&value); }
__device__ __forceinline__ __half2 magnitude(__half2 value) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t bits;
  asm("abs.f16x2 %0, %1;" : "=r"(bits) : "r"(halfBits(value)));
  return halves(bits);
#else
  return halves(halfBits(value) & 0x7fff7fffu);
#endif
}
__device__ __forceinline__ int lowHalf(uint32_t pair) { return static_cast<int16_t>(pair & 0xffffu); }
__device__ __forceinline__ int highHalf(uint32_t pair) { return static_cast<int32_t>(pair) >> 16; }

/// Two adjacent pixels: their grey values, the threshold between near and far, and the weights of near and of all.
struct Vote {
  __half2 own, middle, near, all;
};

/// A row of the windows of two pixels, as the pairs that both visit at the same offset.
struct WindowRow {
  uint32_t disparities[kWindow], greys[kWindow];

  __device__ __forceinline__ void load(const uint32_t* disparity, const uint32_t* grey) {
#pragma unroll
    for (int k = 0; k < kWords; ++k) disparities[2 * k] = disparity[k], greys[2 * k] = grey[k];
#pragma unroll
    for (int k = 1; k < kWindow; k += 2) {
      disparities[k] = __byte_perm(disparities[k - 1], disparities[k + 1], 0x5432);
      greys[k] = __byte_perm(greys[k - 1], greys[k + 1], 0x5432);
    }
  }
  /// Every number is a multiple of 1/16 below 128: exact.
  __device__ __forceinline__ void addTo(Vote& vote) const {
    const __half2 one = halves(0x3c003c00u);
#pragma unroll
    for (int k = 0; k < kWindow; ++k) {
      const __half2 weight = __hsub2_sat(one, magnitude(__hsub2(halves(greys[k]), vote.own)));
      vote.near = __hfma2(__hgt2(halves(disparities[k]), vote.middle), weight, vote.near);
      vote.all = __hadd2(vote.all, weight);
    }
  }
};

struct Tile {
  uint32_t disparities[kHaloHeight][kHaloWidth / 2], greys[kHaloHeight][kHaloWidth / 2];
  uint32_t lowest[kTileHeight][kHaloWidth / 2], highest[kTileHeight][kHaloWidth / 2];
  int16_t changed[kTileHeight * kTileWidth], middle[kTileHeight * kTileWidth];
  int changes;
};

__device__ __forceinline__ int16_t* row16(uint32_t* row) { return reinterpret_cast<int16_t*>(row); }
__device__ __forceinline__ const int16_t* row16(const uint32_t* row) { return reinterpret_cast<const int16_t*>(row); }

/// Finds the smallest and largest of nine rows around each pixel of a column.
__device__ __forceinline__ void extremesOfColumn(Tile& tile, int column) {
  int low[kHaloHeight], high[kHaloHeight];
#pragma unroll
  for (int y = 0; y < kHaloHeight; ++y) {
    high[y] = row16(tile.disparities[y])[column];
    low[y] = high[y] == kInvalid ? 32767 : high[y];
  }
  // All windows contain the rows 7 and 8: from there upwards, and from there downwards.
#pragma unroll
  for (int k = 1; k < kTileHeight; ++k) {
    low[kTileHeight - 1 - k] = min(low[kTileHeight - 1 - k], low[kTileHeight - k]);
    high[kTileHeight - 1 - k] = max(high[kTileHeight - 1 - k], high[kTileHeight - k]);
    low[kTileHeight + k] = min(low[kTileHeight + k], low[kTileHeight + k - 1]);
    high[kTileHeight + k] = max(high[kTileHeight + k], high[kTileHeight + k - 1]);
  }
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) {
    row16(tile.lowest[y])[column] = static_cast<int16_t>(min(low[y], low[y + kTileHeight]));
    row16(tile.highest[y])[column] = static_cast<int16_t>(max(high[y], high[y + kTileHeight]));
  }
}

/// Returns the smallest of the nine columns around each of two pixels; sign -1: the largest.
template <int kSign>
__device__ __forceinline__ void extremesOfRow(const uint32_t* words, int& first, int& second) {
  int common = 0, ends[2] = {};
#pragma unroll
  for (int k = 0; k < kWords; ++k) {
    const int low = lowHalf(words[k]), high = highHalf(words[k]);
    const auto meet = [](int a, int b) { return kSign > 0 ? min(a, b) : max(a, b); };
    if (k == 0) ends[0] = low, common = high;
    else if (k + 1 == kWords) ends[1] = high, common = meet(common, low);
    else common = meet(meet(common, low), high);
  }
  first = kSign > 0 ? min(common, ends[0]) : max(common, ends[0]);
  second = kSign > 0 ? min(common, ends[1]) : max(common, ends[1]);
}

/// Returns the vote of one pixel in integers, for disparities that half-precision numbers do not keep in order: > 0 for
/// near.
__device__ __noinline__ int voteInIntegers(const Tile& tile, int column, int row, int middle) {
  const int own = row16(tile.greys[row + kRadius])[column + kRadius] & 255;
  int vote = 0;
  for (int j = 0; j < kWindow; ++j) {
    for (int i = 0; i < kWindow; ++i) {
      const int d = row16(tile.disparities[row + j])[column + i];
      if (d == kInvalid) continue;
      const int weight = max(kBoundaryGrey - abs((row16(tile.greys[row + j])[column + i] & 255) - own), 0);
      vote += d > middle ? weight : -weight;
    }
  }
  return vote;
}

/// The images of a launch, and the places of a block's tile and a thread's pixels in them.
struct BoundaryPlace {
  int width, height;
  int lane, warp;
  int left, top;  ///< of the block's pixels
  int firstRow;   ///< of the thread's 2 x 2 pixels in the block, whose first column is 2 lane

  __device__ __forceinline__ BoundaryPlace(int imageWidth, int imageHeight)
      : width(imageWidth), height(imageHeight), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
        left(blockIdx.x * kTileWidth), top(blockIdx.y * kTileHeight), firstRow(kThreadRows * warp) {}
};

/// Loads disparities and grey values. Returns whether the thread read a disparity that half-precision numbers do not
/// keep in order.
__device__ __forceinline__ bool loadTile(Tile& tile, const BoundaryPlace& at, const uint8_t* grey,
                                         const int16_t* disparityQ4) {
  bool unordered = false;
#pragma unroll
  for (int c = 0; c < kHaloWidth; c += 32) {
    const int column = c + at.lane, x = min(max(at.left + column - kRadius, 0), at.width - 1);
    if (column >= kHaloWidth) continue;
#pragma unroll
    for (int r = 0; r < kHaloHeight; r += kBoundaryThreads / 32) {
      const int row = r + at.warp, y = min(max(at.top + row - kRadius, 0), at.height - 1);
      const size_t pixel = static_cast<size_t>(y) * at.width + x;
      const int d = disparityQ4[pixel];
      const uint32_t value = d == kInvalid ? kGreyNone : kGreyZero + grey[pixel];
      unordered = unordered || (d != kInvalid && (d < 0 || d >= kOrderedEnd));
      row16(tile.disparities[row])[column] = static_cast<int16_t>(d);
      row16(tile.greys[row])[column] = static_cast<int16_t>(value);
    }
  }
  return unordered;
}

/// A thread's 2 x 2 pixels.
struct Pixels {
  int centre[kThreadRows][2], middle[kThreadRows][2];  ///< disparity, and the threshold between near and far
  bool steps[kThreadRows][2], any = false;             ///< whether the pixel's window has a step; whether any has
  int votes[kThreadRows][2];                           ///< > 0 for near

  /// Finds the pixels at a step, and writes all of them unchanged.
  __device__ __forceinline__ void findSteps(const Tile& tile, const BoundaryPlace& at, int16_t* result) {
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      const uint32_t pair = tile.disparities[at.firstRow + r + kRadius][at.lane + kRadius / 2];
      centre[r][0] = lowHalf(pair), centre[r][1] = highHalf(pair);
      int lowest[2], highest[2];
      extremesOfRow<1>(&tile.lowest[at.firstRow + r][at.lane], lowest[0], lowest[1]);
      extremesOfRow<-1>(&tile.highest[at.firstRow + r][at.lane], highest[0], highest[1]);
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const bool inside = at.left + 2 * at.lane + p < at.width && at.top + at.firstRow + r < at.height;
        middle[r][p] = (lowest[p] + highest[p]) >> 1;
        steps[r][p] = inside && centre[r][p] != kInvalid && highest[p] - lowest[p] > kBoundaryStepQ4;
        any = any || steps[r][p];
        if (inside) {
          result[static_cast<size_t>(at.top + at.firstRow + r) * at.width + at.left + 2 * at.lane + p] =
              static_cast<int16_t>(centre[r][p]);
        }
      }
    }
  }

  /// Votes in half-precision numbers, each row of neighbours for both rows of pixels.
  __device__ __forceinline__ void countVotes(const Tile& tile, const BoundaryPlace& at) {
    Vote vote[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      vote[r].own = halves(tile.greys[at.firstRow + r + kRadius][at.lane + kRadius / 2]);
      vote[r].middle = halves(static_cast<uint32_t>(middle[r][0] & 0xffff) | static_cast<uint32_t>(middle[r][1]) << 16);
      vote[r].near = vote[r].all = halves(0);
    }
    WindowRow row;
    row.load(&tile.disparities[at.firstRow][at.lane], &tile.greys[at.firstRow][at.lane]);
    row.addTo(vote[0]);
#pragma unroll 1
    for (int j = 1; j < kWindow; ++j) {
      row.load(&tile.disparities[at.firstRow + j][at.lane], &tile.greys[at.firstRow + j][at.lane]);
      row.addTo(vote[0]);
      row.addTo(vote[1]);
    }
    row.load(&tile.disparities[at.firstRow + kWindow][at.lane], &tile.greys[at.firstRow + kWindow][at.lane]);
    row.addTo(vote[1]);
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      // Sums are not negative, so their bits have the same order.
      const uint32_t near = halfBits(vote[r].near), far = halfBits(__hsub2(vote[r].all, vote[r].near));
      votes[r][0] = lowHalf(near) - lowHalf(far), votes[r][1] = highHalf(near) - highHalf(far);
    }
  }

  __device__ __forceinline__ void countVotesInIntegers(const Tile& tile, const BoundaryPlace& at) {
    for (int r = 0; r < kThreadRows; ++r) {
      for (int p = 0; p < 2; ++p) votes[r][p] = voteInIntegers(tile, 2 * at.lane + p, at.firstRow + r, middle[r][p]);
    }
  }

  /// Adds the pixels whose vote went against their side to the tile's list.
  __device__ __forceinline__ void listChanges(Tile& tile, const BoundaryPlace& at) const {
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const bool near = centre[r][p] > middle[r][p];
        if (!steps[r][p] || votes[r][p] == 0 || (votes[r][p] > 0) == near) continue;
        const int entry = atomicAdd(&tile.changes, 1);
        tile.changed[entry] = static_cast<int16_t>((at.firstRow + r) * kTileWidth + 2 * at.lane + p);
        tile.middle[entry] = static_cast<int16_t>(middle[r][p]);
      }
    }
  }
};

/// Gives each listed pixel the disparity of the nearest pixel on the other side.
__device__ __forceinline__ void changeSides(const Tile& tile, const BoundaryPlace& at, const Places& places,
                                            int16_t* result) {
  for (int entry = threadIdx.x; entry < tile.changes; entry += kBoundaryThreads) {
    const int column = tile.changed[entry] % kTileWidth, row = tile.changed[entry] / kTileWidth;
    const int middle = tile.middle[entry];
    const bool near = row16(tile.disparities[row + kRadius])[column + kRadius] > middle;
    for (int k = 0; k < kPlaces; ++k) {
      const int i = places.x[k], j = places.y[k], x = at.left + column + i, y = at.top + row + j;
      if (x < 0 || x >= at.width || y < 0 || y >= at.height) continue;
      const int d = row16(tile.disparities[row + j + kRadius])[column + i + kRadius];
      if (d == kInvalid || (d > middle) == near) continue;
      result[static_cast<size_t>(at.top + row) * at.width + at.left + column] = static_cast<int16_t>(d);
      break;
    }
  }
}

__global__ void __launch_bounds__(kBoundaryThreads)
    boundaryKernel(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int width, int height,
                   Places places) {
  __shared__ Tile tile;
  const BoundaryPlace at(width, height);
  untilKernelBefore();
  if (threadIdx.x == 0) tile.changes = 0;
  const bool unordered = __syncthreads_or(loadTile(tile, at, grey, disparityQ4)) != 0;
  if (threadIdx.x < kHaloWidth) extremesOfColumn(tile, threadIdx.x);
  __syncthreads();

  Pixels pixels;
  pixels.findSteps(tile, at, result);
  if (pixels.any) {
    if (!unordered) pixels.countVotes(tile, at);
    else pixels.countVotesInIntegers(tile, at);
    pixels.listChanges(tile, at);
  }
  __syncthreads();
  changeSides(tile, at, places, result);
}

}  // namespace

Status boundary(const uint8_t* grey, const int16_t* disparityQ4, int16_t* result, int32_t width, int32_t height,
                cudaStream_t stream) {
  static const Places places = placesByDistance();
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(boundaryKernel));
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight);
  return launch("boundaryKernel", boundaryKernel, LaunchShape{grid, dim3(kBoundaryThreads), 0, stream, overlaps}, grey,
                disparityQ4, result, width, height, places);
}

}  // namespace gpu
}  // namespace depthwatt
