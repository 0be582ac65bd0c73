// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD on the device: copies and disparities of every level, allocated at open, and the kernels of a frame.
#pragma once

#include "../../device/device_buffer.h"
#include "pyramid.h"

namespace depthwatt {
namespace gpu {

/// Device images with packed rows. rightDisparity may be null.
struct PyramidDeviceResult {
  int16_t* disparityQ4;
  int16_t* disparity;
  int16_t* rightDisparity;
  uint8_t* confidence;
};

class PyramidWorkspace {
 public:
  Status open(const PyramidParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const;
  Status compute(const HsvPixel* left, const HsvPixel* right, const PyramidDeviceResult& result, cudaStream_t stream);

 private:
  Status match(int own, const HsvPixel* const* images, const PyramidDeviceResult& result, cudaStream_t stream);

  PyramidParameters p_;
  int32_t width_[kMaxLevels + 1] = {}, height_[kMaxLevels + 1] = {};
  DeviceBuffer<HsvPixel> copies_[2][kMaxLevels + 1];  ///< of level 1 and up
  DeviceBuffer<int16_t> wholes_[kMaxLevels + 1];      ///< as copies_
};

}  // namespace gpu
}  // namespace depthwatt
