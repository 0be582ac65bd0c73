// SPDX-License-Identifier: Apache-2.0
// Shared CUDA code of hsv, sad and pyramid: a pixel as two words, and the difference of two pixels.
#pragma once

#include <cuda_runtime.h>

#include "../../core/image.h"
#include "../../core/status.h"
#include "hsv_pixel.h"

namespace depthwatt {
namespace gpu {

/// Returns sum + the absolute differences of the four bytes: one instruction from 7.0 on.
__device__ __forceinline__ uint32_t plusDifferences(uint32_t a, uint32_t b, uint32_t sum) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  uint32_t result;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#else
  return sum + __vsadu4(a, b);
#endif
}
__device__ __forceinline__ uint32_t plusDifferences(uint2 a, uint2 b, uint32_t sum) {
  return plusDifferences(a.y, b.y, plusDifferences(a.x, b.x, sum));
}

/// Converts both images of a pair in one launch (hsv/hsv.h). Device images with packed rows.
Status hsv(const HsvWeights& weights, const Rgb8* left, const Rgb8* right, HsvPixel* leftOut, HsvPixel* rightOut,
           int32_t width, int32_t height, cudaStream_t stream);

}  // namespace gpu
}  // namespace depthwatt
