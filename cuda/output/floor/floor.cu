// SPDX-License-Identifier: Apache-2.0
// The floor on CUDA; see floor.h. Three kernels: the cells are gathered, a block scores a candidate, and one block fits the best
// candidates in turn, follows the floor over time and writes the numbers.
#include "../../device/check.h"
#include "../../device/traits.h"
#include "floor_gpu.h"
#include "wide.cuh"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kWarp = 32;
constexpr int kGatherThreads = 256;
constexpr int kScoreWarps = kFloorRows / kFloorBand;
constexpr int kChooseThreads = 512;
constexpr int kChooseWarps = kChooseThreads / kWarp;
constexpr int kCellsEach = kFloorCells / kChooseThreads;
static_assert(kFloorColumns == 2 * kWarp && kFloorBand <= kWarp, "lanes of a candidate");
static_assert(kFloorCells % kChooseThreads == 0, "cells of a thread");

__global__ void __launch_bounds__(kGatherThreads)
    gatherFloorKernel(const int16_t* disparityQ4, const uint8_t* confidence, int width, int height, int16_t* cells) {
  const int at = static_cast<int>(blockIdx.x) * kGatherThreads + static_cast<int>(threadIdx.x);
  if (at >= kFloorCells) return;
  const int x = cellX(at % kFloorColumns, width) + width / 2, y = cellY(at / kFloorColumns, height) + height / 2;
  const size_t pixel = static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  const int16_t d = disparityQ4[pixel];
  cells[at] = d != kInvalidDisparity && confidence[pixel] != 0 ? d : kFloorUnknown;
}

/// A block scores a candidate: a warp has a band of rows, a lane two columns.
__global__ void __launch_bounds__(kScoreWarps* kWarp)
    scoreFloorKernel(FloorParameters settings, const FloorMemory* memory, const FloorCandidate* candidates, int count,
                     const int16_t* cells, int width, int height, FloorPlane* planes, int32_t* scores) {
  __shared__ int32_t bands[kScoreWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, band = static_cast<int>(threadIdx.x) / kWarp;
  const int at = static_cast<int>(blockIdx.x);
  FloorPlane plane;
  bool suits;
  if (at == count) {
    const FloorParameters parameters = withFloorBefore(settings, *memory);
    suits = parameters.hasBefore;
    plane = parameters.before;
  } else {
    const FloorCandidate candidate = candidates[at];
    int64_t x[3], y[3], d[3];
    suits = true;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      x[k] = cellX(candidate.i[k], width);
      y[k] = cellY(candidate.j[k], height);
      d[k] = cells[candidate.j[k] * kFloorColumns + candidate.i[k]];
      suits = suits && d[k] != kFloorUnknown;
    }
    suits = suits && planeThrough(x, y, d, &plane) && isFloor(settings, plane);
  }
  int32_t score = 0;
  if (suits) {
    const int first = band * kFloorBand;
    const int32_t left = floorSixteenths(plane.a * cellX(2 * lane, width));
    const int32_t right = floorSixteenths(plane.a * cellX(2 * lane + 1, width));
    const int32_t ownRow = floorSixteenths(plane.b * cellY(first + lane % kFloorBand, height) + plane.c);
    const int32_t* const pairs = reinterpret_cast<const int32_t*>(cells) + first * kWarp + lane;
    const auto votes = [](int32_t d, int32_t p) {
      const int32_t r = d - p;
      return p < 32 ? 0 : r >= -16 && r <= 16 ? 4 : r < -32 ? -1 : 0;
    };
#pragma unroll
    for (int j = 0; j < kFloorBand; ++j) {
      const int32_t row = __shfl_sync(kFullWarp, ownRow, j), pair = pairs[j * kWarp];
      score += votes(static_cast<int16_t>(pair & 0xffff), left + row) + votes(pair >> 16, right + row);
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) score += __shfl_down_sync(kFullWarp, score, offset);
  }
  if (lane == 0) bands[band] = (band + 1) * (band + 1) * score;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int other = 1; other < kScoreWarps; ++other) bands[0] += bands[other];
  planes[at] = plane;
  scores[at] = at == count ? 2 * bands[0] : bands[0];
}

