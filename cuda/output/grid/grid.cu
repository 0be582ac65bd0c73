// SPDX-License-Identifier: Apache-2.0
// The grid on CUDA; see grid.h. One thread for a few neighbours in a row, which are often in one cell, then one per cell. Each
// block rounds the plan, because the floor stays on the device.
#include "../../device/check.h"
#include "grid_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kRun = 4;

/// Counts the pixels of all cells. @param counts [kGridDrop][cells], zero
__global__ void __launch_bounds__(kThreads)
    countGridKernel(GridParameters parameters, const double* floor, const int16_t* disparityQ4,
                    const uint8_t* confidence, int width, int height, int32_t* counts) {
  __shared__ GridPlan shared;
  if (floor[kFloorIsThere] == 0) return;
  const int columns = (width + parameters.stepX - 1) / parameters.stepX, runs = (columns + kRun - 1) / kRun;
  const int thread = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int y = thread / runs, first = thread % runs * kRun;
  // Loaded while one thread rounds the plan.
  int16_t disparities[kRun];
  uint8_t confidences[kRun];
#pragma unroll
  for (int k = 0; k < kRun; ++k) {
    const int x = (first + k) * parameters.stepX;
    const bool isInside = x < width && y < height;
    const size_t at = static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
    disparities[k] = isInside ? disparityQ4[at] : kInvalidDisparity;
    confidences[k] = isInside ? confidence[at] : 0;
  }
  if (threadIdx.x == 0) shared = makeGridPlan(parameters, filteredFloor(floor), width, height);
  __syncthreads();
  const GridPlan& plan = shared;
  const int cells = plan.aheadCells * plan.leftCells;
  int before = -1, pixels = 0;
#pragma unroll
  for (int k = 0; k < kRun; ++k) {
    const int x = (first + k) * parameters.stepX;
    const int64_t d = int64_t{disparities[k]} + plan.offsetQ4;
    if (disparities[k] == kInvalidDisparity || confidences[k] == 0 || d < kGridLeastQ4) continue;
    const int64_t p = plan.a * x + plan.b * y + plan.c, r = 65536 * d - p;
    const bool isAbove = r > d * plan.obstacle + plan.error;
    if (isAbove && r > d * plan.tall) continue;
    int64_t q = isAbove ? d : p >> 16;
    if (q < kGridLeastQ4) continue;
    if (q > kGridLargestQ4) q = kGridLargestQ4;
    const int64_t inverse = (1u << 30) / static_cast<uint32_t>(q);
    const int64_t ahead = plan.ahead[0] * x + plan.ahead[1] * y + plan.ahead[2];
    const int64_t left = plan.left[0] * x + plan.left[1] * y + plan.left[2];
    const int64_t column = (((ahead * inverse) >> 30) + plan.aheadShift) >> 8;
    const int64_t row = (((left * inverse) >> 30) + plan.leftShift) >> 8;
    if (column < 0 || column >= plan.aheadCells || row < 0 || row >= plan.leftCells) continue;
    const bool isBelow = -r > d * plan.drop + plan.error;
    const int state = isAbove ? kGridOccupied : isBelow ? kGridDrop : kGridFree;
    const int cell = (state - 1) * cells + static_cast<int>(column) * plan.leftCells + static_cast<int>(row);
    if (cell != before) {
      if (before >= 0) atomicAdd(counts + before, pixels);
      before = cell;
      pixels = 0;
    }
    ++pixels;
  }
  if (before >= 0) atomicAdd(counts + before, pixels);
}

/// Decides every cell, and clears its pixels for the next frame.
__global__ void __launch_bounds__(kThreads)
    decideGridKernel(const double* floor, int cells, int minPixels, int32_t* counts, uint8_t* states) {
  const int cell = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (cell >= cells) return;
  if (floor[kFloorIsThere] == 0) {
    states[cell] = kGridUnknown;
    return;
  }
  int32_t pixels[3];
#pragma unroll
  for (int state = 0; state < 3; ++state) {
    pixels[state] = counts[state * cells + cell];
    if (pixels[state] != 0) counts[state * cells + cell] = 0;
  }
  const int32_t free = pixels[kGridFree - 1], occupied = pixels[kGridOccupied - 1], drop = pixels[kGridDrop - 1];
  states[cell] = occupied >= minPixels                        ? kGridOccupied
                 : drop >= minPixels                          ? kGridDrop
                 : free >= 1 && free >= 8 * (occupied + drop) ? kGridFree
                                                              : kGridUnknown;
}

}  // namespace

Status GridWorkspace::open(const GridParameters& parameters, int32_t width, int32_t height) {
  parameters_ = parameters;
  width_ = width, height_ = height;
  DEPTHWATT_TRY(counts_.allocate(3 * gridCells(parameters)));
  return cudaStatus(cudaMemset(counts_.get(), 0, counts_.bytes()), "clearing of the grid");
}

Status GridWorkspace::compute(const int16_t* disparityQ4, const uint8_t* confidence, const double* floor,
                              uint8_t* cells, cudaStream_t stream) const {
  const int columns = (width_ + parameters_.stepX - 1) / parameters_.stepX, runs = (columns + kRun - 1) / kRun;
  const int count = static_cast<int>(gridCells(parameters_));
  countGridKernel<<<static_cast<unsigned>((runs * height_ + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      parameters_, floor, disparityQ4, confidence, width_, height_, counts_.get());
  DEPTHWATT_TRY(launched("countGridKernel"));
  decideGridKernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      floor, count, parameters_.minPixels, counts_.get(), cells);
  return launched("decideGridKernel");
}

}  // namespace gpu
}  // namespace depthwatt
