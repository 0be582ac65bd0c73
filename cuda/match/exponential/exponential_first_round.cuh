// SPDX-License-Identifier: Apache-2.0
// The first round of exponential.cu for costs without gradients and messages: a thread computes the costs of the rows
// that it averages, so that no volume of costs is written or read.
#pragma once

#include "exponential_rounds.cuh"

namespace depthwatt {
namespace gpu {
namespace {

/// The input of the first round's costs: grey images with packed rows.
struct Costs {
  const uint8_t *left, *right;
  int minDisparity;
  float truncation, cost;
};

/// The input of a row's costs: the left image's three pixels, and their partners in the right image, from the right.
struct CostRow {
  uint32_t left[3], right[kEight + 2], weights;
};

__device__ __forceinline__ void readCosts(const Round& round, const Costs& costs, int x, uint32_t at, CostRow& row) {
  const uint8_t *const left = costs.left + (at - x), *const right = costs.right + (at - x);
  const int last = round.shape.width - 1;
  const int partner =
      x - costs.minDisparity - kEight * static_cast<int>(blockIdx.z) + 1;  // of the pixel after, lowest d
#pragma unroll
  for (int i = 0; i < 3; ++i) row.left[i] = left[min(max(x - 1 + i, 0), last)];
#pragma unroll
  for (int i = 0; i < kEight + 2; ++i) row.right[i] = right[static_cast<uint32_t>(min(max(partner - i, 0), last))];
  row.weights = round.weightsX[at];
}

/// Averages the costs of three pixels along x, without a bias. Results for disparities outside the search are arbitrary
/// and unused.
__device__ __forceinline__ void costsAlongX(const Costs& costs, const CostRow& row, Cells& out) {
  float left[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) left[i] = __uint_as_float(row.left[i] | kBiasBits);
  // Exact: all values are whole numbers below 2^16, or that with the bias.
  const auto cellAt = [&](float own, uint32_t partner) {
    const float apart = fabsf(own - __uint_as_float(partner | kBiasBits));
    return __fmaf_rd(fminf(apart, costs.truncation), costs.cost, kBias);
  };
  const Weights w(row.weights);
#pragma unroll
  for (int i = 0; i < kEight; ++i) {
    float sum = __fmaf_rd(w.centre, cellAt(left[1], row.right[i + 1]), kBiasedStart);
    sum = __fmaf_rd(w.before, cellAt(left[0], row.right[i + 2]), sum);
    out.cell[i] = __fmaf_rd(w.after, cellAt(left[2], row.right[i]), sum);
  }
  out.without(kBiasedEnd);
}

/// The first round, of step 1: computes costs without gradients or messages where they are averaged, and never stores
/// them. blockIdx: part of a row; segment of rows; eight disparities.
__global__ void __launch_bounds__(kMaxAcross, kRoundBlocks) firstRoundKernel(Round round, Costs costs) {
  untilKernelBefore();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= round.shape.width) return;
  const int first = static_cast<int>(blockIdx.y) * round.segmentRows;
  const int end = min(first + round.segmentRows, round.shape.height);
  if (first >= end) return;
  goDown(round, round.to + blockIdx.z * round.shape.pixels(), first, end, 1, x, [&](uint32_t at, Cells& out) {
    CostRow row;
    readCosts(round, costs, x, at, row);
    costsAlongX(costs, row, out);
  });
}

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
