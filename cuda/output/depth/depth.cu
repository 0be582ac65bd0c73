// SPDX-License-Identifier: Apache-2.0
// Depth from disparity on CUDA; see depth.h. One thread per pixel; each operation is one IEEE rounding, never fused.
#include "depth_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

__global__ void __launch_bounds__(256)
    depthMillimetresKernel(float numerator, float offsetQ4, const int16_t* disparityQ4, uint16_t* millimetres,
                           int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  const int16_t disparity = disparityQ4[i];
  const float denominator = __fadd_rn(static_cast<float>(disparity), offsetQ4);
  uint16_t result = 0;
  if (disparity != kInvalidDisparity && denominator > 0) {
    const float rounded = floorf(__fadd_rn(__fdiv_rn(numerator, denominator), 0.5f));
    if (rounded <= 65535.0f) result = static_cast<uint16_t>(rounded);
  }
  millimetres[i] = result;
}

}  // namespace

Status depthMillimetres(const DepthGeometry& geometry, const int16_t* disparityQ4, uint16_t* millimetres, int32_t width,
                        int32_t height, cudaStream_t stream) {
  const auto numerator = static_cast<float>(geometry.focalPixels * geometry.baselineMetres * 16.0 * 1000.0);
  const auto offsetQ4 = static_cast<float>(16.0 * geometry.disparityOffsetPixels);
  const int pixels = width * height;
  depthMillimetresKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(numerator, offsetQ4, disparityQ4, millimetres,
                                                                   pixels);
  return launched("depthMillimetresKernel");
}

}  // namespace gpu
}  // namespace depthwatt
