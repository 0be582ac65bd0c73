// SPDX-License-Identifier: Apache-2.0
// Voxels on CUDA; see voxels.h. One thread per pixel, three kernels:
//   insertKernel  puts each pixel's voxel into a hash table and keeps the voxel's smallest pixel, in any order of threads
//   countKernel   counts the pixels of each block that are the first of their voxel
//   listKernel    writes those voxels, after the ones of all blocks before
// A pixel in the voxel of the pixel before it is not the first: it skips the table.
#include "../../device/check.h"
#include "../../device/traits.h"
#include "voxels_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned long long kNoVoxel = ~0ull;
constexpr uint32_t kNoPlace = 0xffffffffu;

struct VoxelsArguments {
  const int16_t* disparityQ4;
  const int32_t *columns, *rows;
  const uint32_t* depths;
  const int64_t* halfBaseline;
  unsigned long long* keys;
  uint32_t *firsts, *places, *counts;
  Voxel* voxels;
  int width, pixels, shift, blocks;
};

__device__ __forceinline__ unsigned long long fitted(int64_t x, int64_t y, int64_t z, uint32_t level) {
  const auto cell = [](int64_t c) { return static_cast<unsigned long long>(c + 32768); };
  if ((cell(x) | cell(y) | cell(z)) >> 16 != 0) return kNoVoxel;
  const auto bits = [](int64_t c) { return static_cast<unsigned long long>(c) & 0xffffu; };
  return bits(x) | bits(y) << 16 | bits(z) << 32 | static_cast<unsigned long long>(level) << 48;
}

template <bool kRobot>
__device__ __forceinline__ unsigned long long voxelAt(const VoxelsArguments& a, int i) {
  const uint32_t depth = a.depths[static_cast<uint16_t>(a.disparityQ4[i])];
  if (depth == 0) return kNoVoxel;
  const int y = i / a.width;
  const int64_t q = depth >> 3, right = a.columns[i - y * a.width] * q, along = a.rows[y] * q >> 28;
  const uint32_t level = depth & 7;
  if (kRobot) return fitted(q >> 12, (a.halfBaseline[level] - (right >> 16)) >> 12, along, level);
  return fitted(right >> 28, along, q >> 12, level);
}

template <bool kRobot>
__global__ void __launch_bounds__(kThreads) insertKernel(VoxelsArguments a) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const unsigned long long voxel = i < a.pixels ? voxelAt<kRobot>(a, i) : kNoVoxel;
  const uint32_t low = __shfl_up_sync(kFullWarp, static_cast<uint32_t>(voxel), 1);
  const uint32_t high = __shfl_up_sync(kFullWarp, static_cast<uint32_t>(voxel >> 32), 1);
  if (i >= a.pixels) return;
  const bool repeats = threadIdx.x % 32 > 0 && voxel == (static_cast<unsigned long long>(high) << 32 | low);
  if (voxel == kNoVoxel || repeats) {
    a.places[i] = kNoPlace;
    return;
  }
  const uint32_t mask = 0xffffffffu >> (a.shift - 32);
  uint32_t at = static_cast<uint32_t>(voxel * 0x9e3779b97f4a7c15ull >> a.shift);
  // The table has twice as many places as there are pixels.
  for (;; at = (at + 1) & mask) {
    const unsigned long long there = atomicCAS(a.keys + at, kNoVoxel, voxel);
    if (there == kNoVoxel || there == voxel) break;
  }
  atomicMin(a.firsts + at, static_cast<uint32_t>(i));
  a.places[i] = at;
}

/// Returns the thread's place in the table if its pixel is the first of a voxel.
__device__ __forceinline__ uint32_t firstPlace(const VoxelsArguments& a, int i) {
  const uint32_t place = i < a.pixels ? a.places[i] : kNoPlace;
  return place != kNoPlace && a.firsts[place] == static_cast<uint32_t>(i) ? place : kNoPlace;
}

__global__ void __launch_bounds__(kThreads) countKernel(VoxelsArguments a) {
  __shared__ uint32_t warps[kWarps];
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const uint32_t firsts = __ballot_sync(kFullWarp, firstPlace(a, i) != kNoPlace);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = static_cast<uint32_t>(__popc(firsts));
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t count = 0;
  for (int w = 0; w < kWarps; ++w) count += warps[w];
  a.counts[blockIdx.x] = count;
}

