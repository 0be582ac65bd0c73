// SPDX-License-Identifier: Apache-2.0
// The floor on CUDA: the bytes of floor.h, from device memory. The floor over time stays on the device.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "floor.h"

namespace depthwatt {
namespace gpu {

/// The candidates, their scores and the filtered floor, made at open for one size.
class FloorWorkspace {
 public:
  /// @param parameters of makeFloorParameters
  Status open(const FloorParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const {
    return candidates_.bytes() + cells_.bytes() + planes_.bytes() + scores_.bytes() + memory_.bytes() + before_.bytes();
  }
  /// Device images with packed rows. @param numbers [kFloorNumbers], on the device
  Status compute(const int16_t* disparityQ4, const uint8_t* confidence, double* numbers, cudaStream_t stream) const;
  /// Clears the filtered floor.
  Status forget(cudaStream_t stream) const;
  /// Keeps the filtered floor for restore(): a measurement repeats a frame.
  Status keep(cudaStream_t stream) const;
  Status restore(cudaStream_t stream) const;
  /// Sets the filtered floor. Waits.
  Status remember(const FloorMemory& memory) const;

 private:
  FloorParameters parameters_;
  int32_t width_ = 0, height_ = 0, count_ = 0;
  DeviceBuffer<FloorCandidate> candidates_;
  DeviceBuffer<int16_t> cells_;
  DeviceBuffer<FloorPlane> planes_;
  DeviceBuffer<int32_t> scores_;
  DeviceBuffer<FloorMemory> memory_, before_;
};

}  // namespace gpu
}  // namespace depthwatt