/// Returns the sum over a warp, on lane 0 or on all lanes. The halves of 16 bits are summed, because the sum exceeds 32 bits.
__device__ __forceinline__ int64_t warpSum(int32_t value) {
  uint32_t low = static_cast<uint32_t>(value) & 0xffff;
  int32_t high = value >> 16;
#if __CUDA_ARCH__ >= 800
  low = __reduce_add_sync(kFullWarp, low);
  high = __reduce_add_sync(kFullWarp, high);
#else
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    low += __shfl_down_sync(kFullWarp, low, offset);
    high += __shfl_down_sync(kFullWarp, high, offset);
  }
#endif
  return int64_t{high} * 65536 + low;
}

struct ChooseShared {
  int16_t cells[kFloorCells];
  int32_t x[kFloorColumns], y[kFloorRows];
  int32_t keys[kFloorCandidates + 1];
  int64_t parts[9][kChooseWarps];
  int64_t sums[9];
  int32_t best[kChooseWarps];
  int64_t plane[3];
  int32_t chosen, suits;

  __device__ __forceinline__ FloorPlane readPlane() const {
    FloorPlane read;
    read.a = plane[0], read.b = plane[1], read.c = plane[2];
    return read;
  }
  __device__ __forceinline__ void writePlane(const FloorPlane& written) {
    plane[0] = written.a, plane[1] = written.b, plane[2] = written.c;
  }
};

/// Adds up to nine sums over the block into shared.sums.
template <int kSums>
__device__ __forceinline__ void blockSums(const int32_t (&own)[kSums], ChooseShared& shared) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
#pragma unroll
  for (int k = 0; k < kSums; ++k) {
    const int64_t sum = warpSum(own[k]);
    if (lane == 0) shared.parts[k][warp] = sum;
  }
  __syncthreads();
  if (thread < kSums) {
    int64_t sum = 0;
    for (int part = 0; part < kChooseWarps; ++part) sum += shared.parts[thread][part];
    shared.sums[thread] = sum;
  }
  __syncthreads();
}

/// One round of least squares. The first two lanes solve for a and b at once.
__device__ void refit(const FloorParameters& settings, int64_t tolerance, ChooseShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const FloorPlane plane = shared.readPlane();
  // A thread's cells are in one column.
  const int32_t x = shared.x[thread % kFloorColumns];
  const int64_t aside = plane.c + plane.a * x;
  int32_t n = 0, sumY = 0, sumD = 0, sumYY = 0, sumYD = 0;
#pragma unroll
  for (int k = 0; k < kCellsEach; ++k) {
    const int at = k * kChooseThreads + thread;
    const int32_t d = shared.cells[at], y = shared.y[at / kFloorColumns];
    const int64_t p = aside + plane.b * y, r = int64_t{d} * 65536 - p;
    if (d == kFloorUnknown || p < 32 * 65536 || r < -65536 * tolerance || r > 65536 * tolerance) continue;
    ++n;
    sumY += y, sumD += d, sumYY += y * y, sumYD += y * d;
  }
  const int32_t own[9] = {n, x * n, sumY, sumD, x * x * n, x * sumY, sumYY, x * sumD, sumYD};
  blockSums(own, shared);
  if (thread < kWarp) {
    const int64_t* const s = shared.sums;
    const int64_t n = s[0];
    bool suits = n >= kFloorMinCells;
    FloorPlane fitted;
    if (suits) {
      const int64_t xx = n * s[4] - s[1] * s[1], xy = n * s[5] - s[1] * s[2], yy = n * s[6] - s[2] * s[2];
      const int64_t xd = n * s[7] - s[1] * s[3], yd = n * s[8] - s[2] * s[3];
      const Wide determinant = difference(product(xx, yy), product(xy, xy));
      suits = determinant.low != 0 || determinant.high != 0;
      if (suits) {
        const bool second = thread % 2 == 1;
        const Wide numerator =
            second ? difference(product(yd, xx), product(xd, xy)) : difference(product(xd, yy), product(yd, xy));
        const int64_t slope = nearestWide(shiftedLeft(numerator, 16), determinant);
        shared.parts[0][thread % 2] = slope;
        __syncwarp();
        fitted.a = shared.parts[0][0], fitted.b = shared.parts[0][1];
        // Steeper planes are no floor. Below, the numerator fits 62 bits.
        constexpr int64_t limit = int64_t{1} << 36;
        suits = fitted.b <= settings.highestSlope && fitted.b >= settings.lowestSlope && fitted.b < limit &&
                fitted.a < limit && fitted.a > -limit;
        if (suits) {
          fitted.c = nearestByDoubles(65536 * s[3] - fitted.a * s[1] - fitted.b * s[2], n);
          suits = isFloor(settings, fitted);
        }
      }
    }
    if (thread == 0) {
      shared.writePlane(fitted);
      shared.suits = suits ? 1 : 0;
    }
  }
  __syncthreads();
}

