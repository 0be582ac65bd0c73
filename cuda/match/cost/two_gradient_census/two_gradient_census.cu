// SPDX-License-Identifier: Apache-2.0
// Two-gradient census on CUDA; see two_gradient_census.h.
#include "two_gradient_census.h"

#include "two_gradient_census_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kRadius = kTwoGradientCensusRadius, kBlockWidth = 32, kBlockHeight = 8;

/// The thresholds of a gradient, which lie within 33 values.
struct Thresholds {
  int lowest;
  uint32_t others;  ///< bit i: lowest + 1 + i is a threshold
};

template <int kBits>
Thresholds thresholdsFrom(const int16_t (&values)[kBits]) {
  Thresholds t = {values[0], 0};
  for (int k = 1; k < kBits; ++k) t.others |= 1u << (values[k] - values[0] - 1);
  return t;
}

/// Returns the n lowest bits, or all from 32 on.
__device__ __forceinline__ uint32_t lowestBits(int n) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t others;
  asm("shl.b32 %0, %1, %2;" : "=r"(others) : "r"(0xffffffffu), "r"(n));
  return ~others;
#else
  return n > 31 ? 0xffffffffu : (1u << n) - 1;
#endif
}

/// Returns s(gradient, t) for each threshold. Thresholds rise, so a gradient's ones come before its zeros.
template <int kBits>
__device__ __forceinline__ uint32_t gradientBits(int gradient, const Thresholds& t) {
  constexpr uint32_t kOnes = (1u << kBits) - 1;
  const int above = gradient - t.lowest;
  const int reached = 1 + (above >> 31) + __popc(t.others & lowestBits(max(above, 0)));
  return kOnes ^ (kOnes >> reached);
}

/// @param at returns the grey value at an offset from the pixel
template <class At>
__device__ __forceinline__ uint32_t censusOf(At at, const Thresholds& horizontal, const Thresholds& vertical) {
  uint32_t bits = 0;
  // The sign of v - u - 1 is s(u, v).
  const auto append = [&](int u, int v) { bits = bits << 1 | static_cast<uint32_t>(v - u - 1) >> 31; };
#pragma unroll
  for (int k = 1; k <= kRadius; ++k) {
    append(at(k, -k), at(-k, k));
    append(at(k, 0), at(-k, 0));
    append(at(k, k), at(-k, -k));
    append(at(0, k), at(0, -k));
  }
  const uint32_t across = gradientBits<kHorizontalBits>(at(1, 0) - at(-1, 0), horizontal);
  const uint32_t down = gradientBits<kVerticalBits>(at(0, 1) - at(0, -1), vertical);
  return (bits << kHorizontalBits | across) << kVerticalBits | down;
}

/// A thread a pixel. The first-level cache serves the neighbours: a tile in shared memory costs more instructions.
__global__ void __launch_bounds__(kBlockWidth* kBlockHeight)
    twoGradientCensusKernel(const uint8_t* left, const uint8_t* right, uint32_t* censusLeft, uint32_t* censusRight,
                            int width, int height, Thresholds horizontal, Thresholds vertical) {
  const int x = blockIdx.x * kBlockWidth + threadIdx.x, y = blockIdx.y * kBlockHeight + threadIdx.y;
  if (x >= width || y >= height) return;
  const uint8_t* const image = blockIdx.z == 0 ? left : right;
  const size_t pixel = static_cast<size_t>(y) * width + x;
  uint32_t bits;
  if (x >= kRadius && y >= kRadius && x < width - kRadius && y < height - kRadius) {
    const uint8_t* rows[2 * kRadius + 1];
#pragma unroll
    for (int i = 0; i <= 2 * kRadius; ++i) rows[i] = image + pixel + static_cast<ptrdiff_t>(i - kRadius) * width;
    bits = censusOf([&](int dx, int dy) { return static_cast<int>(rows[dy + kRadius][dx]); }, horizontal, vertical);
  } else {
    const auto replicated = [&](int dx, int dy) {
      const int atX = min(max(x + dx, 0), width - 1), atY = min(max(y + dy, 0), height - 1);
      return static_cast<int>(image[static_cast<size_t>(atY) * width + atX]);
    };
    bits = censusOf(replicated, horizontal, vertical);
  }
  (blockIdx.z == 0 ? censusLeft : censusRight)[pixel] = bits;
}

}  // namespace

Status twoGradientCensus(const uint8_t* left, const uint8_t* right, uint32_t* censusLeft, uint32_t* censusRight,
                         int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 block(kBlockWidth, kBlockHeight);
  const dim3 grid((width + kBlockWidth - 1) / kBlockWidth, (height + kBlockHeight - 1) / kBlockHeight, 2);
  twoGradientCensusKernel<<<grid, block, 0, stream>>>(left, right, censusLeft, censusRight, width, height,
                                                      thresholdsFrom(kHorizontalThresholds),
                                                      thresholdsFrom(kVerticalThresholds));
  return launched("twoGradientCensusKernel");
}

}  // namespace gpu
}  // namespace depthwatt
