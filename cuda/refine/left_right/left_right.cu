// SPDX-License-Identifier: Apache-2.0
// The left-right check on CUDA, in place and as the matcher cbca needs it; see left_right.h. sgm has its own in
// match/sgm. One thread per pixel. Ground control points: reads whole pixels of both images and writes disparityQ4 and
// confidence.
#include "left_right.h"

#include "left_right_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

__global__ void __launch_bounds__(256)
    groundControlPointsKernel(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4,
                              uint8_t* confidence, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t row = static_cast<size_t>(y) * width;
  const int own = disparity[row + x], partner = x - own;
  // An invalid own disparity points far outside; an invalid partner's equals no valid one.
  const bool point =
      own != kInvalidDisparity && partner >= 0 && partner < width && rightDisparity[row + partner] == own;
  disparityQ4[row + x] = static_cast<int16_t>(point ? 16 * own : kInvalidDisparity);
  confidence[row + x] = point ? 255 : 0;
}

/// Rejects in place.
__global__ void __launch_bounds__(256)
    leftRightKernel(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4, uint8_t* confidence,
                    int tolerance, int width, int height) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t row = static_cast<size_t>(y) * width;
  const int own = disparity[row + x], partner = x - own;
  if (own != kInvalidDisparity && partner >= 0 && partner < width) {
    const int other = rightDisparity[row + partner];
    if (other != kInvalidDisparity && abs(own - other) <= tolerance) return;
  }
  disparityQ4[row + x] = kInvalidDisparity;
  confidence[row + x] = 0;
}

}  // namespace

Status leftRight(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4, uint8_t* confidence,
                 int32_t tolerance, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  leftRightKernel<<<grid, dim3(32, 8), 0, stream>>>(disparity, rightDisparity, disparityQ4, confidence, tolerance,
                                                    width, height);
  return launched("leftRightKernel");
}

Status groundControlPoints(const int16_t* disparity, const int16_t* rightDisparity, int16_t* disparityQ4,
                           uint8_t* confidence, int32_t width, int32_t height, cudaStream_t stream) {
  const dim3 grid((width + 31) / 32, (height + 7) / 8);
  groundControlPointsKernel<<<grid, dim3(32, 8), 0, stream>>>(disparity, rightDisparity, disparityQ4, confidence, width,
                                                              height);
  return launched("groundControlPointsKernel");
}

}  // namespace gpu
}  // namespace depthwatt