/// Finds the candidate with the largest key. A key is a score and, for ties, the place from behind.
__device__ void chooseBest(int count, ChooseShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  int32_t best = 0;
  for (int at = thread; at <= count; at += kChooseThreads) best = shared.keys[at] > best ? shared.keys[at] : best;
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const int32_t other = __shfl_xor_sync(kFullWarp, best, offset);
    best = other > best ? other : best;
  }
  if (thread % kWarp == 0) shared.best[thread / kWarp] = best;
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < kChooseWarps; ++warp) best = shared.best[warp] > best ? shared.best[warp] : best;
    shared.chosen = best == 0 ? -1 : 1023 - best % 1024;
  }
  __syncthreads();
}

/// @returns whether a candidate was a floor: shared.plane
__device__ bool vote(const FloorParameters& parameters, const FloorPlane* planes, const int32_t* scores, int count,
                     ChooseShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  // Scores are at most 2 * 4 * 64 * 6 * 204 < 2^21.
  for (int at = thread; at <= count; at += kChooseThreads)
    shared.keys[at] = scores[at] > 0 ? scores[at] * 1024 + 1023 - at : 0;
  __syncthreads();
  for (;;) {
    chooseBest(count, shared);
    const int at = shared.chosen;
    if (at < 0) return false;
    if (thread == 0) {
      shared.writePlane(planes[at]);
      shared.keys[at] = 0;
    }
    __syncthreads();
    constexpr int64_t tolerances[4] = {24, 16, 8, 8};
    bool suits = true;
    for (int round = 0; round < 4 && suits; ++round) {
      refit(parameters, tolerances[round], shared);
      suits = shared.suits != 0;
    }
    if (suits) return true;
  }
}

__global__ void __launch_bounds__(kChooseThreads, 1)
    chooseFloorKernel(FloorParameters settings, FloorMemory* memory, const int16_t* cells, int width, int height,
                      const FloorPlane* planes, const int32_t* scores, int count, double* numbers) {
  __shared__ ChooseShared shared;
  const int thread = static_cast<int>(threadIdx.x);
  const FloorParameters parameters = withFloorBefore(settings, *memory);
  FloorResult result;
  int32_t known[2] = {};
#pragma unroll
  for (int k = 0; k < kCellsEach; ++k) {
    const int at = k * kChooseThreads + thread;
    shared.cells[at] = cells[at];
    known[0] += cells[at] != kFloorUnknown;
    known[1] += cells[at] != kFloorUnknown && at >= (kFloorRows - kFloorBand) * kFloorColumns;
  }
  if (thread < kFloorColumns) shared.x[thread] = cellX(thread, width);
  if (thread < kFloorRows) shared.y[thread] = cellY(thread, height);
  blockSums(known, shared);
  result.known = static_cast<int32_t>(shared.sums[0]);
  const int32_t lowest = static_cast<int32_t>(shared.sums[1]);
  bool counts = result.known >= kFloorMinCells;
  if (counts && !parameters.onlyBefore) {
    counts = vote(parameters, planes, scores, count, shared);
    if (!counts) result.outcome = FloorOutcome::kNoPlane;
  } else if (thread == 0) {
    shared.writePlane(parameters.before);
  }
  __syncthreads();
  if (counts) {
    const FloorPlane plane = shared.readPlane();
    int32_t own[5] = {};
#pragma unroll
    for (int k = 0; k < kCellsEach; ++k) {
      const int at = k * kChooseThreads + thread;
      const int64_t d = shared.cells[at], y = shared.y[at / kFloorColumns];
      const int64_t p = plane.b * y + plane.c + plane.a * shared.x[at % kFloorColumns], r = d * 65536 - p;
      if (d == kFloorUnknown || p < 32 * 65536) continue;
      own[0] += 1;
      own[1] += r < -32 * 65536;
      if (r < -16 * 65536 || r > 16 * 65536) continue;
      own[2] += 1;
      own[3] += at >= (kFloorRows - kFloorBand) * kFloorColumns;
      const int32_t fine = static_cast<int32_t>((r + 8192) >> 14);
      own[4] += fine * fine;
    }
    blockSums(own, shared);
    result.plane = plane;
    result.under = static_cast<int32_t>(shared.sums[0]);
    result.below = static_cast<int32_t>(shared.sums[1]);
    result.on = static_cast<int32_t>(shared.sums[2]);
    result.squares = shared.sums[4];
    result.outcome = FloorOutcome::kFound;
    if (!parameters.hasBefore && 4 * shared.sums[3] < lowest) result.outcome = FloorOutcome::kNotInFront;
    if (result.below > result.on) result.outcome = FloorOutcome::kMoreBelow;
    if (result.on < kFloorMinCells) result.outcome = FloorOutcome::kFewCells;
  }
  if (thread == 0) followFloor(settings, height, result, memory, numbers);
}

}  // namespace

