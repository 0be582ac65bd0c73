// SPDX-License-Identifier: Apache-2.0
// Winners, sub-pixel, confidence and the right image's winners of exponential.cu.
#pragma once

#include "../../device/traits.h"
#include "exponential_cells.cuh"
#include "exponential_workspace.h"

namespace depthwatt {
namespace gpu {
namespace {

__device__ int cellAt(const uint4* cells, size_t pixels, int d) {
  const auto* words = reinterpret_cast<const uint32_t*>(cells + static_cast<size_t>(d / kEight) * pixels);
  return static_cast<int>(words[d % kEight / 2] >> (16 * (d & 1)) & 0xffffu);
}

/// Returns 16 times the vertex of the parabola through below, best and above, rounded down: match/select's rule.
__device__ int32_t fractionQ4(int32_t below, int32_t best, int32_t above) {
  const int32_t q = below + above - 2 * best;
  if (q <= 0) return 0;
  // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
  return (16 * (below - above) + 17 * q) / (2 * q) - 8;
}

__device__ int32_t winnerConfidence(int32_t least, int32_t second) {
  return 255 * (second - least) / (second > 1 ? second : 1);
}

/// Groups of eight cells that a thread holds at a time.
constexpr int kHeld = 8;

/// Loads cells of a pixel from group `first` on; values outside the search are not below any cell.
__device__ __forceinline__ void hold(const uint4* own, size_t pixels, int first, int count, uint4 (&held)[kHeld]) {
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    held[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
    if (kEight * (first + i) < count) held[i] = own[static_cast<size_t>(first + i) * pixels];
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int d = kEight * (first + i);
    if (d >= count || d + kEight <= count) continue;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      if (d + 2 * word >= count) cellWord(held[i], word) = ~0u;
      if (d + 2 * word + 1 >= count) cellWord(held[i], word) |= 0xffff0000u;
    }
  }
}

__global__ void __launch_bounds__(128)
    winnersKernel(const uint4* cells, ExponentialDeviceResult result, Shape shape, int minDisparity, bool subpixel) {
  untilKernelBefore();
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  const size_t at = static_cast<size_t>(y) * shape.width + x, pixels = shape.pixels();
  const uint4* own = cells + at;
  const int count = shape.numDisparities, eights = (count + kEight - 1) / kEight;
  uint4 held[kHeld];
  // A key is a cell above its place: the smallest key is the lowest disparity of the smallest cell.
  uint32_t key = ~0u;
  for (int first = 0; first < eights; first += kHeld) {
    hold(own, pixels, first, count, held);
#pragma unroll
    for (int i = 0; i < kHeld * kWords; ++i) {
      const uint32_t d = static_cast<uint32_t>(kEight * first + 2 * i), pair = cellWord(held[i / kWords], i % kWords);
      key = min(key, min(packPair(d, pair), (pair & 0xffff0000u) | (d + 1)));
    }
  }
  const int place = static_cast<int>(key & 0xffffu), least = static_cast<int>(key >> 16);
  // The smallest other cell except the winner's neighbours.
  uint32_t secondBest = ~0u;
  for (int first = 0; first < eights; first += kHeld) {
    if (eights > kHeld) hold(own, pixels, first, count, held);
#pragma unroll
    for (int i = 0; i < kHeld * kWords; ++i) {
      const auto from = static_cast<uint32_t>(place + 1 - kEight * first - 2 * i);
      const uint32_t aside = (from < 3u ? 0xffffu : 0u) | (from - 1u < 3u ? 0xffff0000u : 0u);
      secondBest = CellU16::min(secondBest, cellWord(held[i / kWords], i % kWords) | aside);
    }
  }
  const int second = static_cast<int>(min(secondBest & 0xffffu, secondBest >> 16));
  int fine = 0;
  if (subpixel && place > 0 && place + 1 < count)
    fine = fractionQ4(cellAt(own, pixels, place - 1), least, cellAt(own, pixels, place + 1));
  result.disparity[at] = static_cast<int16_t>(minDisparity + place);
  result.disparityQ4[at] = static_cast<int16_t>(16 * (minDisparity + place) + fine);
  const bool hasSecond = place > 1 || place + 2 < count;
  result.confidence[at] = hasSecond ? static_cast<uint8_t>(winnerConfidence(least, second)) : uint8_t{0};
  if (result.rightDisparity == nullptr) return;
  // This thread's column of the right image.
  int best = kNothing, right = kInvalidDisparity;
  for (int d = 0; d < count && x + minDisparity + d < shape.width; ++d) {
    const int cell = cellAt(own + minDisparity + d, pixels, d);
    if (cell < best) best = cell, right = minDisparity + d;
  }
  result.rightDisparity[at] = static_cast<int16_t>(right);
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
