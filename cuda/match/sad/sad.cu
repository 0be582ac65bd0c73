// SPDX-License-Identifier: Apache-2.0
// Window SAD on CUDA; see sad.h. README.md has the counts.
//   sums     a block goes down kSadColumns columns for 128 disparities: a lane has four disparities of a column, whose sum it keeps in
//            registers and changes by the row that comes and the row that goes; windows then slide along the row through shared memory.
//   winners  a warp has a pixel at a time, and its disparities are the lanes'.
#include "../../gpu/check.h"
#include "../../gpu/traits.h"
#include "../hsv_pixel.cuh"
#include "sad_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kSadColumns = 64, kWarps = 8, kColumnsPerWarp = kSadColumns / kWarps;
constexpr int kLaneDisparities = 4, kGroup = 32 * kLaneDisparities;
/// Right pixels that a block's columns meet, a multiple of 4.
constexpr int kPartners = kSadColumns + kGroup;
/// Sums of a slab of rows are held at a time.
constexpr size_t kMaxSlabBytes = size_t{96} << 20;

struct SadArguments {
  const uint2 *left, *right;
  uint2* sums;
  int width, height, firstRow, endRow;  ///< of the slab
  int bandRows, groups, windowWidth, windowHeight, minDisparity;
};

struct SadRow {
  uint2 left[kSadColumns];
  uint2 right[4][kPartners / 4];  ///< [place % 4][place / 4], so that lanes four places apart meet no bank twice
};

/// Row y of both images as the block needs it. firstColumn may lie outside the image.
__device__ __forceinline__ void stage(SadRow& row, const SadArguments& a, int y, int firstColumn, int firstPartner) {
  const size_t start = static_cast<size_t>(min(max(y, 0), a.height - 1)) * a.width;
  for (int i = threadIdx.x; i < kPartners; i += 32 * kWarps) {
    row.right[i & 3][i >> 2] = a.right[start + min(max(firstPartner + i, 0), a.width - 1)];
    if (i < kSadColumns) row.left[i] = a.left[start + min(max(firstColumn + i, 0), a.width - 1)];
  }
}

/// Costs of the lane's disparities at the warp's column `i`: two words of two.
template <int kColumn>
__device__ __forceinline__ uint2 costsOf(const SadRow& row, int warp, int lane) {
  const uint2 own = row.left[warp * kColumnsPerWarp + kColumn];
  uint32_t cost[kLaneDisparities];
#pragma unroll
  for (int j = 0; j < kLaneDisparities; ++j) {
    // Place of the partner: column + kGroup - 1 - (4 lane + j). Columns of a warp begin at a multiple of 4.
    constexpr int kPast = kColumn + kGroup - 1;
    const int place = kPast - j, quarter = warp * kColumnsPerWarp / 4 + place / 4 - lane;
    cost[j] = min(plusDifferences(own, row.right[place & 3][quarter], 0u), static_cast<uint32_t>(kSadMostCost));
  }
  return make_uint2(cost[0] | cost[1] << 16, cost[2] | cost[3] << 16);
}

template <int kColumn>
struct EachColumn {
  static __device__ __forceinline__ void add(const SadRow& comes, const SadRow* goes, int warp, int lane,
                                             uint2* columns) {
    EachColumn<kColumn - 1>::add(comes, goes, warp, lane, columns);
    const uint2 more = costsOf<kColumn - 1>(comes, warp, lane);
    uint2 less = make_uint2(0, 0);
    if (goes != nullptr) less = costsOf<kColumn - 1>(*goes, warp, lane);
    // No half borrows from the other in the end: both are sums of costs.
    columns[kColumn - 1].x += more.x - less.x;
    columns[kColumn - 1].y += more.y - less.y;
  }
};
template <>
struct EachColumn<0> {
  static __device__ __forceinline__ void add(const SadRow&, const SadRow*, int, int, uint2*) {}
};

