// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD on CUDA; see pyramid.h. At the coarsest level a warp computes one pixel and its lanes are disparities.
// Below it a thread computes one pixel and its four candidates, which share what it reads of both images.
#include "../../device/check.h"
#include "../../device/traits.h"
#include "../hsv_pixel.cuh"
#include "pyramid_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr uint32_t kNoSum = 0x7fffffffu;

struct HalveArguments {
  const uint2 *left, *right;
  uint2 *leftOut, *rightOut;
  int inWidth, inHeight, width, height;
  uint32_t factor;  ///< eighths: 3 from the image, 2 from a copy
};

/// Returns a channel of a copy: the mean of four pixels in the copy's units, half up.
__device__ __forceinline__ uint32_t copied(uint32_t sum, uint32_t factor) { return (sum * factor + 4) >> 3; }

__device__ __forceinline__ uint32_t byteFrom(uint32_t total, uint32_t before) {
  return min(255u, total > before ? total - before : 0u);
}

__global__ void __launch_bounds__(256) pyramidHalveKernel(HalveArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const uint2* in = blockIdx.z == 0 ? a.left : a.right;
  const uint2* above = in + static_cast<size_t>(2 * y) * a.inWidth;
  const uint2* below = in + static_cast<size_t>(min(2 * y + 1, a.inHeight - 1)) * a.inWidth;
  const int left = 2 * x, right = min(2 * x + 1, a.inWidth - 1);
  const uint2 of[4] = {above[left], above[right], below[left], below[right]};
  // Sums of bytes 0 and 2, and of 1 and 3, of each word. The words hold: hue across, hue down, saturation twice; value
  // twice, saturation's third byte, value's third byte.
  uint32_t xEven = 0, xOdd = 0, yEven = 0, yOdd = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    xEven += of[k].x & 0xff00ffu, xOdd += of[k].x >> 8 & 0xff00ffu;
    yEven += of[k].y & 0xff00ffu, yOdd += of[k].y >> 8 & 0xff00ffu;
  }
  const uint32_t across = copied(xEven & 0xffffu, a.factor), down = copied(xOdd & 0xffffu, a.factor);
  const uint32_t saturation = copied((xEven >> 16) + (xOdd >> 16) + (yEven >> 16), a.factor);
  const uint32_t value = copied((yEven & 0xffffu) + (yOdd & 0xffffu) + (yOdd >> 16), a.factor);
  (blockIdx.z == 0 ? a.leftOut : a.rightOut)[static_cast<size_t>(y) * a.width + x] =
      make_uint2(packBytes(byteFrom(across, 0), byteFrom(down, 0), byteFrom(saturation, 0), byteFrom(saturation, 255)),
                 packBytes(byteFrom(value, 0), byteFrom(value, 255), byteFrom(saturation, 510), byteFrom(value, 510)));
}

struct PyramidArguments {
  const uint2 *own, *partner;
  const int16_t* coarse;  ///< disparities of the level above, coarseWidth wide
  int16_t* whole;
  int16_t* q4;          ///< null except at level 0 of the left image
  uint8_t* confidence;  ///< null like q4
  int width, height, coarseWidth;
  int windowWidth, windowHeight, towards, lowest, highest, peakRatio;
  bool subpixel;
};

__global__ void __launch_bounds__(256) pyramidCoarsestKernel(PyramidArguments a) {
  const int lane = threadIdx.x % 32;
  const long long pixel = static_cast<long long>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (pixel >= static_cast<long long>(a.width) * a.height) return;
  const int x = static_cast<int>(pixel % a.width), y = static_cast<int>(pixel / a.width);
  const int reachX = a.windowWidth / 2, reachY = a.windowHeight / 2, last = a.width - 1;
  // A key is the sum above the distance from the highest disparity: the smallest key is the highest disparity of the
  // smallest sum.
  uint32_t best = 0xffffffffu;
  for (int first = a.lowest; first <= a.highest; first += 32) {
    const int d = first + lane;
    uint32_t sum = 0;
    for (int j = -reachY; j <= reachY; ++j) {
      const size_t start = static_cast<size_t>(min(max(y + j, 0), a.height - 1)) * a.width;
      for (int i = -reachX; i <= reachX; ++i) {
        const uint2 own = a.own[start + min(max(x + i, 0), last)];
        sum = plusDifferences(own, a.partner[start + min(max(x + i + a.towards * d, 0), last)], sum);
      }
    }
    if (d <= a.highest) best = min(best, sum << 12 | static_cast<uint32_t>(a.highest - d));
  }
  best = warpMin(best);
  if (lane == 0) a.whole[pixel] = static_cast<int16_t>(a.highest - static_cast<int>(best & 0xfffu));
}

