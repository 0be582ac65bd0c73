// SPDX-License-Identifier: Apache-2.0
// One round of exponential.cu in one kernel: a thread goes down a column in steps of s, averages each row along x and
// keeps three of them for the average along y.
#pragma once

#include "../../device/traits.h"
#include "exponential_average.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// Threads per block of a row.
constexpr int kMaxAcross = 512;

/// A round: along x if weightsX is set, then along y if weightsY is. The first round may have no cells to read:
/// firstRoundKernel.
struct Round {
  const uint4* from;
  uint4* to;
  const uint32_t *weightsX, *weightsY;
  int step, segmentRows;
  Shape shape;
};

/// A thread's input of a row before it averages along x.
struct RawRow {
  uint4 before, centre, after;
  uint32_t weights;
};

/// Returns the cells at a byte offset from the volume's start: one addition to an address that all threads share. Both
/// volumes exceed the second-level cache, and a round's input is not read again, so the cache may evict it first.
__device__ __forceinline__ uint4 cellsAt(const uint4* cells, uint32_t pixel) {
  const auto* at = reinterpret_cast<const uint4*>(reinterpret_cast<const uint8_t*>(cells) + 16 * pixel);
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
  return __ldcs(at);
#else
  return *at;
#endif
}

/// The offsets of the neighbours along x. A neighbour outside the image has no weight; the pixel itself replaces it.
struct Sides {
  uint32_t before, after;
  __device__ __forceinline__ Sides(const Round& round, int x)
      : before(x >= round.step ? 0u - static_cast<uint32_t>(round.step) : 0u),
        after(x + round.step < round.shape.width ? static_cast<uint32_t>(round.step) : 0u) {}
};

template <bool kAlongX>
__device__ __forceinline__ void readRow(const Round& round, const uint4* from, uint32_t at, const Sides& sides,
                                        RawRow& row) {
  row.centre = cellsAt(from, at);
  if (!kAlongX) return;
  row.before = cellsAt(from, at + sides.before);
  row.after = cellsAt(from, at + sides.after);
  row.weights = round.weightsX[at];
}

/// Averages along x, without a bias if kPlain, else with one that the lower halves do not contain.
template <bool kAlongX, bool kPlain>
__device__ __forceinline__ void alongX(const RawRow& row, Cells& out) {
  out.takeBiased(row.centre);
  if (kAlongX) {
    Cells before, after;
    before.takeBiased(row.before);
    after.takeBiased(row.after);
    average(Weights(row.weights), before, out, after, kBiasedStart, out);
  }
  if (kPlain) out.without(kAlongX ? kBiasedEnd : kBias);
}

/// Averages down a column from `first` to before `end` in steps of `apart`: rows along x, three of them along y.
/// loadRow(at, cells) returns one row and is not called outside the image, where a row has no weight and any value is
/// correct. A row is read where it is used: prefetching one would move it between registers, a sixth of all
/// instructions.
template <class RowFunction>
__device__ __forceinline__ void goDown(const Round& round, uint4* to, int first, int end, int apart, int x,
                                       const RowFunction& loadRow) {
  const int height = round.shape.height, width = round.shape.width;
  const uint32_t stride = static_cast<uint32_t>(apart * width);
  int y = first;
  uint32_t at = static_cast<uint32_t>(first * width + x);
  Cells cells[3];
#pragma unroll
  for (int i = 0; i < kEight; ++i) cells[0].cell[i] = cells[2].cell[i] = 0.f;
  uint32_t weights = round.weightsY[at];
  if (first >= apart) loadRow(at - stride, cells[0]);
  loadRow(at, cells[1]);
  // Three rows per iteration, so that no row is moved between registers.
  const auto step = [&](const Cells& before, const Cells& centre, Cells& after) {
    const uint32_t own = at, both = weights;
    y += apart, at += stride;
    if (y < height) {
      weights = round.weightsY[at];
      loadRow(at, after);
    }
    Cells out;
    average(Weights(both), before, centre, after, kBias, out);
    to[own] = out.pairs();
    return y < end;
  };
  while (step(cells[0], cells[1], cells[2]) && step(cells[1], cells[2], cells[0]) &&
         step(cells[2], cells[0], cells[1])) {}
}

/// blockIdx: part of a row; chain of rows and its segment; eight disparities.
template <bool kAlongX, bool kAlongY>
__global__ void __launch_bounds__(kMaxAcross, kRoundBlocks) roundKernel(Round round) {
  untilKernelBefore();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= round.shape.width) return;
  const int apart = kAlongY ? round.step : 1, height = round.shape.height, width = round.shape.width;
  const int segment = static_cast<int>(blockIdx.y) / apart, residue = static_cast<int>(blockIdx.y) % apart;
  const int first = residue + segment * round.segmentRows * apart;
  const int end = min(first + round.segmentRows * apart, height);
  const uint4* from = round.from + blockIdx.z * round.shape.pixels();
  uint4* to = round.to + blockIdx.z * round.shape.pixels();
  if (first >= end) return;
  const Sides sides(round, x);
  if (kAlongY) {
    goDown(round, to, first, end, apart, x, [&](uint32_t at, Cells& out) {
      RawRow row;
      readRow<kAlongX>(round, from, at, sides, row);
      alongX<kAlongX, true>(row, out);
    });
    return;
  }
  uint32_t at = static_cast<uint32_t>(first * width + x);
  for (int y = first; y < end; ++y, at += static_cast<uint32_t>(width)) {
    RawRow row;
    readRow<kAlongX>(round, from, at, sides, row);
    Cells own;
    alongX<kAlongX, false>(row, own);
    to[at] = own.pairs();
  }
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