__global__ void __launch_bounds__(32 * kWarps) sadSumsKernel(SadArguments a) {
  __shared__ SadRow rows[2][2];  // [turn][comes, goes]
  __shared__ uint2 shared[2][kSadColumns][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int reachX = a.windowWidth / 2, reachY = a.windowHeight / 2;
  const int pixels = kSadColumns - 2 * reachX, firstPixel = blockIdx.x * pixels, firstColumn = firstPixel - reachX;
  const int firstRow = a.firstRow + blockIdx.y * a.bandRows, endRow = min(firstRow + a.bandRows, a.endRow);
  const int firstPartner = firstColumn - (a.minDisparity + static_cast<int>(blockIdx.z) * kGroup) - (kGroup - 1);
  const int perWarp = (pixels + kWarps - 1) / kWarps;
  const int from = warp * perWarp, to = min(from + perWarp, min(pixels, a.width - firstPixel));
  // Columns outside the image hold nothing; the nearest inside stands for them.
  const int lowest = max(-firstColumn, 0), highest = min(a.width - 1 - firstColumn, kSadColumns - 1);

  uint2 columns[kColumnsPerWarp];
#pragma unroll
  for (int i = 0; i < kColumnsPerWarp; ++i) columns[i] = make_uint2(0, 0);
  stage(rows[0][0], a, firstRow - reachY, firstColumn, firstPartner);
  __syncthreads();
  int turn = 0;
  for (int row = firstRow - reachY; row < endRow + reachY; ++row, turn ^= 1) {
    const bool full = row - a.windowHeight >= firstRow - reachY;
    EachColumn<kColumnsPerWarp>::add(rows[turn][0], full ? &rows[turn][1] : nullptr, warp, lane, columns);
#pragma unroll
    for (int i = 0; i < kColumnsPerWarp; ++i) shared[turn][warp * kColumnsPerWarp + i][lane] = columns[i];
    if (row + 1 < endRow + reachY) {
      stage(rows[turn ^ 1][0], a, row + 1, firstColumn, firstPartner);
      if (row + 1 - a.windowHeight >= firstRow - reachY)
        stage(rows[turn ^ 1][1], a, row + 1 - a.windowHeight, firstColumn, firstPartner);
    }
    __syncthreads();
    const int y = row - reachY;
    if (y < firstRow || from >= to) continue;
    const auto at = [&](int column) { return shared[turn][min(max(column, lowest), highest)][lane]; };
    uint2 sum = make_uint2(0, 0);
    for (int i = 0; i < a.windowWidth; ++i) {
      const uint2 one = at(from + i);
      sum.x += one.x, sum.y += one.y;
    }
    uint2* out = a.sums +
                 ((static_cast<size_t>(y - a.firstRow) * a.width + firstPixel + from) * a.groups + blockIdx.z) * 32 +
                 lane;
    *out = sum;
    for (int x = from + 1; x < to; ++x) {
      const uint2 comes = at(x + 2 * reachX), goes = at(x - 1);
      sum.x += comes.x - goes.x, sum.y += comes.y - goes.y;
      out += a.groups * 32;
      *out = sum;
    }
  }
}

struct SadWinnerArguments {
  const uint2* sums;
  SadDeviceResult result;
  int width, firstRow, groups, minDisparity, numDisparities;
  bool subpixel;
};

constexpr uint32_t kNoKey = 0xffffffffu;

/// A sum above its place: the least key is the lowest disparity of the least sum.
__device__ __forceinline__ uint32_t keyOf(uint2 word, int j, int place, int end) {
  const uint32_t pair = j < 2 ? word.x : word.y, sum = j % 2 == 0 ? pair & 0xffffu : pair >> 16;
  return place < end ? sum << 16 | static_cast<uint32_t>(place) : kNoKey;
}

/// 16 times the parabola's place between cells below, best and above, rounded down: match/select's rule.
__device__ int32_t sadFractionQ4(int32_t below, int32_t best, int32_t above) {
  const int32_t q = below + above - 2 * best;
  if (q <= 0) return 0;
  // 8 is added and taken off again: of a positive quotient, truncation is the floor.
  return (16 * (below - above) + 17 * q) / (2 * q) - 8;
}

/// A block is a row of the slab; a warp takes 32 pixels after 32 pixels.
__global__ void __launch_bounds__(256) sadWinnersKernel(SadWinnerArguments a) {
  extern __shared__ __align__(16) uint32_t rightKeys[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x;
  const bool wantsRight = a.result.rightDisparity != nullptr;
  if (wantsRight) {
    for (int x = threadIdx.x; x < a.width; x += blockDim.x) rightKeys[x] = kNoKey;
    __syncthreads();
  }
  const size_t perPixel = static_cast<size_t>(a.groups) * 32;
  const uint2* rowSums = a.sums + static_cast<size_t>(row) * a.width * perPixel;
  const size_t start = static_cast<size_t>(a.firstRow + row) * a.width;
  for (int first = 32 * warp; first < a.width; first += blockDim.x) {
    uint32_t ownBest = kNoKey, ownSecond = kNoKey;
    const int count = min(32, a.width - first);
    for (int i = 0; i < count; ++i) {
      const int x = first + i;
      const uint2* sums = rowSums + static_cast<size_t>(x) * perPixel + lane;
      uint32_t best = kNoKey;
      for (int group = 0; group < a.groups; ++group) {
        const uint2 word = sums[32 * group];
#pragma unroll
        for (int j = 0; j < kLaneDisparities; ++j) {
          const int place = group * kGroup + kLaneDisparities * lane + j;
          const uint32_t key = keyOf(word, j, place, a.numDisparities);
          best = min(best, key);
          const int partner = x - a.minDisparity - place;
          if (wantsRight && key != kNoKey && partner >= 0) atomicMin(&rightKeys[partner], key);
        }
      }
      best = warpMin(best);
      const int winner = static_cast<int>(best & 0xffffu);
      uint32_t second = kNoKey;
      for (int group = 0; group < a.groups; ++group) {
        const uint2 word = sums[32 * group];
#pragma unroll
        for (int j = 0; j < kLaneDisparities; ++j) {
          const int place = group * kGroup + kLaneDisparities * lane + j;
          if (abs(place - winner) > 1) second = min(second, keyOf(word, j, place, a.numDisparities));
        }
      }
      second = warpMin(second);
      if (lane == i) ownBest = best, ownSecond = second;
    }
    if (lane < count) {
      const int x = first + lane, place = static_cast<int>(ownBest & 0xffffu), least = static_cast<int>(ownBest >> 16);
      const auto* cells = reinterpret_cast<const uint16_t*>(rowSums + static_cast<size_t>(x) * perPixel);
      int fine = 0;
      if (a.subpixel && place > 0 && place + 1 < a.numDisparities)
        fine = sadFractionQ4(cells[place - 1], least, cells[place + 1]);
      const int second = static_cast<int>(ownSecond >> 16);
      const bool rivalled = ownSecond != kNoKey;
      a.result.disparity[start + x] = static_cast<int16_t>(a.minDisparity + place);
      a.result.disparityQ4[start + x] = static_cast<int16_t>(16 * (a.minDisparity + place) + fine);
      a.result.confidence[start + x] =
          rivalled ? static_cast<uint8_t>(255 * (second - least) / max(second, 1)) : uint8_t{0};
    }
  }
  if (!wantsRight) return;
  __syncthreads();
  for (int x = threadIdx.x; x < a.width; x += blockDim.x) {
    const uint32_t key = rightKeys[x];
    a.result.rightDisparity[start + x] =
        key == kNoKey ? kInvalidDisparity : static_cast<int16_t>(a.minDisparity + static_cast<int>(key & 0xffffu));
  }
}

}  // namespace

Status SadWorkspace::open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                          const SadTuning& tuning) {
  p_ = parameters;
  width_ = width, height_ = height;
  groups_ = (p_.numDisparities + kGroup - 1) / kGroup;
  const size_t rowWords = static_cast<size_t>(width) * groups_ * 32;
  slabRows_ = tuning.slabRows > 0 ? tuning.slabRows : static_cast<int32_t>(kMaxSlabBytes / (rowWords * sizeof(uint2)));
  slabRows_ = slabRows_ < 1 ? 1 : slabRows_ < height ? slabRows_ : height;
  bandRows_ = tuning.bandRows;
  if (bandRows_ <= 0) {
    // The fewest rows that one multiprocessor goes through, with two blocks or more on each where there are as many.
    int device = 0, multiprocessors = 1;
    DEPTHWATT_CUDA(cudaGetDevice(&device));
    DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    const int32_t pixels = kSadColumns - 2 * (p_.windowWidth / 2);
    const int64_t across = static_cast<int64_t>((width + pixels - 1) / pixels) * groups_;
    int64_t least = -1;
    for (int32_t rows = 8; rows <= 64; ++rows) {
      const int64_t blocks = across * ((slabRows_ + rows - 1) / rows);
      int64_t rounds = (blocks + multiprocessors - 1) / multiprocessors;
      if (rounds < 2) rounds = 2;
      const int64_t work = rounds * (rows + p_.windowHeight - 1);
      if (least < 0 || work < least) least = work, bandRows_ = rows;
    }
  }
  keysBytes_ = wantsRight ? static_cast<size_t>(width) * sizeof(uint32_t) : 0;
  if (keysBytes_ > 48 * 1024) {
    DEPTHWATT_TRY(
        cudaStatus(cudaFuncSetAttribute(reinterpret_cast<const void*>(sadWinnersKernel),
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(keysBytes_)),
                   "shared memory of a row's right winners"));
  }
  return sums_.allocate(rowWords * static_cast<size_t>(slabRows_));
}

