// SPDX-License-Identifier: Apache-2.0
// Launches match/exponential on a device, and owns its memory.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "../../device/device_buffer.h"
#include "exponential.h"

namespace depthwatt {
namespace gpu {

/// Device images with packed rows. rightDisparity may be null.
struct ExponentialDeviceResult {
  int16_t* disparityQ4;
  int16_t* disparity;
  int16_t* rightDisparity;
  uint8_t* confidence;
};

/// One kernel: a pass along x, a pass along y of the same step, or both. -1: left out.
struct ExponentialRound {
  int32_t step, passX, passY;
  int32_t segments, segmentRows;  ///< segments per column of rows one step apart
};

/// All device memory of aggregation, allocated at open.
class ExponentialWorkspace {
 public:
  Status open(const ExponentialParameters& parameters, int32_t width, int32_t height);
  size_t bytes() const {
    return devicePasses_.bytes() + weights_.bytes() + cells_[0].bytes() + cells_[1].bytes() + lab_.bytes() +
           labTables_.bytes();
  }
  /// See exponential.h. Device images with packed rows.
  Status compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb, const ExponentialDeviceResult& result,
                 cudaStream_t stream);

 private:
  ExponentialParameters p_;
  int32_t width_ = 0, height_ = 0;
  int32_t across_ = 0;  ///< threads per row
  std::vector<ExponentialPass> passes_;
  std::vector<ExponentialRound> rounds_;
  DeviceBuffer<ExponentialPass> devicePasses_;
  DeviceBuffer<uint32_t> weights_;  ///< [pass][height][width]: of the neighbour before (low half) and after
  DeviceBuffer<Lab> lab_;           ///< [height][width]; empty unless colours are compared in CIELab
  DeviceBuffer<LabTables> labTables_;
  DeviceBuffer<uint4> cells_[2];  ///< [eights of disparities][height][width]: two in a word, the even one low
};

}  // namespace gpu
}  // namespace depthwatt
