// SPDX-License-Identifier: Apache-2.0
// Rectification in colours on CUDA, for matchers that need them; see rectify.h. One thread computes one pixel.
#include "../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

struct Packed {
  const uint8_t* data;
  int width, height;
  size_t strideBytes;
};

struct Weighted {
  int left, right, top, bottom;  ///< places of the four pixels
  int weights[4];                ///< of left top, right top, left bottom, right bottom
};

__device__ __forceinline__ int colourAt(const Packed& s, int x, int y, int colour) {
  return s.data[static_cast<size_t>(y) * s.strideBytes + 3 * x + colour];
}

__device__ __forceinline__ uint8_t between(const Packed& s, const Weighted& w, int colour) {
  const int sum = w.weights[0] * colourAt(s, w.left, w.top, colour) + w.weights[1] * colourAt(s, w.right, w.top, colour) +
                  w.weights[2] * colourAt(s, w.left, w.bottom, colour) + w.weights[3] * colourAt(s, w.right, w.bottom, colour);
  return static_cast<uint8_t>((sum + 512) >> 10);
}

__global__ void __launch_bounds__(256) rectifyRgbKernel(Packed source, const int32_t* map, Rgb8* out, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  Weighted w = {x, x, y, y, {1024, 0, 0, 0}};
  if (map != nullptr) {
    const int2 from = reinterpret_cast<const int2*>(map)[index];
    const int x0 = from.x >> 5, y0 = from.y >> 5;  // floor, also below 0
    const int fx = from.x & 31, fy = from.y & 31;
    w.left = min(max(x0, 0), source.width - 1), w.right = min(max(x0 + 1, 0), source.width - 1);
    w.top = min(max(y0, 0), source.height - 1), w.bottom = min(max(y0 + 1, 0), source.height - 1);
    w.weights[0] = (32 - fx) * (32 - fy), w.weights[1] = fx * (32 - fy);
    w.weights[2] = (32 - fx) * fy, w.weights[3] = fx * fy;
  }
  Rgb8& pixel = out[index];
  pixel.red = between(source, w, 0);
  pixel.green = between(source, w, 1);
  pixel.blue = between(source, w, 2);
}

__global__ void __launch_bounds__(256) greyAsRgbKernel(const uint8_t* grey, Rgb8* out, int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  Rgb8& pixel = out[i];
  pixel.red = pixel.green = pixel.blue = grey[i];
}

}  // namespace

Status rectifyRgb(const RectifySource& source, const int32_t* map, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream) {
  const Packed view = {source.data, source.width, source.height, source.strideBytes};
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  rectifyRgbKernel<<<grid, dim3(32, 8), 0, stream>>>(view, map, out, width, height);
  return launched("rectifyRgbKernel");
}

Status greyAsRgb(const uint8_t* grey, Rgb8* out, int32_t width, int32_t height, cudaStream_t stream) {
  const int pixels = width * height;
  greyAsRgbKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(grey, out, pixels);
  return launched("greyAsRgbKernel");
}

}  // namespace gpu
}  // namespace depthwatt
