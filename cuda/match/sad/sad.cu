// SPDX-License-Identifier: Apache-2.0
// Window SAD on CUDA; see sad.h. sad_columns.cuh or sad_ring.cuh sums the windows.
//   up to kGroup disparities: one kernel, which chooses winners from the last sum. The right image's winners are merged in memory, as
//                             keys; a second kernel turns them into disparities. If shared memory holds a window's rows of costs
//                             (sad_ring.cuh), each cost is computed once, else when its row enters and leaves the window.
//   more                      sums are stored, slab by slab, and a second kernel chooses.
#include "../../device/check.h"
#include "sad_ring.cuh"
#include "sad_winners.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// The size of the sums of a slab of rows.
constexpr size_t kMaxSlabBytes = size_t{96} << 20;

template <bool kRight>
__global__ void __launch_bounds__(32 * kSadWarps, sadBlocks(kRight)) sadKernel(SadArguments a) {
  __shared__ SadShared shared;
  __shared__ uint32_t rightKeys[2][4][kPartners / 4];  // [turn]
  const SadPlace at(a);
  if (kRight) {
    for (int i = threadIdx.x; i < 2 * kPartners; i += 32 * kSadWarps) (&rightKeys[0][0][0])[i] = kNoKey;
  }
  SadFound found;
  int lastTurn = -1;
  eachSadRow(shared, a, at, [&](int turn, int y) {
    // The previous row's keys: all warps of the block are past it.
    if (kRight && lastTurn >= 0) giveRightKeys(a, at, y - 1, rightKeys[lastTurn]);
    lastTurn = turn;
    sadRowWinners<kRight>(shared.columns[turn], a, at, y, rightKeys[turn], found);
  });
  writeFound(a, at, found);
  if (!kRight || lastTurn < 0) return;
  __syncthreads();
  giveRightKeys(a, at, at.endRow - 1, rightKeys[lastTurn]);
}

/// Turns keys of the right image's winners into disparities, and clears the memory for the next frame.
__global__ void __launch_bounds__(256)
    sadRightKernel(uint32_t* keys, int16_t* disparity, int pixels, int minDisparity) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  const uint32_t key = keys[i];
  keys[i] = kNoKey;
  disparity[i] =
      key == kNoKey ? kInvalidDisparity : static_cast<int16_t>(minDisparity + static_cast<int>(key & 0xffffu));
}

__global__ void __launch_bounds__(32 * kSadWarps) sadSumsKernel(SadArguments a) {
  __shared__ SadShared shared;
  const SadPlace at(a);
  eachSadRow(shared, a, at, [&](int turn, int y) {
    if (at.from >= at.to) return;
    SadWindow window(shared.columns[turn], at, a.windowWidth);
    uint2* out =
        a.sums +
        ((static_cast<size_t>(y - a.firstRow) * a.width + at.firstPixel + at.from) * a.groups + blockIdx.z) * 32 +
        at.lane;
    *out = window.sum;
    for (int x = at.from + 1; x < at.to; ++x) {
      window.slide(x);
      out += a.groups * 32;
      *out = window.sum;
    }
  });
}

struct SadWinnerArguments {
  const uint2* sums;
  SadDeviceResult result;
  int width, firstRow, groups, minDisparity, numDisparities;
  bool subpixel;
};

/// Returns a sum above its place: the smallest key is the lowest disparity of the smallest sum.
__device__ __forceinline__ uint32_t packKey(uint2 word, int j, int place, int end) {
  const uint32_t pair = j < 2 ? word.x : word.y, sum = j % 2 == 0 ? pair & 0xffffu : pair >> 16;
  return place < end ? sum << 16 | static_cast<uint32_t>(place) : kNoKey;
}

/// A block processes a row of the slab; a warp takes 32 pixels at a time.
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
          const uint32_t key = packKey(word, j, place, a.numDisparities);
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
          if (abs(place - winner) > 1) second = min(second, packKey(word, j, place, a.numDisparities));
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
      const bool hasSecond = ownSecond != kNoKey;
      a.result.disparity[start + x] = static_cast<int16_t>(a.minDisparity + place);
      a.result.disparityQ4[start + x] = static_cast<int16_t>(16 * (a.minDisparity + place) + fine);
      a.result.confidence[start + x] =
          hasSecond ? static_cast<uint8_t>(255 * (second - least) / max(second, 1)) : uint8_t{0};
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

using SadKernel = void (*)(SadArguments);
SadKernel chooseRingKernel(const SadParameters& p, int pixels, bool right) {
  if (pixels > kRingPixels) return right ? sadRingKernel<true, true, true> : sadRingKernel<false, true, true>;
  if (p.windowWidth == 9) return right ? sadRingKernel<true, true, false> : sadRingKernel<false, true, false>;
  return right ? sadRingKernel<true, false, false> : sadRingKernel<false, false, false>;
}

/// Returns whether blocks of kWideRingPixels have fewer warps in total.
bool wideRingPays(int width) {
  const auto warps = [width](int pixels) { return (width + pixels - 1) / pixels * sadRingWarps(pixels, 9); };
  return warps(kWideRingPixels) <= warps(kRingPixels);
}

}  // namespace

