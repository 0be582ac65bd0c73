// SPDX-License-Identifier: Apache-2.0
// The whole matcher cbca on a device (Chang and Maruyama): cross, ground control points, median, bilateral estimation,
// like cbca.cpu.cc. The engine's stages halve before it and upscale after it.
#pragma once

#include "../../device/device_buffer.h"
#include "../../refine/fill/fill_gpu.h"
#include "../../refine/left_right/left_right_gpu.h"
#include "../../refine/median/median_gpu.h"
#include "cbca_task.h"
#include "cross_workspace.h"

namespace depthwatt {
namespace gpu {

class CbcaWorkspace {
 public:
  Status open(const CrossParameters& cross, int32_t thresholdQ4, int32_t width, int32_t height,
              const CrossTuning& tuning = CrossTuning()) {
    thresholdQ4_ = thresholdQ4;
    width_ = width, height_ = height;
    const size_t pixels = static_cast<size_t>(width) * height;
    for (DeviceBuffer<int16_t>* image : {&disparity_, &rightDisparity_, &points_, &filtered_}) {
      DEPTHWATT_TRY(image->allocate(pixels));
    }
    DEPTHWATT_TRY(rows_.allocate(static_cast<size_t>(height)));
    return cross_.open(cross, width, height, tuning);
  }

  /// disparityQ4: every pixel has a value if any does. confidence: 255 at ground control points, 0 elsewhere.
  Status compute(const uint8_t* left, const uint8_t* right, int16_t* disparityQ4, uint8_t* confidence,
                 cudaStream_t stream) {
    DEPTHWATT_TRY(cross_.compute(left, right, disparity_.get(), rightDisparity_.get(), stream));
    DEPTHWATT_TRY(groundControlPoints(disparity_.get(), rightDisparity_.get(), points_.get(), confidence, width_,
                                      height_, stream));
    DEPTHWATT_TRY(median(points_.get(), filtered_.get(), width_, height_, stream));
    FillParameters parameters;
    parameters.method = FillMethod::kBilateral;
    parameters.thresholdQ4 = thresholdQ4_;
    return fill(parameters, left, filtered_.get(), disparityQ4, nullptr, rows_.get(), width_, height_, stream);
  }

  size_t bytes() const {
    return cross_.bytes() + disparity_.bytes() + rightDisparity_.bytes() + points_.bytes() + filtered_.bytes() +
           rows_.bytes();
  }

 private:
  int32_t thresholdQ4_ = 0, width_ = 0, height_ = 0;
  DeviceBuffer<int16_t> disparity_, rightDisparity_, points_, filtered_;
  DeviceBuffer<int32_t> rows_;
  CrossWorkspace cross_;
};

}  // namespace gpu
}  // namespace depthwatt
