// SPDX-License-Identifier: Apache-2.0
// Computes mini-census and arms of both images on a device, in the layout that cross_rows.cuh reads.
//
// A thread computes four adjacent pixels, one byte each: one instruction compares all four with their neighbours i
// steps away. Bit 7 of a byte means that its pixel's arm continues; arms are cut at the image's border at the end.
#pragma once

#include "cross_plan.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr uint32_t kTopBits = 0x80808080u;

struct CrossPreparation {
  const uint8_t* images[2];
  uint2* features[4];             ///< left, right, left mirrored, right mirrored
  uint16_t *armsX[2], *armsY[2];  ///< CrossSide's
  int32_t width, height, words, similarity;
  int32_t armX, armY;        ///< the longest of both images
  int32_t maxX[2], maxY[2];  ///< of each image
  int32_t margin;            ///< words of the tile on each side
};

/// Returns bit 7 of each byte: a >= b.
__device__ __forceinline__ uint32_t crossAtLeast(uint32_t a, uint32_t b) {
  const uint32_t low = (a | kTopBits) - (b & ~kTopBits);
  return ((a & ~b) | (~(a ^ b) & low)) & kTopBits;
}

/// Four arms that grow step by step.
struct CrossArmsOfFour {
  uint32_t own, maxDifference;  ///< maxDifference: largest difference of one region, four times
  uint32_t alive, lengths;
  __device__ __forceinline__ CrossArmsOfFour(uint32_t own_, int similarity)
      : own(own_), maxDifference((similarity - 1) * 0x01010101u), alive(kTopBits), lengths(0) {}
  /// Returns false once all four have ended.
  __device__ __forceinline__ bool step(uint32_t there) {
    alive &= crossAtLeast(maxDifference, __vabsdiffu4(there, own));
    lengths += alive >> 7;
    return alive != 0;
  }
};

__global__ void __launch_bounds__(256, 4) crossPrepareKernel(CrossPreparation p) {
  extern __shared__ __align__(16) uint32_t tile[];
  const int margin = p.margin, pitch = 32 + 2 * margin, marginRows = max(p.armY, 1);
  const int which = blockIdx.z;
  const int maxX = which == 0 ? p.maxX[0] : p.maxX[1], maxY = which == 0 ? p.maxY[0] : p.maxY[1];
  const int firstX = blockIdx.x * 128 - 4 * margin, firstY = blockIdx.y * kCrossTileRows - marginRows;
  const uint8_t* image = which == 0 ? p.images[0] : p.images[1];
  uint8_t* bytes = reinterpret_cast<uint8_t*>(tile);
  for (int column = threadIdx.x; column < 4 * pitch; column += 32) {
    const uint8_t* from = image + min(max(firstX + column, 0), p.width - 1);
    uint8_t* to = bytes + column;
#pragma unroll 4
    for (int row = threadIdx.y; row < kCrossTileRows + 2 * marginRows; row += kCrossTileRows) {
      to[row * 4 * pitch] = from[static_cast<uint32_t>(min(max(firstY + row, 0), p.height - 1)) * p.width];
    }
  }
  __syncthreads();
  const int x = blockIdx.x * 128 + 4 * threadIdx.x, y = blockIdx.y * kCrossTileRows + threadIdx.y;
  if (x >= p.width || y >= p.height) return;
  const uint32_t* here = tile + (threadIdx.y + marginRows) * pitch + margin + threadIdx.x;
  const uint32_t own = here[0];

  uint32_t census = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = -1; j <= 1; ++j) {
      const uint32_t* middle = here + j * pitch;
      const uint32_t there =
          i == 0 ? __byte_perm(middle[-1], middle[0], 0x6543) : __byte_perm(middle[0], middle[1], 0x4321);
      const int bit = i == 0 ? 5 - j : 1 - j;  // three bits to a nibble
      census |= crossAtLeast(there, own) >> (7 - bit);
    }
  }

  // Four steps per iteration, so that each needs one new word; longer arms are cut below.
  CrossArmsOfFour left(own, p.similarity), right(own, p.similarity), up(own, p.similarity), down(own, p.similarity);
  uint32_t near = own;
  for (int word = 1, more = 1; more != 0 && 4 * word < maxX + 4; ++word) {
    const uint32_t far = here[word];
#pragma unroll
    for (int s = 1; s <= 4; ++s) more = right.step(__byte_perm(near, far, 0x3210u + 0x1111u * s));
    near = far;
  }
  near = own;
  for (int word = 1, more = 1; more != 0 && 4 * word < maxX + 4; ++word) {
    const uint32_t far = here[-word];
#pragma unroll
    for (int s = 1; s <= 4; ++s) more = left.step(__byte_perm(far, near, 0x7654u - 0x1111u * s));
    near = far;
  }
  for (int i = 1; i <= maxY && up.step(here[-i * pitch]); ++i) {}
  for (int i = 1; i <= maxY && down.step(here[i * pitch]); ++i) {}

  uint16_t* armsX = (which == 0 ? p.armsX[0] : p.armsX[1]) + static_cast<size_t>(y) * p.words * 4 + p.armX;
  uint16_t* armsY = (which == 0 ? p.armsY[0] : p.armsY[1]) + static_cast<size_t>(y + p.armY) * p.width;
  uint2* plain = (which == 0 ? p.features[0] : p.features[1]) + static_cast<size_t>(y) * p.words;
  uint8_t* turned =
      reinterpret_cast<uint8_t*>((which == 0 ? p.features[2] : p.features[3]) + static_cast<size_t>(y) * p.words);
  plain[x / 4] = make_uint2(own, census);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (x + i >= p.width) break;
    const auto length = [&](const CrossArmsOfFour& arm, int room) {
      return min(static_cast<int>(arm.lengths >> 8 * i & 255), room);
    };
    const int mirrored = p.width - 1 - x - i, column = which == 0 ? x + i : mirrored;
    const int toLeft = length(left, min(x + i, maxX)), toRight = length(right, min(mirrored, maxX));
    const int ahead = which == 0 ? toRight : toLeft, behind = which == 0 ? toLeft : toRight;
    armsX[column] = static_cast<uint16_t>((p.armX - ahead) | (p.armX + 1 + behind) << 8);
    armsY[column] =
        static_cast<uint16_t>((p.armY - length(down, p.height - 1 - y)) | (p.armY + 1 + length(up, y)) << 8);
    uint8_t* word = turned + mirrored / 4 * sizeof(uint2) + mirrored % 4;
    word[0] = static_cast<uint8_t>(own >> 8 * i);
    word[4] = static_cast<uint8_t>(census >> 8 * i);
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