Status SadWorkspace::compute(const HsvPixel* left, const HsvPixel* right, const SadDeviceResult& result,
                             cudaStream_t stream) {
  const int32_t pixels = kSadColumns - 2 * (p_.windowWidth / 2);
  for (int32_t first = 0; first < height_; first += slabRows_) {
    SadArguments a = {};
    a.left = reinterpret_cast<const uint2*>(left), a.right = reinterpret_cast<const uint2*>(right);
    a.sums = sums_.get();
    a.width = width_, a.height = height_, a.firstRow = first;
    a.endRow = first + slabRows_ < height_ ? first + slabRows_ : height_;
    a.bandRows = bandRows_, a.groups = groups_;
    a.windowWidth = p_.windowWidth, a.windowHeight = p_.windowHeight, a.minDisparity = p_.minDisparity;
    const int32_t rows = a.endRow - first;
    const dim3 grid((width_ + pixels - 1) / pixels, (rows + bandRows_ - 1) / bandRows_, groups_);
    sadSumsKernel<<<grid, 32 * kWarps, 0, stream>>>(a);
    DEPTHWATT_TRY(launched("sadSumsKernel"));
    SadWinnerArguments w = {};
    w.sums = sums_.get();
    w.result = result;
    w.width = width_, w.firstRow = first, w.groups = groups_;
    w.minDisparity = p_.minDisparity, w.numDisparities = p_.numDisparities, w.subpixel = p_.subpixel;
    sadWinnersKernel<<<rows, 256, keysBytes_, stream>>>(w);
    DEPTHWATT_TRY(launched("sadWinnersKernel"));
  }
  return {};
}

}  // namespace gpu
}  // namespace depthwatt