Status FloorWorkspace::open(const FloorParameters& parameters, int32_t width, int32_t height) {
  parameters_ = parameters;
  width_ = width, height_ = height;
  const std::vector<FloorCandidate> candidates = floorCandidates();
  count_ = static_cast<int32_t>(candidates.size());
  DEPTHWATT_TRY(candidates_.allocate(candidates.size()));
  DEPTHWATT_CUDA(cudaMemcpy(candidates_.get(), candidates.data(), candidates_.bytes(), cudaMemcpyHostToDevice));
  DEPTHWATT_TRY(cells_.allocate(kFloorCells));
  DEPTHWATT_TRY(planes_.allocate(candidates.size() + 1));
  DEPTHWATT_TRY(scores_.allocate(candidates.size() + 1));
  DEPTHWATT_TRY(memory_.allocate(1));
  DEPTHWATT_TRY(before_.allocate(1));
  return remember({});
}

Status FloorWorkspace::remember(const FloorMemory& memory) const {
  return cudaStatus(cudaMemcpy(memory_.get(), &memory, sizeof memory, cudaMemcpyHostToDevice), "copy of the floor");
}

Status FloorWorkspace::forget(cudaStream_t stream) const {
  return cudaStatus(cudaMemsetAsync(memory_.get(), 0, sizeof(FloorMemory), stream), "clearing of the floor");
}

Status FloorWorkspace::keep(cudaStream_t stream) const {
  return cudaStatus(
      cudaMemcpyAsync(before_.get(), memory_.get(), sizeof(FloorMemory), cudaMemcpyDeviceToDevice, stream),
      "copy of the floor");
}

Status FloorWorkspace::restore(cudaStream_t stream) const {
  return cudaStatus(
      cudaMemcpyAsync(memory_.get(), before_.get(), sizeof(FloorMemory), cudaMemcpyDeviceToDevice, stream),
      "copy of the floor");
}

Status FloorWorkspace::compute(const int16_t* disparityQ4, const uint8_t* confidence, double* numbers,
                               cudaStream_t stream) const {
  gatherFloorKernel<<<(kFloorCells + kGatherThreads - 1) / kGatherThreads, kGatherThreads, 0, stream>>>(
      disparityQ4, confidence, width_, height_, cells_.get());
  DEPTHWATT_TRY(launched("gatherFloorKernel"));
  if (!parameters_.onlyBefore) {
    scoreFloorKernel<<<count_ + 1, kScoreWarps * kWarp, 0, stream>>>(parameters_, memory_.get(), candidates_.get(),
                                                                     count_, cells_.get(), width_, height_,
                                                                     planes_.get(), scores_.get());
    DEPTHWATT_TRY(launched("scoreFloorKernel"));
  }
  chooseFloorKernel<<<1, kChooseThreads, 0, stream>>>(parameters_, memory_.get(), cells_.get(), width_, height_,
                                                      planes_.get(), scores_.get(), count_, numbers);
  return launched("chooseFloorKernel");
}

}  // namespace gpu
}  // namespace depthwatt
