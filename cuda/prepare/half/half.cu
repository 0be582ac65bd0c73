// SPDX-License-Identifier: Apache-2.0
// Halves images on CUDA; see half.h. One thread per pixel of one result.
#include "half.h"

#include "half_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

__global__ void __launch_bounds__(256) halfKernel(const uint8_t* left, const uint8_t* right, uint8_t* leftOut,
                                                  uint8_t* rightOut, int width, int height, int inWidth, int inHeight) {
  const uint8_t* in = blockIdx.z == 0 ? left : right;
  uint8_t* out = blockIdx.z == 0 ? leftOut : rightOut;
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 4;
#pragma unroll
  for (int j = -1; j <= 1; ++j) {
    const uint8_t* row = in + static_cast<size_t>(min(max(2 * y + j, 0), inHeight - 1)) * inWidth;
#pragma unroll
    for (int i = -1; i <= 1; ++i) sum += row[min(max(2 * x + i, 0), inWidth - 1)];
  }
  out[static_cast<size_t>(y) * width + x] = static_cast<uint8_t>(sum / 9);
}

/// Halves one image.
__global__ void __launch_bounds__(256)
    halfRgbKernel(const Rgb8* in, Rgb8* out, int width, int height, int inWidth, int inHeight) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  int red = 4, green = 4, blue = 4;
#pragma unroll
  for (int j = -1; j <= 1; ++j) {
    const Rgb8* row = in + static_cast<size_t>(min(max(2 * y + j, 0), inHeight - 1)) * inWidth;
#pragma unroll
    for (int i = -1; i <= 1; ++i) {
      const Rgb8 pixel = row[min(max(2 * x + i, 0), inWidth - 1)];
      red += pixel.red, green += pixel.green, blue += pixel.blue;
    }
  }
  Rgb8& result = out[static_cast<size_t>(y) * width + x];
  result.red = static_cast<uint8_t>(red / 9);
  result.green = static_cast<uint8_t>(green / 9);
  result.blue = static_cast<uint8_t>(blue / 9);
}

}  // namespace

Status half(const uint8_t* left, const uint8_t* right, uint8_t* leftOut, uint8_t* rightOut, int32_t inWidth,
            int32_t inHeight, cudaStream_t stream) {
  const int width = halfSide(inWidth), height = halfSide(inHeight);
  const dim3 grid((width + 31) / 32, (height + 7) / 8, 2);
  halfKernel<<<grid, dim3(32, 8), 0, stream>>>(left, right, leftOut, rightOut, width, height, inWidth, inHeight);
  return launched("halfKernel");
}

Status halfRgb(const Rgb8* in, Rgb8* out, int32_t inWidth, int32_t inHeight, cudaStream_t stream) {
  const int width = halfSide(inWidth), height = halfSide(inHeight);
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  halfRgbKernel<<<grid, dim3(32, 8), 0, stream>>>(in, out, width, height, inWidth, inHeight);
  return launched("halfRgbKernel");
}

}  // namespace gpu
}  // namespace depthwatt
