// SPDX-License-Identifier: Apache-2.0
// Speckle filter on CUDA; see speckle.h.
// Union-find over pixels: each pixel's parent is itself or a pixel before it; joining two regions hangs the later root under
// the earlier one with an atomic minimum, so the result does not depend on the order in which threads run.
// scratch: parents [height][width], then sizes [height][width].
#include "../../gpu/kernels.h"

namespace depthwatt {
namespace gpu {
namespace {

__device__ int rootOf(const volatile int32_t* parents, int i) {
  int parent = parents[i];
  while (parent != i) {
    i = parent;
    parent = parents[i];
  }
  return i;
}

__device__ void join(int32_t* parents, int a, int b) {
  for (;;) {
    a = rootOf(parents, a);
    b = rootOf(parents, b);
    if (a == b) return;
    const int low = min(a, b), high = max(a, b);
    const int before = atomicMin(&parents[high], low);
    if (before == high) return;
    // Somebody else has hung `high` elsewhere meanwhile: what it hung under must be joined too.
    a = low;
    b = before;
  }
}

__global__ void __launch_bounds__(256) speckleBeginKernel(int32_t* parents, int32_t* sizes, int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  parents[i] = i;
  sizes[i] = 0;
}

__global__ void __launch_bounds__(256)
    speckleJoinKernel(const int16_t* disparityQ4, int32_t* parents, int width, int pixels, int rangeQ4) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  const int value = disparityQ4[i];
  if (value == kInvalidDisparity) return;
  if (i % width != 0) {
    const int left = disparityQ4[i - 1];
    if (left != kInvalidDisparity && abs(value - left) <= rangeQ4) join(parents, i, i - 1);
  }
  if (i >= width) {
    const int above = disparityQ4[i - width];
    if (above != kInvalidDisparity && abs(value - above) <= rangeQ4) join(parents, i, i - width);
  }
}

__global__ void __launch_bounds__(256) speckleCountKernel(int32_t* parents, int32_t* sizes, int pixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < pixels) atomicAdd(&sizes[rootOf(parents, i)], 1);
}

__global__ void __launch_bounds__(256)
    speckleRemoveKernel(int16_t* disparityQ4, uint8_t* confidence, const int32_t* parents, const int32_t* sizes,
                        int pixels, int minPixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels || disparityQ4[i] == kInvalidDisparity || sizes[rootOf(parents, i)] >= minPixels) return;
  disparityQ4[i] = kInvalidDisparity;
  confidence[i] = 0;
}

}  // namespace

Status speckle(const SpeckleParameters& parameters, int16_t* disparityQ4, uint8_t* confidence, int32_t* scratch,
               int32_t width, int32_t height, cudaStream_t stream) {
  const int pixels = width * height, blocks = (pixels + 255) / 256;
  int32_t* sizes = scratch + pixels;
  speckleBeginKernel<<<blocks, 256, 0, stream>>>(scratch, sizes, pixels);
  speckleJoinKernel<<<blocks, 256, 0, stream>>>(disparityQ4, scratch, width, pixels, parameters.rangeQ4);
  speckleCountKernel<<<blocks, 256, 0, stream>>>(scratch, sizes, pixels);
  speckleRemoveKernel<<<blocks, 256, 0, stream>>>(disparityQ4, confidence, scratch, sizes, pixels, parameters.minPixels);
  return launched("speckle kernels");
}

}  // namespace gpu
}  // namespace depthwatt
