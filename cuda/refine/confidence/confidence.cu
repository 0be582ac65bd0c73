// SPDX-License-Identifier: Apache-2.0
// Confidence on CUDA; see confidence.h. A block has 32 x 16 pixels and what lies around them in shared memory: disparity and
// certainty in a word, and the differences of grey that texture is made of, three rows of them summed. A thread has four pixels
// of a column, which share what they read.
#include "confidence.h"

#include "../../gpu/kernels.h"
#include "../../gpu/launch.cuh"
#include "../../gpu/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTileWidth = 32, kTileHeight = 16, kThreads = 128, kWarps = kThreads / 32, kThreadRows = 4;
constexpr int kWords = kTileWidth + 2 * kSupportRadius, kWordRows = kTileHeight + 2 * kSupportRadius;
constexpr int kSteps = kTileWidth + 2 * kTextureRadiusX, kStepRows = kTileHeight + 2 * kTextureRadiusY;
static_assert(kTileWidth == 32 && kTileHeight == kWarps * kThreadRows, "a thread has four pixels");
static_assert(kWordRows % kWarps == 0 && kTileHeight % kWarps == 0, "warps have as many rows each");
static_assert(kTextureRadiusY == 1, "three rows of texture are summed");

/// By value: parameters lie in constant memory, from where compilers look words up by a number, but no bytes.
struct Knots {
  uint32_t at[kConfidenceKnots];
};

__global__ void __launch_bounds__(kThreads)
    confidenceKernel(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, uint8_t* sure,
                     int width, int height, Knots knots) {
  __shared__ int32_t words[kWordRows][kWords];  // 65536 disparityQ4 + certainty
  __shared__ uint8_t steps[kStepRows][kSteps + 2], texture[kTileHeight][kSteps + 2];
  __shared__ uint8_t curve[kConfidenceKnots];
  const int left = blockIdx.x * kTileWidth, top = blockIdx.y * kTileHeight;
  untilKernelBefore();
  const auto column = [&](int x) { return min(max(x, 0), width - 1); };
  const auto rowOf = [&](int y) { return static_cast<size_t>(min(max(y, 0), height - 1)) * width; };
  if (threadIdx.x < kConfidenceKnots) curve[threadIdx.x] = static_cast<uint8_t>(knots.at[threadIdx.x]);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int c = 0; c < kWords; c += 32) {
    if (c + lane >= kWords) continue;
    const int x = column(left + c + lane - kSupportRadius);
#pragma unroll
    for (int r = 0; r < kWordRows; r += kWarps) {
      const size_t at = rowOf(top + r + warp - kSupportRadius) + x;
      words[r + warp][c + lane] = disparityQ4[at] * 65536 + certainty[at];
    }
  }
#pragma unroll
  for (int c = 0; c < kSteps; c += 32) {
    if (c + lane >= kSteps) continue;
    const int x = column(left + c + lane - kTextureRadiusX), before = column(left + c + lane - kTextureRadiusX - 1);
#pragma unroll
    for (int r = 0; r < kStepRows; r += kWarps) {
      if (r + warp >= kStepRows) continue;
      const uint8_t* const row = grey + rowOf(top + r + warp - kTextureRadiusY);
      const int step = abs(static_cast<int>(row[x]) - static_cast<int>(row[before]));
      steps[r + warp][c + lane] = static_cast<uint8_t>(min(step, kTextureMax));
    }
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < kSteps; c += 32) {
    const int x = c + lane;
    if (x >= kSteps) continue;
#pragma unroll
    for (int r = 0; r < kTileHeight; r += kWarps) {
      const int y = r + warp;
      texture[y][x] = static_cast<uint8_t>(steps[y][x] + steps[y + 1][x] + steps[y + 2][x]);
    }
  }
  __syncthreads();

  const int firstRow = warp * kThreadRows, x = left + lane;
  int centre[kThreadRows], support[kThreadRows];
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    centre[r] = words[firstRow + r + kSupportRadius][lane + kSupportRadius] >> 16;
    support[r] = 0;
  }
#pragma unroll
  for (int j = 0; j < kThreadRows + 2 * kSupportRadius; ++j) {
#pragma unroll
    for (int i = 0; i <= 2 * kSupportRadius; ++i) {
      const int word = words[firstRow + j][lane + i], d = word >> 16, sureness = word & 255;
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        // An invalid disparity is further away than any threshold.
        const bool agrees = static_cast<uint32_t>(d - centre[r] + kAgreementQ4) <= 2 * kAgreementQ4;
        if (j >= r && j <= r + 2 * kSupportRadius && agrees) support[r] += sureness;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    const int y = top + firstRow + r;
    if (x >= width || y >= height) continue;
    int seen = 0;
#pragma unroll
    for (int i = 0; i <= 2 * kTextureRadiusX; ++i) seen += texture[firstRow + r][lane + i];
    const int k = support[r] >> 8, knot = curve[k];
    const int value = knot + (((curve[k + 1] - knot) * (support[r] & 255)) >> 8);
    const int result = max(min(value, kSurePerTexture * seen), 1);
    sure[static_cast<size_t>(y) * width + x] = static_cast<uint8_t>(centre[r] == kInvalidDisparity ? 0 : result);
  }
}

}  // namespace

Status confidence(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, uint8_t* sure,
                  int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kTileWidth - 1) / kTileWidth, (height + kTileHeight - 1) / kTileHeight);
  const Knots knots = {DEPTHWATT_CONFIDENCE_KNOTS};
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(confidenceKernel));
  return launch("confidenceKernel", confidenceKernel, LaunchShape{grid, dim3(kThreads), 0, stream, overlaps}, grey,
                disparityQ4, certainty, sure, width, height, knots);
}

}  // namespace gpu
}  // namespace depthwatt
