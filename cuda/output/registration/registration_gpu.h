// SPDX-License-Identifier: Apache-2.0
// Registration on CUDA: the bytes of registration.h, from and to device memory.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "registration.h"

namespace depthwatt {
namespace gpu {

/// The plan, its grid and the depth buffers, made at open for one size.
class RegistrationWorkspace {
 public:
  Status open(const RegistrationPlan& plan);
  size_t bytes() const { return grid_.bytes() + buffer_.bytes() + visible_.bytes(); }
  /// Device images with packed rows.
  Status compute(const int16_t* disparityQ4, const uint8_t* confidence, int32_t width, int32_t height,
                 uint16_t* millimetres, uint8_t* registeredConfidence, cudaStream_t stream) const;

 private:
  RegistrationPlan plan_;
  DeviceBuffer<int32_t> grid_;
  DeviceBuffer<uint32_t> buffer_, visible_;
};

}  // namespace gpu
}  // namespace depthwatt
