// SPDX-License-Identifier: Apache-2.0
// The row-by-row code of both forms of sad.cu: a block goes down kSadColumns columns for 128 disparities. A lane has
// four disparities of eight columns; it keeps their sums over the window's height in registers, adds the new row and
// subtracts the old one. Then windows slide along the row through shared memory.
#pragma once

#include "../../device/traits.h"
#include "../hsv_pixel.cuh"
#include "sad_workspace.h"

namespace depthwatt {
namespace gpu {

constexpr int kSadColumns = 64, kSadWarps = 8, kColumnsPerWarp = kSadColumns / kSadWarps;
constexpr int kLaneDisparities = 4, kGroup = 32 * kLaneDisparities;
/// The right pixels that a block's columns are compared with, a multiple of 4.
constexpr int kPartners = kSadColumns + kGroup;
/// Above every sum with its place: the largest sum is 57375.
constexpr uint32_t kNoKey = 0xffffffffu;

struct SadArguments {
  const uint2 *left, *right;
  uint2* sums;                          ///< of the slab; the form that stores them
  SadDeviceResult result;               ///< the other form
  uint32_t* rightKeys;                  ///< the other form: [height][width], kNoKey between frames
  int width, height, firstRow, endRow;  ///< rows of the slab
  int bandRows, groups, windowWidth, windowHeight, minDisparity, numDisparities;
  bool subpixel;
};

struct SadRow {
  uint2 left[kSadColumns];
  uint2 right[4][kPartners / 4];  ///< [place % 4][place / 4], so that lanes four places apart have no bank conflict
};

/// The place of a block and its warps in the image.
struct SadPlace {
  int warp, lane, reachX, reachY, pixels, firstPixel, firstColumn, firstRow, endRow, firstPartner;
  int from, to;  ///< the warp's pixels, from the block's first on
  // Columns outside the image are empty; the nearest inside replaces them.
  int lowest, highest;

  __device__ explicit SadPlace(const SadArguments& a)
      : warp(threadIdx.x / 32), lane(threadIdx.x % 32), reachX(a.windowWidth / 2), reachY(a.windowHeight / 2),
        pixels(kSadColumns - 2 * reachX), firstPixel(blockIdx.x * pixels), firstColumn(firstPixel - reachX),
        firstRow(a.firstRow + blockIdx.y * a.bandRows), endRow(min(firstRow + a.bandRows, a.endRow)),
        firstPartner(firstColumn - (a.minDisparity + static_cast<int>(blockIdx.z) * kGroup) - (kGroup - 1)) {
    const int perWarp = (pixels + kSadWarps - 1) / kSadWarps;
    from = warp * perWarp, to = min(from + perWarp, min(pixels, a.width - firstPixel));
    lowest = max(-firstColumn, 0), highest = min(a.width - 1 - firstColumn, kSadColumns - 1);
  }
};

/// Copies row y of both images as the block needs it. The block's first column may be outside the image.
__device__ __forceinline__ void stage(SadRow& row, const SadArguments& a, const SadPlace& at, int y) {
  const size_t start = static_cast<size_t>(min(max(y, 0), a.height - 1)) * a.width;
  for (int i = threadIdx.x; i < kPartners; i += 32 * kSadWarps) {
    row.right[i & 3][i >> 2] = a.right[start + min(max(at.firstPartner + i, 0), a.width - 1)];
    if (i < kSadColumns) row.left[i] = a.left[start + min(max(at.firstColumn + i, 0), a.width - 1)];
  }
}

/// Computes the costs of the lane's disparities at the warp's columns, and passes on two words of two per column.
template <class Use>
__device__ __forceinline__ void eachColumnsCosts(const SadRow& row, int warp, int lane, const Use& use) {
  // Place of a partner: column + kGroup - 1 - (4 lane + j). Columns of a warp start at a multiple of 4. Columns share
  // partners: 11 are read for 8.
  constexpr int kFirst = kGroup - kLaneDisparities, kRead = kColumnsPerWarp + kLaneDisparities - 1;
  static_assert(kFirst % 4 == 0 && kColumnsPerWarp % 4 == 0, "places begin at a multiple of 4");
  const int quarter = (warp * kColumnsPerWarp + kFirst) / 4 - lane;
  uint2 right[kRead];
#pragma unroll
  for (int i = 0; i < kRead; ++i) right[i] = row.right[i % 4][quarter + i / 4];
#pragma unroll
  for (int column = 0; column < kColumnsPerWarp; ++column) {
    const uint2 own = row.left[warp * kColumnsPerWarp + column];
    uint32_t cost[kLaneDisparities];
#pragma unroll
    for (int j = 0; j < kLaneDisparities; ++j)
      cost[j] = plusDifferences(own, right[column + kLaneDisparities - 1 - j], 0u);
    // Differences are at most 1530, which every form of cells holds exactly.
    const uint32_t maxCost = Cell::pair(static_cast<uint32_t>(kSadMaxCost));
    use(column,
        make_uint2(Cell::min(packPair(cost[0], cost[1]), maxCost), Cell::min(packPair(cost[2], cost[3]), maxCost)));
  }
}

/// Adds the new row to the columns' sums and subtracts the old one (none: nullptr).
__device__ __forceinline__ void addRows(const SadRow& entering, const SadRow* leaving, int warp, int lane,
                                        uint2* columns) {
  eachColumnsCosts(entering, warp, lane, [&](int column, uint2 more) {
    columns[column].x += more.x;
    columns[column].y += more.y;
  });
  if (leaving == nullptr) return;
  // No half borrows from the other in the end, because both are sums of costs.
  eachColumnsCosts(*leaving, warp, lane, [&](int column, uint2 less) {
    columns[column].x -= less.x;
    columns[column].y -= less.y;
  });
}

/// The sums of the block's columns over the window's height, readable by every lane.
typedef uint2 SadColumnSums[kSadColumns][32];

/// The sum over the warp's first window; slide() moves it one pixel on.
struct SadWindow {
  const SadColumnSums& columns;
  const SadPlace& at;
  uint2 sum;

