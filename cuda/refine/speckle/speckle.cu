// SPDX-License-Identifier: Apache-2.0
// Speckle removal on CUDA; see speckle.h and README.md. Regions are first found inside tiles of 32 x 32 pixels, in shared memory; the
// whole image then joins only across the tiles' borders.
//
// parents [height][width]: a pixel refers to the first pixel of its tile's region, and that one to another region's first pixel or to
// itself (a root). Only roots are linked to another region, by compare-and-swap, and always to a lower index: this makes no cycle and
// loses no link.
// sizes [height][width]: pixels of a tile's region at its first pixel, of a whole region at its root, and 0 elsewhere. Counting a
// region stops at minPixels, because hundreds of tiles would add to one word.
#include "speckle_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kTile = 32, kSpeckleThreads = 256, kTileRows = kTile * kTile / kSpeckleThreads;
/// For kernels over the whole image: one thread's loads do not depend on each other.
constexpr int kPixels = 4;

__device__ __forceinline__ bool linked(int value, int other, int rangeQ4) {
  return value != kInvalidDisparity && other != kInvalidDisparity && abs(value - other) <= rangeQ4;
}

/// Returns the root of i, and halves the path for later searches. A stale value is an older ancestor, never a wrong
/// one.
__device__ int findRoot(volatile int32_t* parents, int i) {
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

/// Returns the root of i after all joins. Halving here would be wrong: it could overwrite a root that another thread
/// has written by an ancestor that is no root.
__device__ int foundRoot(const volatile int32_t* parents, int i) {
  int here = parents[i];
  for (int next = parents[here]; next != here; next = parents[here]) here = next;
  return here;
}

__device__ void join(int32_t* parents, int a, int b) {
  for (;;) {
    a = findRoot(parents, a);
    b = findRoot(parents, b);
    if (a == b) return;
    const int low = min(a, b), high = max(a, b);
    if (atomicCAS(&parents[high], high, low) == high) return;
  }
}

/// Joins within a tile, by atomic operations only. If the upper of the two is no root, its previous parent is joined
/// next: a lower place each time.
__device__ __forceinline__ void joinInTile(int32_t* parents, int a, int b) {
  while (a != b) {
    const int low = min(a, b), high = max(a, b);
    a = atomicMin(&parents[high], low);
    if (a == high) return;
    b = low;
  }
}

/// Returns the lane of the first pixel of a lane's run.
__device__ __forceinline__ int firstLane(uint32_t begins, int lane) {
  return 31 - __clz(static_cast<int>(begins & (kFullWarp >> (31 - lane))));
}

/// A warp has four rows of the tile. A ballot finds runs of linked pixels of a row; runs of two rows are joined at the
/// first linked pixel of each overlap, unless the pair to its left is linked the same way.
__global__ void __launch_bounds__(kSpeckleThreads)
    speckleTilesKernel(const int16_t* disparityQ4, int32_t* parents, int32_t* sizes, int width, int height,
                       int rangeQ4) {
  __shared__ int32_t above[kTile * kTile], counts[kTile * kTile];
  __shared__ int16_t lastRows[kSpeckleThreads / 32][kTile];
  __shared__ uint32_t lastBegins[kSpeckleThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, firstRow = kTileRows * warp;
  const int x = blockIdx.x * kTile + lane, top = blockIdx.y * kTile;
  untilKernelBefore();
  int values[kTileRows], lengths[kTileRows];
  uint32_t begins[kTileRows];
#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const int y = top + firstRow + r;
    values[r] = x < width && y < height ? disparityQ4[y * width + x] : kInvalidDisparity;
  }
#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const int at = (firstRow + r) * kTile + lane;
    const int left = __shfl_up_sync(kFullWarp, values[r], 1);
    begins[r] = __ballot_sync(kFullWarp, lane == 0 || !linked(values[r], left, rangeQ4));
    const uint32_t later = begins[r] & (0xfffffffeu << lane);
    const int end = later == 0 ? 32 : __ffs(static_cast<int>(later)) - 1;
    const bool first = (begins[r] >> lane & 1) != 0;
    lengths[r] = first && values[r] != kInvalidDisparity ? end - lane : 0;
    above[at] = (firstRow + r) * kTile + firstLane(begins[r], lane);
    counts[at] = lengths[r];
  }
  lastRows[warp][lane] = static_cast<int16_t>(values[kTileRows - 1]);
  if (lane == 0) lastBegins[warp] = begins[kTileRows - 1];
  __syncthreads();

#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const int row = firstRow + r;
    if (row == 0) continue;
    const int over = r > 0 ? values[max(r - 1, 0)] : lastRows[max(warp - 1, 0)][lane];
    const uint32_t beginsOver = r > 0 ? begins[max(r - 1, 0)] : lastBegins[max(warp - 1, 0)];
    const uint32_t links = __ballot_sync(kFullWarp, linked(values[r], over, rangeQ4));
    const uint32_t joins = links & ~(links << 1 & ~begins[r] & ~beginsOver);
    if ((joins >> lane & 1) != 0)
      joinInTile(above, row * kTile + firstLane(begins[r], lane), (row - 1) * kTile + firstLane(beginsOver, lane));
  }
  __syncthreads();

  int roots[kTileRows];
#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const int at = (firstRow + r) * kTile + lane;
    int root = (firstRow + r) * kTile + firstLane(begins[r], lane);
    for (int next = above[root]; next != root; next = above[root]) root = next;
    roots[r] = root;
    if (lengths[r] != 0 && root != at) atomicAdd(&counts[root], lengths[r]);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kTileRows; ++r) {
    const int y = top + firstRow + r, at = (firstRow + r) * kTile + lane;
    if (x >= width || y >= height) continue;
    parents[y * width + x] = (top + roots[r] / kTile) * width + blockIdx.x * kTile + roots[r] % kTile;
    sizes[y * width + x] = roots[r] == at ? counts[at] : 0;
  }
}

