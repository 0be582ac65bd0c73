// SPDX-License-Identifier: Apache-2.0
// The threshold on CUDA; see threshold.h. A thread processes several pixels, a block's stride apart. Warps count by
// ballots into shared memory, so that a block adds once per cause to the frame's counts.
#include "threshold_gpu.h"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kThreads = 256, kPixelsPerThread = 4;

__global__ void __launch_bounds__(kThreads)
    thresholdKernel(ThresholdLimits limits, int16_t* disparityQ4, uint8_t* confidence, int32_t* dropped, int pixels) {
  __shared__ int32_t counts[kDropCauses];
  if (threadIdx.x < kDropCauses) counts[threadIdx.x] = 0;
  __syncthreads();
  const int first = static_cast<int>(blockIdx.x * kThreads * kPixelsPerThread + threadIdx.x);
#pragma unroll
  for (int k = 0; k < kPixelsPerThread; ++k) {
    const int i = first + k * kThreads;
    int cause = kDropCauses;
    if (i < pixels && disparityQ4[i] != kInvalidDisparity) {
      const int disparity = disparityQ4[i], sure = confidence[i];
      if (disparity < limits.lowestQ4) cause = kDroppedFar;
      if (disparity > limits.highestQ4) cause = kDroppedNear;
      if (sure < limits.minConfidence) cause = sure == 0 ? kDroppedFilled : kDroppedUnsure;
      if (cause != kDropCauses) {
        disparityQ4[i] = kInvalidDisparity;
        confidence[i] = 0;
      }
    }
#pragma unroll
    for (int c = 0; c < kDropCauses; ++c) {
      const uint32_t warp = __ballot_sync(kFullWarp, cause == c);
      if (threadIdx.x % 32 == 0 && warp != 0) atomicAdd(&counts[c], __popc(warp));
    }
  }
  __syncthreads();
  if (threadIdx.x < kDropCauses && counts[threadIdx.x] > 0) atomicAdd(&dropped[threadIdx.x], counts[threadIdx.x]);
}

}  // namespace

Status threshold(const ThresholdLimits& limits, int16_t* disparityQ4, uint8_t* confidence, int32_t* dropped,
                 int32_t pixels, cudaStream_t stream) {
  constexpr int kPixelsPerBlock = kThreads * kPixelsPerThread;
  DEPTHWATT_CUDA(cudaMemsetAsync(dropped, 0, kDropCauses * sizeof(int32_t), stream));
  thresholdKernel<<<(pixels + kPixelsPerBlock - 1) / kPixelsPerBlock, kThreads, 0, stream>>>(
      limits, disparityQ4, confidence, dropped, pixels);
  return launched("thresholdKernel");
}

}  // namespace gpu
}  // namespace depthwatt
