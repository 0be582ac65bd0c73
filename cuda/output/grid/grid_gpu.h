// SPDX-License-Identifier: Apache-2.0
// The grid on CUDA: the bytes of grid.h, from and to device memory.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "grid.h"

namespace depthwatt {
namespace gpu {

/// The pixels of each cell, made at open for one size; they are zero between frames.
class GridWorkspace {
 public:
  Status open(const GridParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const { return counts_.bytes(); }
  /// Device images with packed rows. @param floor [kFloorNumbers], on the device
  Status compute(const int16_t* disparityQ4, const uint8_t* confidence, const double* floor, uint8_t* cells,
                 cudaStream_t stream) const;

 private:
  GridParameters parameters_;
  int32_t width_ = 0, height_ = 0;
  DeviceBuffer<int32_t> counts_;
};

}  // namespace gpu
}  // namespace depthwatt
