// SPDX-License-Identifier: Apache-2.0
// Census transform on CUDA, both images in one launch; see census.h.
//
// A thread computes two neighbouring pixels, packed as two 16-bit numbers in a word: with a and b below 256, a - b +
// 256 has bit 8 set where a >= b. Shared memory holds the block's grey values with their border, two bytes each, so
// that pixels at an even distance are one word and those at an odd distance are combined from two.
#include "census_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 64, kTileHeight = 8, kThreadsX = kTileWidth / 2;
constexpr int kColumns = kTileWidth + 2 * kCensusRadiusX, kRows = kTileHeight + 2 * kCensusRadiusY;
static_assert(kCensusRadiusX % 2 == 0, "the words of a thread's neighbours are aligned");
static_assert((2 * kCensusRadiusX + 1) * (2 * kCensusRadiusY + 1) / 2 == 31,
              "31 comparisons, seven and three times eight");

__global__ void __launch_bounds__(kThreadsX* kTileHeight)
    censusKernel(const uint8_t* leftImage, const uint8_t* rightImage, uint32_t* leftCensus, uint32_t* rightCensus,
                 int width, int height) {
  __shared__ uint32_t words[kRows][kColumns / 2];
  const uint8_t* const image = blockIdx.z == 0 ? leftImage : rightImage;
  const int x0 = blockIdx.x * kTileWidth, y0 = blockIdx.y * kTileHeight;
  for (int r = threadIdx.y; r < kRows; r += kTileHeight) {
    const uint8_t* const row = image + static_cast<size_t>(min(max(y0 + r - kCensusRadiusY, 0), height - 1)) * width;
    for (int c = threadIdx.x; c < kColumns / 2; c += kThreadsX) {
      const int x = x0 + 2 * c - kCensusRadiusX;
      words[r][c] = row[min(max(x, 0), width - 1)] | row[min(max(x + 1, 0), width - 1)] << 16;
    }
  }
  __syncthreads();
  const int x = x0 + 2 * static_cast<int>(threadIdx.x), y = y0 + static_cast<int>(threadIdx.y);
  if (x >= width || y >= height) return;

  // Both pixels' neighbours: [dy + radius][dx + radius].
  uint32_t near[2 * kCensusRadiusY + 1][2 * kCensusRadiusX + 1];
#pragma unroll
  for (int r = 0; r <= 2 * kCensusRadiusY; ++r) {
#pragma unroll
    for (int c = 0; c <= 2 * kCensusRadiusX; c += 2) near[r][c] = words[threadIdx.y + r][threadIdx.x + c / 2];
#pragma unroll
    for (int c = 1; c < 2 * kCensusRadiusX; c += 2) near[r][c] = __byte_perm(near[r][c - 1], near[r][c + 1], 0x5432);
  }
  uint32_t bits[4] = {0, 0, 0, 0};  // bytes 1 and 3 of each: eight comparisons per pixel, the first in the highest bit
  int count = 0;
  const auto compare = [&](int dx, int dy) {
    const uint32_t larger =
        near[kCensusRadiusY + dy][kCensusRadiusX + dx] - near[kCensusRadiusY - dy][kCensusRadiusX - dx] + 0x01000100u;
    uint32_t& eight = bits[(count + 1) / 8];
    eight = 2 * eight + (larger & 0x01000100u);
    ++count;
  };
  // The columns right of the centre, nearest first, each from the top; then the centre's column downwards.
#pragma unroll
  for (int i = 1; i <= kCensusRadiusX; ++i) {
#pragma unroll
    for (int j = -kCensusRadiusY; j <= kCensusRadiusY; ++j) compare(i, j);
  }
#pragma unroll
  for (int j = 1; j <= kCensusRadiusY; ++j) compare(0, j);
  const auto pixel = [&](uint32_t odd) {
    return __byte_perm(__byte_perm(bits[3], bits[2], odd), __byte_perm(bits[1], bits[0], odd), 0x5410);
  };
  uint32_t* const at = (blockIdx.z == 0 ? leftCensus : rightCensus) + static_cast<size_t>(y) * width + x;
  at[0] = pixel(0x0051);
  if (x + 1 < width) at[1] = pixel(0x0073);
}

}  // namespace

Status census(const uint8_t* left, const uint8_t* right, uint32_t* leftOut, uint32_t* rightOut, int32_t width,
              int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight, 2);
  censusKernel<<<grid, dim3(kThreadsX, kTileHeight), 0, stream>>>(left, right, leftOut, rightOut, width, height);
  return launched("censusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
