// SPDX-License-Identifier: Apache-2.0
// Confidence on CUDA; see confidence.h. One thread per pixel. Shared memory holds the terms of the sums over 5 x 5 and
// 11 x 11 pixels, added first along the rows, then down the columns. Disparities for the support are read through the
// first-level cache.
#include "confidence.h"

#include "confidence_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 32, kRows = 8, kThreads = kColumns * kRows;
constexpr int kHaloColumns = kColumns + 2 * kWideRadius, kHaloRows = kRows + 2 * kWideRadius;
constexpr int kSkipped = kWideRadius - kSupportRadius;

/// Passed by value, because kernel parameters are in constant memory.
struct Scores {
  int16_t support[kSupportScores], unmatched[kUnmatchedScores], texture[kTextureScores];
  uint8_t curve[kCurvePoints];
};

struct Pair {
  const uint8_t* grey;
  const int16_t* disparityQ4;
  const uint8_t* certainty;
  const uint8_t* limit;
  int width, height, limitColumns;
  bool zeroIsEstimated;
};

__device__ __forceinline__ bool matchedAt(const Pair& in, size_t at) {
  return in.disparityQ4[at] != kInvalidDisparity && (!in.zeroIsEstimated || in.certainty[at] > 0);
}

__device__ __forceinline__ int supportAt(const Pair& in, int x, int y) {
  const int centre = in.disparityQ4[static_cast<size_t>(y) * in.width + x];
  int support = 0;
#pragma unroll
  for (int j = -kSupportRadius; j <= kSupportRadius; ++j) {
    const size_t row = static_cast<size_t>(min(max(y + j, 0), in.height - 1)) * in.width;
#pragma unroll
    for (int i = -kSupportRadius; i <= kSupportRadius; ++i) {
      const size_t q = row + min(max(x + i, 0), in.width - 1);
      // An invalid disparity is further away than any threshold.
      if (abs(in.disparityQ4[q] - centre) <= kAgreementQ4) support += in.certainty[q];
    }
  }
  return support;
}

__global__ void __launch_bounds__(kThreads) confidenceKernel(Pair in, uint8_t* sure, Scores scores) {
  __shared__ uint8_t step[kHaloRows][kHaloColumns];
  __shared__ uint8_t unmatched[kHaloRows][kHaloColumns];
  // Along the rows.
  __shared__ uint8_t texture[kHaloRows][kColumns];
  __shared__ uint8_t wide[kHaloRows][kColumns];
  __shared__ uint8_t holes[kHaloRows][kColumns];
  const int thread = threadIdx.y * kColumns + threadIdx.x;
  const int x = blockIdx.x * kColumns + threadIdx.x, y = blockIdx.y * kRows + threadIdx.y;
  const int left = static_cast<int>(blockIdx.x) * kColumns - kWideRadius;
  const int top = static_cast<int>(blockIdx.y) * kRows - kWideRadius;
  untilKernelBefore();
  for (int i = thread; i < kHaloRows * kHaloColumns; i += kThreads) {
    const int j = i / kHaloColumns, k = i % kHaloColumns;
    const size_t row = static_cast<size_t>(min(max(top + j, 0), in.height - 1)) * in.width;
    const int column = min(max(left + k, 0), in.width - 1), before = min(max(left + k - 1, 0), in.width - 1);
    step[j][k] = static_cast<uint8_t>(min(abs(in.grey[row + column] - in.grey[row + before]), kMaxStep));
    unmatched[j][k] = matchedAt(in, row + column) ? 0 : 1;
  }
  __syncthreads();
  for (int i = thread; i < kHaloRows * kColumns; i += kThreads) {
    const int j = i / kColumns, k = i % kColumns;
    int wideSum = 0, holeSum = 0, textureSum = 0;
#pragma unroll
    for (int c = 0; c <= 2 * kWideRadius; ++c) {
      wideSum += step[j][k + c];
      holeSum += unmatched[j][k + c];
      if (c >= kSkipped && c <= 2 * kWideRadius - kSkipped) textureSum += step[j][k + c];
    }
    wide[j][k] = static_cast<uint8_t>(wideSum);
    holes[j][k] = static_cast<uint8_t>(holeSum);
    texture[j][k] = static_cast<uint8_t>(textureSum);
  }
  __syncthreads();
  if (x >= in.width || y >= in.height) return;
  const size_t at = static_cast<size_t>(y) * in.width + x;
  if (unmatched[threadIdx.y + kWideRadius][threadIdx.x + kWideRadius] != 0) {
    sure[at] = 0;
    return;
  }
  int wideSum = 0, holeSum = 0, textureSum = 0;
#pragma unroll
  for (int r = 0; r <= 2 * kWideRadius; ++r) {
    wideSum += wide[threadIdx.y + r][threadIdx.x];
    holeSum += holes[threadIdx.y + r][threadIdx.x];
    if (r >= kSkipped && r <= 2 * kWideRadius - kSkipped) textureSum += texture[threadIdx.y + r][threadIdx.x];
  }
  const int score = scores.support[supportAt(in, x, y) >> kSupportBits] + scores.unmatched[holeSum >> kUnmatchedBits] +
                    scores.texture[textureSum >> kTextureBits];
  const int value = scores.curve[min(max(score, kLowestScore), kHighestScore) - kLowestScore];
  int maximum = kSurePerStep * wideSum;
  if (in.limit != nullptr) {
    maximum = min(maximum, static_cast<int>(in.limit[y / kBlockRows * in.limitColumns + x / kBlockColumns]));
  }
  sure[at] = static_cast<uint8_t>(max(min(value, maximum), 1));
}

}  // namespace

Status confidence(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated,
                  const uint8_t* limit, uint8_t* sure, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kColumns - 1) / kColumns, (height + kRows - 1) / kRows);
  const Pair in = {grey, disparityQ4, certainty, limit, width, height, blockColumnCount(width), zeroIsEstimated};
  const Scores scores = {DEPTHWATT_SUPPORT_SCORES, DEPTHWATT_UNMATCHED_SCORES, DEPTHWATT_TEXTURE_SCORES,
                         DEPTHWATT_CONFIDENCE_CURVE};
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(confidenceKernel));
  return launch("confidenceKernel", confidenceKernel, LaunchShape{grid, dim3(kColumns, kRows), 0, stream, overlaps}, in,
                sure, scores);
}

}  // namespace gpu
}  // namespace depthwatt
