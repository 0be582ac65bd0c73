// SPDX-License-Identifier: Apache-2.0
// Reverses the columns of an image (mirror.h). One thread per pixel.
#include "mirror_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 4;

template <class Pixel>
__global__ void __launch_bounds__(128) mirrorKernel(const Pixel* from, Pixel* to, int width, int height) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t row = static_cast<size_t>(y) * width;
  to[row + x] = from[row + width - 1 - x];
}

template <class Pixel>
Status mirror(const Pixel* from, Pixel* to, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + kBlockX - 1) / kBlockX, (height + kBlockY - 1) / kBlockY);
  mirrorKernel<Pixel><<<grid, dim3(kBlockX, kBlockY), 0, stream>>>(from, to, width, height);
  return launched("mirrorKernel");
}

}  // namespace

Status mirrorColumns(const uint8_t* from, uint8_t* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}
Status mirrorColumns(const Rgb8* from, Rgb8* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}
Status mirrorColumns(const int16_t* from, int16_t* to, int32_t width, int32_t height, cudaStream_t stream) {
  return mirror(from, to, width, height, stream);
}

}  // namespace gpu
}  // namespace depthwatt
