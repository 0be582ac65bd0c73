// SPDX-License-Identifier: Apache-2.0
// 3 x 3 median on CUDA; see median.h.
// One thread computes one pixel; the nine values are read through the first-level cache. The median of nine is the
// median of (largest of the columns' smallest, median of their medians, smallest of their largest).
#include "median_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kInvalid = kInvalidDisparity;

__device__ __forceinline__ void order(int& a, int& b) {
  const int low = min(a, b);
  b = max(a, b);
  a = low;
}

__device__ __forceinline__ int medianOfThree(int a, int b, int c) { return max(min(a, b), min(max(a, b), c)); }

__global__ void __launch_bounds__(256) medianKernel(const int16_t* in, int16_t* out, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  untilKernelBefore();
  if (x >= width || y >= height) return;
  const size_t index = static_cast<size_t>(y) * width + x;
  const int centre = in[index];
  if (centre == kInvalid) {
    out[index] = kInvalidDisparity;
    return;
  }
  int v[3][3];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const int16_t* row = in + static_cast<size_t>(min(max(y + j - 1, 0), height - 1)) * width;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const int value = row[min(max(x + i - 1, 0), width - 1)];
      v[i][j] = value == kInvalid ? centre : value;
    }
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    order(v[i][0], v[i][1]);
    order(v[i][1], v[i][2]);
    order(v[i][0], v[i][1]);
  }
  const int smallest = max(max(v[0][0], v[1][0]), v[2][0]);
  const int middle = medianOfThree(v[0][1], v[1][1], v[2][1]);
  const int largest = min(min(v[0][2], v[1][2]), v[2][2]);
  out[index] = static_cast<int16_t>(medianOfThree(smallest, middle, largest));
}

}  // namespace

Status median(const int16_t* in, int16_t* out, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(medianKernel));
  return launch("medianKernel", medianKernel, LaunchShape{grid, dim3(32, 8), 0, stream, overlaps}, in, out, width,
                height);
}

}  // namespace gpu
}  // namespace depthwatt