__global__ void __launch_bounds__(kThreads) listKernel(VoxelsArguments a) {
  __shared__ uint32_t warps[kWarps], sums[kWarps];
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  uint32_t before = 0;
  for (uint32_t b = threadIdx.x; b < blockIdx.x; b += kThreads) before += a.counts[b];
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2) before += __shfl_xor_sync(kFullWarp, before, bit);
  const uint32_t place = firstPlace(a, i);
  const uint32_t firsts = __ballot_sync(kFullWarp, place != kNoPlace);
  if (lane == 0) warps[warp] = static_cast<uint32_t>(__popc(firsts)), sums[warp] = before;
  __syncthreads();
  uint32_t at = static_cast<uint32_t>(__popc(firsts & ((1u << lane) - 1u))), all = 0;
  for (int w = 0; w < kWarps; ++w) {
    at += sums[w] + (w < warp ? warps[w] : 0u);
    all += sums[w] + warps[w];
  }
  auto* const out = reinterpret_cast<unsigned long long*>(a.voxels);
  if (place != kNoPlace) out[1 + at] = a.keys[place];
  if (threadIdx.x == 0 && static_cast<int>(blockIdx.x) + 1 == a.blocks) out[0] = all;
}

int blockCount(int pixels) { return (pixels + kThreads - 1) / kThreads; }

template <class T>
Status upload(DeviceBuffer<T>& to, const T* from, size_t count) {
  DEPTHWATT_TRY(to.allocate(count));
  return cudaStatus(cudaMemcpy(to.get(), from, to.bytes(), cudaMemcpyHostToDevice), "plan of the voxels");
}

}  // namespace

Status VoxelsWorkspace::open(const VoxelsPlan& plan, int32_t width, int32_t height) {
  width_ = width, pixels_ = width * height, robot_ = plan.robot;
  int bits = 4;
  while ((size_t{1} << bits) < 2 * static_cast<size_t>(pixels_)) ++bits;
  shift_ = 64 - bits;
  std::vector<int32_t> rays = plan.columns;
  rays.insert(rays.end(), plan.rows.begin(), plan.rows.end());
  DEPTHWATT_TRY(upload(rays_, rays.data(), rays.size()));
  DEPTHWATT_TRY(upload(depths_, plan.depths.data(), plan.depths.size()));
  DEPTHWATT_TRY(upload(halfBaseline_, plan.halfBaseline, kVoxelLevels));
  DEPTHWATT_TRY(keys_.allocate(size_t{1} << bits));
  DEPTHWATT_TRY(firsts_.allocate(size_t{1} << bits));
  DEPTHWATT_TRY(places_.allocate(static_cast<size_t>(pixels_)));
  return counts_.allocate(static_cast<size_t>(blockCount(pixels_)));
}

size_t VoxelsWorkspace::bytes() const {
  return rays_.bytes() + depths_.bytes() + halfBaseline_.bytes() + keys_.bytes() + firsts_.bytes() + places_.bytes() +
         counts_.bytes();
}

Status VoxelsWorkspace::compute(const int16_t* disparityQ4, Voxel* voxels, cudaStream_t stream) const {
  VoxelsArguments a = {};
  a.disparityQ4 = disparityQ4, a.voxels = voxels;
  a.columns = rays_.get(), a.rows = rays_.get() + width_;
  a.depths = depths_.get(), a.halfBaseline = halfBaseline_.get();
  a.keys = keys_.get(), a.firsts = firsts_.get(), a.places = places_.get(), a.counts = counts_.get();
  a.width = width_, a.pixels = pixels_, a.shift = shift_, a.blocks = blockCount(pixels_);
  DEPTHWATT_CUDA(cudaMemsetAsync(keys_.get(), 0xff, keys_.bytes(), stream));
  DEPTHWATT_CUDA(cudaMemsetAsync(firsts_.get(), 0xff, firsts_.bytes(), stream));
  const auto insert = robot_ ? insertKernel<true> : insertKernel<false>;
  insert<<<a.blocks, kThreads, 0, stream>>>(a);
  DEPTHWATT_TRY(launched("voxels insertKernel"));
  countKernel<<<a.blocks, kThreads, 0, stream>>>(a);
  DEPTHWATT_TRY(launched("voxels countKernel"));
  listKernel<<<a.blocks, kThreads, 0, stream>>>(a);
  return launched("voxels listKernel");
}

}  // namespace gpu
}  // namespace depthwatt