/// Sums the four candidates, by how far their partners are right of the first one's. kSide: of a square window, or 0.
/// kInside: no coordinate along x leaves the image.
template <int kSide, bool kInside>
__device__ __forceinline__ void candidateSums(const PyramidArguments& a, int x, int y, int firstPartner,
                                              uint32_t* sums) {
  const int windowWidth = kSide > 0 ? kSide : a.windowWidth, windowHeight = kSide > 0 ? kSide : a.windowHeight;
  const int last = a.width - 1, firstOwn = x - windowWidth / 2;
#pragma unroll
  for (int c = 0; c < kPyramidCandidates; ++c) sums[c] = 0;
#pragma unroll 1
  for (int j = 0; j < windowHeight; ++j) {
    const size_t start = static_cast<size_t>(min(max(y + j - windowHeight / 2, 0), a.height - 1)) * a.width;
    const uint2* own = a.own + start;
    const uint2* partner = a.partner + start;
    const auto partnerAt = [&](int place) {
      return partner[kInside ? firstPartner + place : min(max(firstPartner + place, 0), last)];
    };
    uint2 near[kPyramidCandidates];
#pragma unroll
    for (int c = 1; c < kPyramidCandidates; ++c) near[c] = partnerAt(c - 1);
#pragma unroll
    for (int i = 0; i < (kSide > 0 ? kSide : kLargestWindow); ++i) {
      if (kSide == 0 && i >= windowWidth) break;
#pragma unroll
      for (int c = 0; c < kPyramidCandidates - 1; ++c) near[c] = near[c + 1];
      near[kPyramidCandidates - 1] = partnerAt(i + kPyramidCandidates - 1);
      const uint2 one = own[kInside ? firstOwn + i : min(max(firstOwn + i, 0), last)];
#pragma unroll
      for (int c = 0; c < kPyramidCandidates; ++c) sums[c] = plusDifferences(one, near[c], sums[c]);
    }
  }
}

template <int kSide>
__global__ void __launch_bounds__(128) pyramidFinerKernel(PyramidArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  const size_t pixel = static_cast<size_t>(y) * a.width + x;
  const int first = 2 * a.coarse[static_cast<size_t>(y / 2) * a.coarseWidth + x / 2] - 1;
  const int reach = (kSide > 0 ? kSide : a.windowWidth) / 2;
  // Partners are to the left, so the last candidate's come first.
  const int firstPartner = x - reach + (a.towards < 0 ? -(first + kPyramidCandidates - 1) : first);
  uint32_t byPlace[kPyramidCandidates], sums[kPyramidCandidates];
  const bool inside = x >= reach && x + reach < a.width && firstPartner >= 0 &&
                      firstPartner + 2 * reach + kPyramidCandidates - 1 < a.width;
  if (inside) candidateSums<kSide, true>(a, x, y, firstPartner, byPlace);
  else candidateSums<kSide, false>(a, x, y, firstPartner, byPlace);

  uint32_t least = kNoSum, second = kNoSum;
  int best = 0, secondPlace = 0;
#pragma unroll
  for (int c = 0; c < kPyramidCandidates; ++c) {
    sums[c] = a.towards < 0 ? byPlace[kPyramidCandidates - 1 - c] : byPlace[c];
    if (first + c < a.lowest || first + c > a.highest) sums[c] = kNoSum;
    if (sums[c] == kNoSum) continue;
    if (sums[c] <= least) {
      second = least, secondPlace = best;
      least = sums[c], best = c;
    } else if (sums[c] <= second) {
      second = sums[c], secondPlace = c;
    }
  }
  if (best != 1 && sums[1] != kNoSum && second != kNoSum &&
      100 * (second - least) < static_cast<uint32_t>(a.peakRatio * abs(secondPlace - best)) * second) {
    best = 1, least = sums[1];
  }
  const int d = first + best;
  a.whole[pixel] = static_cast<int16_t>(d);
  if (a.q4 == nullptr) return;
  uint32_t below = kNoSum, above = kNoSum, secondBest = kNoSum;
#pragma unroll
  for (int c = 0; c < kPyramidCandidates; ++c) {
    if (c == best - 1) below = sums[c];
    if (c == best + 1) above = sums[c];
    if (abs(c - best) > 1) secondBest = min(secondBest, sums[c]);
  }
  int fine = 0;
  if (a.subpixel && below != kNoSum && above != kNoSum && least <= below && least <= above) {
    const int q = static_cast<int>(below + above - 2 * least), n = static_cast<int>(below) - static_cast<int>(above);
    // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
    if (q > 0) fine = (16 * n + 17 * q) / (2 * q) - 8;
  }
  a.q4[pixel] = static_cast<int16_t>(16 * d + fine);
  a.confidence[pixel] = secondBest == kNoSum || secondBest <= least
                            ? uint8_t{0}
                            : static_cast<uint8_t>(255 * (secondBest - least) / secondBest);
}

