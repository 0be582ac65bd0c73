// SPDX-License-Identifier: Apache-2.0
// Confidence on CUDA; see confidence.h. One thread, one pixel; what neighbours read too comes through the first-level cache.
#include "confidence.h"

#include "../../gpu/kernels.h"
#include "../../gpu/launch.cuh"
#include "../../gpu/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

/// By value: parameters lie in constant memory.
struct Knots {
  uint8_t at[kConfidenceKnots];
};

__global__ void __launch_bounds__(256)
    confidenceKernel(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, uint8_t* sure,
                     int width, int height, Knots knots) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  untilKernelBefore();
  if (x >= width || y >= height) return;
  const size_t at = static_cast<size_t>(y) * width + x;
  const int centre = disparityQ4[at];
  if (centre == kInvalidDisparity) {
    sure[at] = 0;
    return;
  }
  const auto rowOf = [&](int row) { return static_cast<size_t>(min(max(row, 0), height - 1)) * width; };
  const auto column = [&](int c) { return min(max(c, 0), width - 1); };
  int support = 0;
#pragma unroll
  for (int j = -kSupportRadius; j <= kSupportRadius; ++j) {
    const size_t row = rowOf(y + j);
#pragma unroll
    for (int i = -kSupportRadius; i <= kSupportRadius; ++i) {
      const size_t q = row + column(x + i);
      // An invalid disparity is further away than any threshold.
      if (abs(disparityQ4[q] - centre) <= kAgreementQ4) support += certainty[q];
    }
  }
  int texture = 0;
#pragma unroll
  for (int j = -kTextureRadiusY; j <= kTextureRadiusY; ++j) {
    const uint8_t* const row = grey + rowOf(y + j);
    int before = row[column(x - kTextureRadiusX - 1)];
#pragma unroll
    for (int i = -kTextureRadiusX; i <= kTextureRadiusX; ++i) {
      const int here = row[column(x + i)];
      texture += min(abs(here - before), kTextureMax);
      before = here;
    }
  }
  const int k = support >> 8;
  const int value = knots.at[k] + (((knots.at[k + 1] - knots.at[k]) * (support & 255)) >> 8);
  sure[at] = static_cast<uint8_t>(max(min(value, kSurePerTexture * texture), 1));
}

}  // namespace

Status confidence(const uint8_t* grey, const int16_t* disparityQ4, const uint8_t* certainty, uint8_t* sure,
                  int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  const Knots knots = {DEPTHWATT_CONFIDENCE_KNOTS};
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(confidenceKernel));
  return launch("confidenceKernel", confidenceKernel, LaunchShape{grid, dim3(32, 8), 0, stream, overlaps}, grey,
                disparityQ4, certainty, sure, width, height, knots);
}

}  // namespace gpu
}  // namespace depthwatt