/// The pairs across the borders of tiles: `across` vertical ones, then the horizontal ones. A pair is skipped if the
/// previous one, along the border and inside the same two tiles, is linked the same way.
__global__ void __launch_bounds__(kSpeckleThreads)
    speckleJoinKernel(const int16_t* disparityQ4, int32_t* parents, int width, int height, int rangeQ4, int across,
                      int pairs) {
  untilKernelBefore();
  const int pair = blockIdx.x * kSpeckleThreads + threadIdx.x;
  if (pair >= pairs) return;
  const bool vertical = pair < across;
  const int along = vertical ? pair % width : (pair - across) % height;
  const int border = kTile * (1 + (vertical ? pair / width : (pair - across) / height));
  const int i = vertical ? border * width + along : along * width + border;
  const int other = i - (vertical ? width : 1), back = vertical ? 1 : width;
  const int value = disparityQ4[i], otherValue = disparityQ4[other];
  if (!linked(value, otherValue, rangeQ4)) return;
  if (along % kTile != 0) {
    const int before = disparityQ4[i - back], otherBefore = disparityQ4[other - back];
    if (linked(before, value, rangeQ4) && linked(otherBefore, otherValue, rangeQ4) &&
        linked(before, otherBefore, rangeQ4)) {
      return;
    }
  }
  join(parents, i, other);
}

__global__ void __launch_bounds__(kSpeckleThreads)
    speckleCountKernel(int32_t* parents, int32_t* sizes, int pixels, int minPixels) {
  untilKernelBefore();
  const int first = blockIdx.x * (kPixels * kSpeckleThreads) + threadIdx.x;
  int counted[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int i = first + k * kSpeckleThreads;
    counted[k] = i < pixels ? *static_cast<volatile int32_t*>(&sizes[i]) : 0;
  }
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int i = first + k * kSpeckleThreads;
    if (counted[k] == 0 || *static_cast<volatile int32_t*>(&parents[i]) == i) continue;  // no region, or it is a root
    const int root = foundRoot(parents, i);
    parents[i] = root;
    if (*static_cast<volatile int32_t*>(&sizes[root]) < minPixels) atomicAdd(&sizes[root], counted[k]);
  }
}

__global__ void __launch_bounds__(kSpeckleThreads)
    speckleRemoveKernel(int16_t* disparityQ4, uint8_t* confidence, const int32_t* parents, const int32_t* sizes,
                        int pixels, int minPixels) {
  untilKernelBefore();
  const int first = blockIdx.x * (kPixels * kSpeckleThreads) + threadIdx.x;
  int values[kPixels], regions[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int i = min(first + k * kSpeckleThreads, pixels - 1);
    values[k] = disparityQ4[i];
    regions[k] = parents[i];
  }
#pragma unroll
  for (int k = 0; k < kPixels; ++k) regions[k] = parents[regions[k]];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) regions[k] = sizes[regions[k]];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int i = first + k * kSpeckleThreads;
    if (i >= pixels || values[k] == kInvalidDisparity || regions[k] >= minPixels) continue;
    disparityQ4[i] = kInvalidDisparity;
    confidence[i] = 0;
  }
}

}  // namespace

Status speckle(const SpeckleParameters& parameters, int16_t* disparityQ4, uint8_t* confidence, int32_t* scratch,
               int32_t width, int32_t height, cudaStream_t stream) {
  static const bool overlaps = waitsForKernelBefore(reinterpret_cast<const void*>(speckleTilesKernel)) &&
                               waitsForKernelBefore(reinterpret_cast<const void*>(speckleJoinKernel)) &&
                               waitsForKernelBefore(reinterpret_cast<const void*>(speckleCountKernel)) &&
                               waitsForKernelBefore(reinterpret_cast<const void*>(speckleRemoveKernel));
  const int pixels = width * height, rangeQ4 = parameters.rangeQ4, minPixels = parameters.minPixels;
  int32_t* const parents = scratch;
  int32_t* const sizes = scratch + pixels;
  const int tilesX = (width + kTile - 1) / kTile, tilesY = (height + kTile - 1) / kTile;
  const auto shape = [&](dim3 grid) { return LaunchShape{grid, dim3(kSpeckleThreads), 0, stream, overlaps}; };
  const auto blockCount = [](int threads) { return (threads + kSpeckleThreads - 1) / kSpeckleThreads; };
  DEPTHWATT_TRY(launch("speckleTilesKernel", speckleTilesKernel, shape(dim3(tilesX, tilesY)), disparityQ4, parents,
                       sizes, width, height, rangeQ4));
  const int across = (tilesY - 1) * width, pairs = across + (tilesX - 1) * height;
  if (pairs > 0) {
    DEPTHWATT_TRY(launch("speckleJoinKernel", speckleJoinKernel, shape(dim3(blockCount(pairs))), disparityQ4, parents,
                         width, height, rangeQ4, across, pairs));
    DEPTHWATT_TRY(launch("speckleCountKernel", speckleCountKernel,
                         shape(dim3(blockCount((pixels + kPixels - 1) / kPixels))), parents, sizes, pixels, minPixels));
  }
  return launch("speckleRemoveKernel", speckleRemoveKernel, shape(dim3(blockCount((pixels + kPixels - 1) / kPixels))),
                disparityQ4, confidence, parents, sizes, pixels, minPixels);
}

}  // namespace gpu
}  // namespace depthwatt