dim3 tiles(int width, int height, int rows, int images) {
  return dim3(static_cast<unsigned>(width + 31) / 32, static_cast<unsigned>(height + rows - 1) / rows, images);
}

}  // namespace

Status PyramidWorkspace::open(const PyramidParameters& parameters, int32_t width, int32_t height) {
  p_ = parameters;
  width_[0] = width, height_[0] = height;
  for (int level = 1; level <= p_.levels; ++level) {
    width_[level] = (width_[level - 1] + 1) / 2, height_[level] = (height_[level - 1] + 1) / 2;
    const size_t pixels = static_cast<size_t>(width_[level]) * height_[level];
    for (int side = 0; side < 2; ++side) DEPTHWATT_TRY(copies_[side][level].allocate(pixels));
    DEPTHWATT_TRY(wholes_[level].allocate(pixels));
  }
  return {};
}

size_t PyramidWorkspace::bytes() const {
  size_t bytes = 0;
  for (int level = 1; level <= p_.levels; ++level) {
    bytes += copies_[0][level].bytes() + copies_[1][level].bytes() + wholes_[level].bytes();
  }
  return bytes;
}

Status PyramidWorkspace::match(int own, const HsvPixel* const* images, const PyramidDeviceResult& result,
                               cudaStream_t stream) {
  for (int level = p_.levels; level >= 0; --level) {
    PyramidArguments a = {};
    const HsvPixel* const of[2] = {level == 0 ? images[0] : copies_[0][level].get(),
                                   level == 0 ? images[1] : copies_[1][level].get()};
    a.own = reinterpret_cast<const uint2*>(of[own]), a.partner = reinterpret_cast<const uint2*>(of[1 - own]);
    a.whole = level > 0 ? wholes_[level].get() : own == 0 ? result.disparity : result.rightDisparity;
    if (level == 0 && own == 0) a.q4 = result.disparityQ4, a.confidence = result.confidence;
    a.width = width_[level], a.height = height_[level];
    a.windowWidth = p_.windowWidth, a.windowHeight = p_.windowHeight, a.towards = own == 0 ? -1 : 1;
    a.lowest = p_.lowest(level), a.highest = p_.highest(level);
    a.peakRatio = p_.peakRatio, a.subpixel = p_.subpixel;
    if (level == p_.levels) {
      const unsigned blocks = static_cast<unsigned>((static_cast<size_t>(a.width) * a.height + 7) / 8);
      pyramidCoarsestKernel<<<blocks, 256, 0, stream>>>(a);
      DEPTHWATT_TRY(launched("pyramidCoarsestKernel"));
      continue;
    }
    a.coarse = wholes_[level + 1].get(), a.coarseWidth = width_[level + 1];
    const dim3 grid = tiles(a.width, a.height, 4, 1);
    const dim3 block(32, 4);
    const int side = p_.windowWidth == p_.windowHeight && p_.windowWidth <= 7 ? p_.windowWidth : 0;
    if (side == 3) {
      pyramidFinerKernel<3><<<grid, block, 0, stream>>>(a);
    } else if (side == 5) {
      pyramidFinerKernel<5><<<grid, block, 0, stream>>>(a);
    } else if (side == 7) {
      pyramidFinerKernel<7><<<grid, block, 0, stream>>>(a);
    } else {
      pyramidFinerKernel<0><<<grid, block, 0, stream>>>(a);
    }
    DEPTHWATT_TRY(launched("pyramidFinerKernel"));
  }
  return {};
}

Status PyramidWorkspace::compute(const HsvPixel* left, const HsvPixel* right, const PyramidDeviceResult& result,
                                 cudaStream_t stream) {
  const HsvPixel* const images[2] = {left, right};
  for (int level = 1; level <= p_.levels; ++level) {
    HalveArguments a = {};
    a.left = reinterpret_cast<const uint2*>(level == 1 ? left : copies_[0][level - 1].get());
    a.right = reinterpret_cast<const uint2*>(level == 1 ? right : copies_[1][level - 1].get());
    a.leftOut = reinterpret_cast<uint2*>(copies_[0][level].get());
    a.rightOut = reinterpret_cast<uint2*>(copies_[1][level].get());
    a.inWidth = width_[level - 1], a.inHeight = height_[level - 1];
    a.width = width_[level], a.height = height_[level];
    a.factor = level == 1 ? 3 : 2;
    pyramidHalveKernel<<<tiles(a.width, a.height, 8, 2), dim3(32, 8), 0, stream>>>(a);
    DEPTHWATT_TRY(launched("pyramidHalveKernel"));
  }
  DEPTHWATT_TRY(match(0, images, result, stream));
  return result.rightDisparity != nullptr ? match(1, images, result, stream) : Status();
}

}  // namespace gpu
}  // namespace depthwatt
