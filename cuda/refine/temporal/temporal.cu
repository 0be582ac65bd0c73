// SPDX-License-Identifier: Apache-2.0
// The temporal filter on CUDA: one kernel counts the moved pixels of each tile, a second one updates every pixel. Each thread processes
// one column of a tile.
#include "temporal_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 128;  // columns and threads of a block: 16 tiles in a row

/// The state in device memory, rows of `width` pixels, and the moved pixels of each tile.
struct DeviceState {
  int16_t* mean;
  uint8_t* weight;
  int16_t* reference;
  uint8_t* moved;
  uint32_t* movedCount;
  int32_t tilesAcross, tilesDown;
};

/// Sums three grey levels along a row; border pixels are replicated.
struct GreyRows {
  const uint8_t* grey;
  int32_t width, height, left, x, right;

  __device__ GreyRows(const uint8_t* grey, int32_t width, int32_t height, int32_t x)
      : grey(grey), width(width), height(height), left(max(x - 1, 0)), x(x), right(min(x + 1, width - 1)) {}
  __device__ int32_t sum(int32_t y) const {
    const uint8_t* row = grey + static_cast<size_t>(min(max(y, 0), height - 1)) * width;
    return row[left] + row[x] + row[right];
  }
};

/// Calls visit(index, b) for each pixel of a thread's column, from the top of the tile to its bottom.
template <class Visit>
__device__ void downTile(const GreyRows& rows, int32_t tileY, Visit visit) {
  const int32_t first = tileY * kTemporalTile, end = min(first + kTemporalTile, rows.height);
  int32_t above = rows.sum(first - 1), here = rows.sum(first);
  for (int32_t y = first; y < end; ++y) {
    const int32_t below = rows.sum(y + 1);
    visit(static_cast<size_t>(y) * rows.width + rows.x, (16 * (above + here + below) + 4) / 9);
    above = here;
    here = below;
  }
}

__global__ void __launch_bounds__(kColumns)
    movedKernel(const uint8_t* __restrict__ grey, DeviceState state, int32_t width, int32_t height) {
  const int32_t x = blockIdx.x * kColumns + threadIdx.x;
  uint32_t count = 0;
  if (x < width) {
    downTile(GreyRows(grey, width, height, x), blockIdx.y, [&](size_t at, int32_t b) {
      const int32_t reference = state.reference[at] & 4095;
      if (state.weight[at] >> 4 > 0 && abs(b - reference) > kMovedQ4) ++count;
    });
  }
  for (int lanes = 1; lanes < kTemporalTile; lanes *= 2) count += __shfl_xor_sync(0xffffffffu, count, lanes);
  if (x < width && x % kTemporalTile == 0) {
    state.moved[static_cast<size_t>(blockIdx.y) * state.tilesAcross + x / kTemporalTile] = static_cast<uint8_t>(count);
    if (count > 0) atomicAdd(state.movedCount, count);
  }
}

__device__ int32_t sharedOut(int32_t e, int32_t parts) {
  const int32_t share = (abs(e) + parts / 2) / parts;
  return e < 0 ? -share : share;
}

__global__ void __launch_bounds__(kColumns)
    meanKernel(const uint8_t* __restrict__ grey, int16_t* __restrict__ disparityQ4, DeviceState state, int32_t width,
               int32_t height) {
  const int32_t x = blockIdx.x * kColumns + threadIdx.x;
  if (x >= width) return;
  const int32_t tileX = x / kTemporalTile, tileY = blockIdx.y;
  bool reset = static_cast<int64_t>(kFrameShare) * *state.movedCount > static_cast<int64_t>(width) * height;
  for (int32_t v = max(tileY - 1, 0); v <= min(tileY + 1, state.tilesDown - 1); ++v) {
    for (int32_t u = max(tileX - 1, 0); u <= min(tileX + 1, state.tilesAcross - 1); ++u)
      reset = reset || state.moved[static_cast<size_t>(v) * state.tilesAcross + u] >= kTileMoved;
  }
  downTile(GreyRows(grey, width, height, x), tileY, [&](size_t at, int32_t b) {
    const int32_t disparity = disparityQ4[at];
    const bool valid = disparity != kInvalidDisparity;
    const int32_t weight = state.weight[at], stored = state.reference[at];
    int32_t mean = 16 * state.mean[at] + (weight & 15), frames = weight >> 4;
    int32_t misses = stored >> 12, reference = stored & 4095;
    bool fresh = reset || frames == 0;
    if (!fresh && valid) {
      const int32_t e = 16 * disparity - mean;
      if (abs(e) <= kGateQ8) {
        mean += sharedOut(e, frames + 1);
        frames = min(frames + 1, kTemporalFrames);
        misses = 0;
        reference += (b - reference) / 4;
      } else {
        fresh = ++misses == kTemporalMisses;
      }
    }
    if (fresh) mean = 16 * disparity, frames = valid ? 1 : 0, misses = 0, reference = b;
    state.mean[at] = static_cast<int16_t>(mean >> 4);
    state.weight[at] = static_cast<uint8_t>(frames << 4 | (mean & 15));
    state.reference[at] = static_cast<int16_t>(misses << 12 | reference);
    disparityQ4[at] = frames == 0 ? kInvalidDisparity : static_cast<int16_t>((mean + 8) >> 4);
  });
}

}  // namespace

Status temporal(const uint8_t* grey, int16_t* disparityQ4, const TemporalState& state, uint8_t* moved,
                uint32_t* movedCount, cudaStream_t stream) {
  const int32_t width = state.mean.width, height = state.mean.height;
  const DeviceState device = {state.mean.data, state.weight.data,    state.reference.data, moved,
                              movedCount,      temporalTiles(width), temporalTiles(height)};
  const dim3 blocks((width + kColumns - 1) / kColumns, temporalTiles(height));
  DEPTHWATT_CUDA(cudaMemsetAsync(movedCount, 0, sizeof(uint32_t), stream));
  movedKernel<<<blocks, kColumns, 0, stream>>>(grey, device, width, height);
  DEPTHWATT_TRY(launched("movedKernel"));
  meanKernel<<<blocks, kColumns, 0, stream>>>(grey, disparityQ4, device, width, height);
  return launched("meanKernel");
}

}  // namespace gpu
}  // namespace depthwatt
