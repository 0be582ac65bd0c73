// SPDX-License-Identifier: Apache-2.0
// Doubles a disparity map and its confidence on CUDA; see upscale.h. One thread per pixel of the result.
#include "upscale.h"

#include "upscale_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

struct UpscaleArguments {
  int thresholdQ4;
  const uint8_t* grey;
  const int16_t* half;
  const uint8_t* halfConfidence;
  int16_t* result;
  uint8_t* confidence;
  int width, height, halfWidth, halfHeight;
};

/// Returns F of the header at full column x of half row y.
__device__ int wide(const UpscaleArguments& a, int x, int y) {
  const int16_t* row = a.half + static_cast<size_t>(y) * a.halfWidth;
  const int l = row[x / 2];
  if (x % 2 == 0 || x / 2 + 1 >= a.halfWidth) return l == kInvalidDisparity ? l : 2 * l;
  const int r = row[x / 2 + 1];
  if (l == kInvalidDisparity) return r == kInvalidDisparity ? r : 2 * r;
  if (r == kInvalidDisparity) return 2 * l;
  if (abs(l - r) <= a.thresholdQ4) return l + r;
  const uint8_t* grey = a.grey + static_cast<size_t>(2 * y) * a.width + x;
  const int own = grey[0];
  return abs(grey[-1] - own) <= abs(grey[1] - own) ? 2 * l : 2 * r;
}

__global__ void __launch_bounds__(256) upscaleKernel(UpscaleArguments a) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= a.width || y >= a.height) return;
  int value = wide(a, x, y / 2);
  if (y % 2 == 1 && y / 2 + 1 < a.halfHeight) {
    const int below = wide(a, x, y / 2 + 1);
    if (value == kInvalidDisparity) value = below;
    else if (below != kInvalidDisparity) value = (value + below + 1) / 2;
  }
  const size_t at = static_cast<size_t>(y) * a.width + x;
  a.result[at] = static_cast<int16_t>(value);
  a.confidence[at] = a.halfConfidence[static_cast<size_t>(y / 2) * a.halfWidth + x / 2];
}

}  // namespace

Status upscale(int32_t thresholdQ4, const uint8_t* grey, const int16_t* half, const uint8_t* halfConfidence,
               int16_t* result, uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream) {
  const UpscaleArguments arguments = {thresholdQ4, grey,  half,   halfConfidence,  result,
                                      confidence,  width, height, (width + 1) / 2, (height + 1) / 2};
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  upscaleKernel<<<grid, dim3(32, 8), 0, stream>>>(arguments);
  return launched("upscaleKernel");
}

}  // namespace gpu
}  // namespace depthwatt