Status SadWorkspace::open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight,
                          const SadTuning& tuning) {
  p_ = parameters;
  width_ = width, height_ = height;
  groups_ = (p_.numDisparities + kGroup - 1) / kGroup;
  stored_ = groups_ > 1 || tuning.stored;
  const size_t rowWords = static_cast<size_t>(width) * groups_ * 32;
  slabRows_ = height;
  if (stored_) {
    slabRows_ =
        tuning.slabRows > 0 ? tuning.slabRows : static_cast<int32_t>(kMaxSlabBytes / (rowWords * sizeof(uint2)));
    slabRows_ = slabRows_ < 1 ? 1 : slabRows_ < height ? slabRows_ : height;
  }
  int device = 0, multiprocessors = 1, shared = 0, sharedOfOne = 0, major = 0;
  DEPTHWATT_CUDA(cudaGetDevice(&device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&sharedOfOne, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  DEPTHWATT_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  ringBytes_ = 0;
  ringPixels_ = kRingPixels;
  if (!stored_ && tuning.ring != 0 && major >= 7) {
    const size_t wideBytes = sadRingBytes(p_, kWideRingPixels, wantsRight);
    // 64 bytes of static shared memory come on top.
    const bool wideFits = p_.windowWidth == 9 && sadRingSuits(major) && wideBytes + 64 <= static_cast<size_t>(shared);
    // Two blocks must fit a multiprocessor, or one on request; CUDA reserves a kilobyte for each.
    const size_t bytes = sadRingBytes(p_, kRingPixels, wantsRight);
    if (wideFits && (tuning.ring == 2 || (tuning.ring < 0 && wideRingPays(width)))) {
      ringBytes_ = wideBytes, ringPixels_ = kWideRingPixels;
    } else if (bytes <= static_cast<size_t>(shared) &&
               (tuning.ring > 0 ||
                (sadRingSuits(major) && 2 * (bytes + 1024 + 64) <= static_cast<size_t>(sharedOfOne)))) {
      ringBytes_ = bytes;
    }
  }
  if (ringBytes_ > 48 * 1024) {
    DEPTHWATT_TRY(
        cudaStatus(cudaFuncSetAttribute(reinterpret_cast<const void*>(chooseRingKernel(p_, ringPixels_, wantsRight)),
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(ringBytes_)),
                   "shared memory of costs"));
  }
  bandRows_ = tuning.bandRows;
  if (bandRows_ <= 0) {
    // Choose the fewest rows per multiprocessor, with this many blocks or more on each if there are enough. A row whose
    // windows are not complete yet takes less time: a half if sums are stored, a quarter if winners are chosen.
    const bool wide = ringPixels_ > kRingPixels;
    const int64_t together = wide                                      ? 1
                             : stored_ || wantsRight || ringBytes_ > 0 ? 2
                                                                       : 3,
                  share = stored_ || ringBytes_ > 0 ? 2 : 4;
    const int32_t pixels = ringBytes_ > 0 ? ringPixels_ : kSadColumns - 2 * (p_.windowWidth / 2);
    const int64_t across = static_cast<int64_t>((width + pixels - 1) / pixels) * groups_;
    int64_t least = -1;
    for (int32_t rows = 8; rows <= 64; ++rows) {
      const int64_t blocks = across * ((slabRows_ + rows - 1) / rows);
      int64_t rounds = (blocks + multiprocessors - 1) / multiprocessors;
      if (rounds < together) rounds = together;
      const int64_t work = rounds * (share * rows + p_.windowHeight - 1);
      if (least < 0 || work < least) least = work, bandRows_ = rows;
    }
  }
  if (!stored_) {
    if (!wantsRight) return {};
    DEPTHWATT_TRY(rightKeys_.allocate(static_cast<size_t>(width) * height));
    return cudaStatus(cudaMemset(rightKeys_.get(), 0xff, rightKeys_.bytes()), "keys of the right image's winners");
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
  SadArguments a = {};
  a.left = reinterpret_cast<const uint2*>(left), a.right = reinterpret_cast<const uint2*>(right);
  a.sums = sums_.get();
  a.result = result;
  a.rightKeys = rightKeys_.get();
  a.width = width_, a.height = height_;
  a.bandRows = bandRows_, a.groups = groups_;
  a.windowWidth = p_.windowWidth, a.windowHeight = p_.windowHeight;
  a.minDisparity = p_.minDisparity, a.numDisparities = p_.numDisparities, a.subpixel = p_.subpixel;
  for (int32_t first = 0; first < height_; first += slabRows_) {
    a.firstRow = first;
    a.endRow = first + slabRows_ < height_ ? first + slabRows_ : height_;
    const int32_t rows = a.endRow - first;
    const dim3 grid((width_ + pixels - 1) / pixels, (rows + bandRows_ - 1) / bandRows_, groups_);
    if (!stored_) {
      if (ringBytes_ > 0) {
        const dim3 ringGrid((width_ + ringPixels_ - 1) / ringPixels_, grid.y);
        const SadKernel kernel = chooseRingKernel(p_, ringPixels_, result.rightDisparity != nullptr);
        const int threads = 32 * sadRingWarps(ringPixels_, p_.windowWidth);
        kernel<<<ringGrid, threads, ringBytes_, stream>>>(a);
        DEPTHWATT_TRY(launched("sadRingKernel"));
      } else if (result.rightDisparity == nullptr) {
        sadKernel<false><<<grid, 32 * kSadWarps, 0, stream>>>(a);
        DEPTHWATT_TRY(launched("sadKernel"));
      } else {
        sadKernel<true><<<grid, 32 * kSadWarps, 0, stream>>>(a);
        DEPTHWATT_TRY(launched("sadKernel"));
      }
      if (result.rightDisparity == nullptr) return {};
      const int32_t all = width_ * height_;
      sadRightKernel<<<(all + 255) / 256, 256, 0, stream>>>(rightKeys_.get(), result.rightDisparity, all,
                                                            p_.minDisparity);
      return launched("sadRightKernel");
    }
    sadSumsKernel<<<grid, 32 * kSadWarps, 0, stream>>>(a);
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
