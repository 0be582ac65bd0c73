// SPDX-License-Identifier: Apache-2.0
// Points on CUDA: the bytes of points.h, from and to device memory.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "points.h"

namespace depthwatt {
namespace gpu {

/// Precomputed data of all frames, made at open for one size.
class PointsWorkspace {
 public:
  Status open(const PointsParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const { return rays_.bytes(); }
  /// Device images with packed rows. @param rgb used only if colours are requested. @param points width * height *
  /// pointBytes(), at a multiple of 16 bytes
  Status compute(const int16_t* disparityQ4, const uint8_t* grey, const Rgb8* rgb, uint8_t* points,
                 cudaStream_t stream) const;

 private:
  PointsPlan plan_;
  int32_t width_ = 0, height_ = 0;
  DeviceBuffer<float> rays_;  ///< u by x, then v or w by y, depending on the frame
};

}  // namespace gpu
}  // namespace depthwatt
