// SPDX-License-Identifier: Apache-2.0
// The confidence measures on CUDA; see window_confidence.h. One thread per pixel. Shared memory holds the left image's
// windows as words: a row of seven pixels is two words from its first pixel on, without the second's highest byte. The
// right image's pixels are read through the first-level cache, each at its own disparity.
#include "window_confidence.h"

#include "window_confidence_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 32, kRows = 8, kThreads = kColumns * kRows;
constexpr int kSide = 2 * kMeasureRadius + 1;
constexpr int kHaloWords = (kColumns + 2 * kMeasureRadius + 3) / 4, kHaloRows = kRows + 2 * kMeasureRadius;
constexpr uint32_t kThreePixels = 0x00ffffffu;

struct MeasureArguments {
  const uint8_t* left;
  const uint8_t* right;
  const int16_t* disparityQ4;
  const uint8_t* certainty;
  uint8_t* sure;
  int width, height;
  ConfidenceMeasure measure;
  bool zeroIsEstimated;
};

/// A row of a window.
struct Seven {
  uint32_t low, high;
};

/// @param words the row's, from the word with its first pixel on, which is that word's byte first / 8
__device__ __forceinline__ Seven loadSeven(const uint32_t* words, int first) {
  const uint32_t a = words[0], b = words[1], c = words[2];
  const uint32_t selector = 0x3210u + 0x1111u * static_cast<uint32_t>(first);
  return {__byte_perm(a, b, selector), __byte_perm(b, c, selector) & kThreePixels};
}

__device__ __forceinline__ int measureFrom(uint32_t sum) {
  return min(255, static_cast<int>(kMeasureScale * sum / kMeasurePixels));
}

__global__ void __launch_bounds__(kThreads) windowConfidenceKernel(MeasureArguments a) {
  __shared__ uint32_t tile[kHaloRows][kHaloWords];
  const int x = blockIdx.x * kColumns + threadIdx.x, y = blockIdx.y * kRows + threadIdx.y;
  const bool inside = x < a.width && y < a.height;
  const size_t at = static_cast<size_t>(y) * a.width + x;
  untilKernelBefore();
  if (a.measure != ConfidenceMeasure::kPeakRatio) {
    const int left = static_cast<int>(blockIdx.x) * kColumns - kMeasureRadius;
    const int top = static_cast<int>(blockIdx.y) * kRows - kMeasureRadius;
    for (int i = threadIdx.y * kColumns + threadIdx.x; i < kHaloRows * kHaloWords; i += kThreads) {
      const int j = i / kHaloWords, k = i % kHaloWords;
      const uint8_t* row = a.left + static_cast<size_t>(min(max(top + j, 0), a.height - 1)) * a.width;
      uint32_t word = 0;
#pragma unroll
      for (int b = 0; b < 4; ++b)
        word |= static_cast<uint32_t>(row[min(max(left + 4 * k + b, 0), a.width - 1)]) << (8 * b);
      tile[j][k] = word;
    }
    __syncthreads();
  }
  if (!inside) return;
  const int d = a.disparityQ4[at], certainty = a.certainty[at];
  if (d == kInvalidDisparity || (a.zeroIsEstimated && certainty == 0)) {
    a.sure[at] = 0;
    return;
  }
  int value = certainty;
  if (a.measure != ConfidenceMeasure::kPeakRatio) {
    const int first = threadIdx.x % 4;
    uint32_t sum = 0;
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const Seven seven = loadSeven(&tile[threadIdx.y + j][threadIdx.x / 4], first);
      sum += __vsadu4(seven.low, 0) + __vsadu4(seven.high, 0);
    }
    const uint32_t mean = (sum + kMeasurePixels / 2) / kMeasurePixels * 0x01010101u;
    uint32_t deviation = 0;
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const Seven seven = loadSeven(&tile[threadIdx.y + j][threadIdx.x / 4], first);
      deviation += __vsadu4(seven.low, mean) + __vsadu4(seven.high, mean & kThreePixels);
    }
    value = measureFrom(deviation);
  }
  if (a.measure == ConfidenceMeasure::kMatchingScore || a.measure == ConfidenceMeasure::kProduct) {
    const int shift = (d + 8) >> 4;
    int columns[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i)
      columns[i] = min(max(min(max(x + i - kMeasureRadius, 0), a.width - 1) - shift, 0), a.width - 1);
    uint32_t difference = 0;
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const uint8_t* row = a.right + static_cast<size_t>(min(max(y + j - kMeasureRadius, 0), a.height - 1)) * a.width;
      const Seven seven = loadSeven(&tile[threadIdx.y + j][threadIdx.x / 4], threadIdx.x % 4);
      const uint32_t low =
          row[columns[0]] | row[columns[1]] << 8 | row[columns[2]] << 16 | static_cast<uint32_t>(row[columns[3]]) << 24;
      const uint32_t high = row[columns[4]] | row[columns[5]] << 8 | row[columns[6]] << 16;
      difference += __vsadu4(seven.low, low) + __vsadu4(seven.high, high);
    }
    value = (255 - measureFrom(difference)) * value / 255;
    if (a.measure == ConfidenceMeasure::kProduct) value = certainty * value / 255;
  }
  a.sure[at] = static_cast<uint8_t>(max(value, 1));
}

}  // namespace

Status windowConfidence(ConfidenceMeasure measure, const uint8_t* left, const uint8_t* right,
                        const int16_t* disparityQ4, const uint8_t* certainty, bool zeroIsEstimated, uint8_t* sure,
                        int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kColumns - 1) / kColumns, (height + kRows - 1) / kRows);
  const MeasureArguments arguments = {left,  right,  disparityQ4, certainty,      sure,
                                      width, height, measure,     zeroIsEstimated};
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(windowConfidenceKernel));
  return launch("windowConfidenceKernel", windowConfidenceKernel,
                LaunchShape{grid, dim3(kColumns, kRows), 0, stream, overlaps}, arguments);
}

}  // namespace gpu
}  // namespace depthwatt