  __device__ __forceinline__ uint2 column(int i) const { return columns[min(max(i, at.lowest), at.highest)][at.lane]; }
  __device__ __forceinline__ SadWindow(const SadColumnSums& sums, const SadPlace& place, int windowWidth)
      : columns(sums), at(place), sum(make_uint2(0, 0)) {
    for (int i = 0; i < windowWidth; ++i) {
      const uint2 one = column(at.from + i);
      sum.x += one.x, sum.y += one.y;
    }
  }
  /// Moves to pixel x of the block.
  __device__ __forceinline__ void slide(int x) {
    const uint2 entering = column(x + 2 * at.reachX), leaving = column(x - 1);
    sum.x += entering.x - leaving.x, sum.y += entering.y - leaving.y;
  }
};

/// Shared memory of both forms. [turn][new row, old row]
struct SadShared {
  SadRow rows[2][2];
  SadColumnSums columns[2];
};

/// Processes every row of the block's band: calls row(turn, y) when the windows of image row y can be summed from
/// shared.columns[turn].
template <class Row>
__device__ __forceinline__ void eachSadRow(SadShared& shared, const SadArguments& a, const SadPlace& at,
                                           const Row& row) {
  uint2 columns[kColumnsPerWarp];
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) columns[i] = make_uint2(0, 0);
  stage(shared.rows[0][0], a, at, at.firstRow - at.reachY);
  __syncthreads();
  int turn = 0;
  for (int y = at.firstRow - at.reachY; y < at.endRow + at.reachY; ++y, turn ^= 1) {
    const bool full = y - a.windowHeight >= at.firstRow - at.reachY;
    addRows(shared.rows[turn][0], full ? &shared.rows[turn][1] : nullptr, at.warp, at.lane, columns);
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) shared.columns[turn][at.warp * kColumnsPerWarp + i][at.lane] = columns[i];
    if (y + 1 < at.endRow + at.reachY) {
      stage(shared.rows[turn ^ 1][0], a, at, y + 1);
      if (y + 1 - a.windowHeight >= at.firstRow - at.reachY)
        stage(shared.rows[turn ^ 1][1], a, at, y + 1 - a.windowHeight);
    }
    __syncthreads();
    if (y - at.reachY >= at.firstRow) row(turn, y - at.reachY);
  }
}

/// Returns 16 times the vertex of the parabola through below, best and above, rounded down: match/select's rule.
__device__ __forceinline__ int32_t sadFractionQ4(int32_t below, int32_t best, int32_t above) {
  const int32_t q = below + above - 2 * best;
  if (q <= 0) return 0;
  // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
  return (16 * (below - above) + 17 * q) / (2 * q) - 8;
}

}  // namespace gpu
}  // namespace depthwatt
