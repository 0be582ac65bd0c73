// SPDX-License-Identifier: Apache-2.0
// Removal of speckles on CUDA: a union-find whose nodes are runs, linked pixels of one row; see speckle.h and README.md.
//
// parents [height][width]: a pixel names the first pixel of its run, and that one another run's first pixel or itself (a
// root). Only roots are hung elsewhere, by compare-and-swap, and always under a lower index: no cycle, and no link is lost.
// sizes [height][width]: pixels of a run at its first pixel, of a region at its root, and nothing elsewhere. A region that has
// reached minPixels is not counted further: thousands of runs would add to one word.
#include "../../gpu/kernels.h"
#include "../../gpu/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kRunWarps = 4;

__device__ __forceinline__ bool linked(int value, int other, int rangeQ4) {
  return value != kInvalidDisparity && other != kInvalidDisparity && abs(value - other) <= rangeQ4;
}

/// The root of i; halves the way for those who come later. A value that is read late is an older ancestor, never a wrong one.
__device__ int rootOf(volatile int32_t* parents, int i) {
  int before = i, here = parents[i];
  while (here != before) {
    const int next = parents[here];
    if (next == here) break;
    parents[before] = next;
    before = here;
    here = next;
  }
  return here;
}

/// The root of i where nobody joins any more. Halving here would be wrong: it could put an ancestor that is no root over one
/// that another thread has written.
__device__ int foundRoot(const volatile int32_t* parents, int i) {
  int here = parents[i];
  for (int next = parents[here]; next != here; next = parents[here]) here = next;
  return here;
}

__device__ void join(int32_t* parents, int a, int b) {
  for (;;) {
    a = rootOf(parents, a);
    b = rootOf(parents, b);
    if (a == b) return;
    const int low = min(a, b), high = max(a, b);
    if (atomicCAS(&parents[high], high, low) == high) return;
  }
}

/// A warp follows one row.
__global__ void __launch_bounds__(32 * kRunWarps)
    speckleRunsKernel(const int16_t* disparityQ4, int32_t* parents, int32_t* sizes, int width, int height,
                      int rangeQ4) {
  const int lane = threadIdx.x & 31, y = blockIdx.x * kRunWarps + (threadIdx.x >> 5);
  if (y >= height) return;
  const int row = y * width;
  int running = 0;               // first pixel of the run that comes from the 32 pixels before
  int left = kInvalidDisparity;  // their last disparity
  for (int x0 = 0; x0 < width; x0 += 32) {
    const int x = x0 + lane;
    const int value = x < width ? disparityQ4[row + x] : kInvalidDisparity;
    const int right = x + 1 < width ? disparityQ4[row + x + 1] : kInvalidDisparity;
    int before = __shfl_up_sync(kFullWarp, value, 1);
    before = lane == 0 ? left : before;
    left = __shfl_sync(kFullWarp, value, 31);
    const uint32_t begins = __ballot_sync(kFullWarp, !linked(value, before, rangeQ4)) & (0xffffffffu >> (31 - lane));
    const int first = begins != 0 ? x0 + 31 - __clz(begins) : running;
    running = __shfl_sync(kFullWarp, first, 31);
    if (x >= width) continue;
    parents[row + x] = row + first;
    if (!linked(value, right, rangeQ4)) sizes[row + first] = value == kInvalidDisparity ? 0 : x - first + 1;
    if (x != first) sizes[row + x] = 0;
  }
}

/// Each overlap of two runs is joined at its first linked pixel, where the pair to its left is not linked the same way.
__global__ void __launch_bounds__(256)
    speckleJoinKernel(const int16_t* disparityQ4, int32_t* parents, int width, int height, int rangeQ4) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y + 1;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  const int value = disparityQ4[i], above = disparityQ4[i - width];
  if (!linked(value, above, rangeQ4)) return;
  if (x > 0) {
    const int left = disparityQ4[i - 1], corner = disparityQ4[i - width - 1];
    if (linked(left, value, rangeQ4) && linked(corner, above, rangeQ4) && linked(left, corner, rangeQ4)) return;
  }
  join(parents, i, i - width);
}

__global__ void __launch_bounds__(256) speckleCountKernel(int32_t* parents, int32_t* sizes, int pixels, int minPixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels) return;
  const int size = sizes[i];
  if (size == 0 || parents[i] == i) return;  // no run begins here, or it is a root
  const int root = foundRoot(parents, i);
  parents[i] = root;
  if (*static_cast<volatile int32_t*>(&sizes[root]) < minPixels) atomicAdd(&sizes[root], size);
}

__global__ void __launch_bounds__(256)
    speckleRemoveKernel(int16_t* disparityQ4, uint8_t* confidence, const int32_t* parents, const int32_t* sizes,
                        int pixels, int minPixels) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= pixels || disparityQ4[i] == kInvalidDisparity) return;
  if (sizes[parents[parents[i]]] >= minPixels) return;
  disparityQ4[i] = kInvalidDisparity;
  confidence[i] = 0;
}

}  // namespace

Status speckle(const SpeckleParameters& parameters, int16_t* disparityQ4, uint8_t* confidence, int32_t* scratch,
               int32_t width, int32_t height, cudaStream_t stream) {
  const int pixels = width * height, blocks = (pixels + 255) / 256;
  int32_t* const parents = scratch;
  int32_t* const sizes = scratch + pixels;
  const int rowBlocks = (height + kRunWarps - 1) / kRunWarps, rangeQ4 = parameters.rangeQ4;
  speckleRunsKernel<<<rowBlocks, 32 * kRunWarps, 0, stream>>>(disparityQ4, parents, sizes, width, height, rangeQ4);
  DEPTHWATT_TRY(launched("speckleRunsKernel"));
  if (height > 1) {
    const dim3 grid((width + 31) / 32, (height + 6) / 8);
    speckleJoinKernel<<<grid, dim3(32, 8), 0, stream>>>(disparityQ4, parents, width, height, rangeQ4);
    DEPTHWATT_TRY(launched("speckleJoinKernel"));
  }
  speckleCountKernel<<<blocks, 256, 0, stream>>>(parents, sizes, pixels, parameters.minPixels);
  DEPTHWATT_TRY(launched("speckleCountKernel"));
  speckleRemoveKernel<<<blocks, 256, 0, stream>>>(disparityQ4, confidence, parents, sizes, pixels,
                                                  parameters.minPixels);
  return launched("speckleRemoveKernel");
}

}  // namespace gpu
}  // namespace depthwatt
