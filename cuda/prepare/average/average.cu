// SPDX-License-Identifier: Apache-2.0
// The average over time on CUDA: one thread per pixel of one image. A block holds the changes of its pixels and of a border of one.
#include "average_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kAverageWide = 32, kAverageHigh = 8;

__global__ void __launch_bounds__(kAverageWide* kAverageHigh)
    averageKernel(AverageSide left, AverageSide right, const int32_t* __restrict__ limitAt, int width, int height) {
  const AverageSide side = blockIdx.z == 0 ? left : right;
  __shared__ int16_t changes[kAverageHigh + 2][kAverageWide + 2];
  const int firstX = static_cast<int>(blockIdx.x) * kAverageWide - 1,
            firstY = static_cast<int>(blockIdx.y) * kAverageHigh - 1;
  for (int i = threadIdx.y * kAverageWide + threadIdx.x; i < (kAverageHigh + 2) * (kAverageWide + 2);
       i += kAverageWide * kAverageHigh) {
    const int row = i / (kAverageWide + 2), column = i % (kAverageWide + 2);
    const size_t at =
        static_cast<size_t>(min(max(firstY + row, 0), height - 1)) * width + min(max(firstX + column, 0), width - 1);
    changes[row][column] = static_cast<int16_t>(8 * side.image[at] - ((side.before[at] & kAverageMean) >> 1));
  }
  __syncthreads();
  const int x = blockIdx.x * kAverageWide + threadIdx.x, y = blockIdx.y * kAverageHigh + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
#pragma unroll
  for (int j = 0; j < 3; ++j) {
#pragma unroll
    for (int i = 0; i < 3; ++i) sum += changes[threadIdx.y + j][threadIdx.x + i];
  }
  const size_t at = static_cast<size_t>(y) * width + x;
  const int limit = *limitAt, state = side.before[at], grey = 16 * side.image[at];
  int mean = state & kAverageMean, weight = state >> 12;
  if (weight == 0 || abs(sum) > limit || abs(changes[threadIdx.y + 1][threadIdx.x + 1]) > 4 * limit / 9) {
    mean = grey;
    weight = 1;
  } else {
    const int shift = weight == 1 ? 1 : weight < kAverageWeight ? 2 : 3;
    mean += (grey - mean + (1 << (shift - 1))) >> shift;
    weight = min(weight + 1, kAverageWeight);
  }
  side.after[at] = static_cast<int16_t>(weight << 12 | mean);
  side.averaged[at] = weight >= kAverageShown ? static_cast<uint8_t>((mean + 8) >> 4) : side.filtered[at];
}

}  // namespace

Status average(const AverageSide& left, const AverageSide& right, const int32_t* limit, int32_t width, int32_t height,
               cudaStream_t stream) {
  const dim3 blocks((width + kAverageWide - 1) / kAverageWide, (height + kAverageHigh - 1) / kAverageHigh, 2);
  averageKernel<<<blocks, dim3(kAverageWide, kAverageHigh), 0, stream>>>(left, right, limit, width, height);
  return launched("averageKernel");
}

}  // namespace gpu
}  // namespace depthwatt
