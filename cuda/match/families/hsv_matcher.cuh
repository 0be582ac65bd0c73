// SPDX-License-Identifier: Apache-2.0
// Runs sad and pyramid on CUDA: weighted hue, saturation and value, the stage, then the left-right check.
#pragma once

#include <new>

#include "../../device/device_buffer.h"
#include "../../refine/left_right/left_right_gpu.h"
#include "../gpu_matcher.h"
#include "../hsv_pixel.cuh"

namespace depthwatt {
namespace gpu {

/// @param Workspace SadWorkspace or PyramidWorkspace
template <class Workspace, class Result>
class HsvMatcherOnGpu final : public Matcher {
 public:
  Status open(const MatchTask& task, const HsvWeights& weights) {
    width_ = task.width, height_ = task.height;
    weights_ = weights;
    const size_t pixels = static_cast<size_t>(width_) * height_;
    for (DeviceBuffer<HsvPixel>& image : hsv_) DEPTHWATT_TRY(image.allocate(pixels));
    DEPTHWATT_TRY(whole_.allocate(pixels));
    leftRight_ = task.leftRight;
    return leftRight_ ? rightWhole_.allocate(pixels) : Status();
  }
  Workspace& stage() { return stage_; }

  Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    DEPTHWATT_TRY(
        hsv(weights_, images.leftRgb, images.rightRgb, hsv_[0].get(), hsv_[1].get(), width_, height_, stream));
    const Result winners = {result.disparityQ4, whole_.get(), leftRight_ ? rightWhole_.get() : nullptr,
                            result.confidence};
    DEPTHWATT_TRY(stage_.compute(hsv_[0].get(), hsv_[1].get(), winners, stream));
    if (!leftRight_) return {};
    return leftRight(whole_.get(), rightWhole_.get(), result.disparityQ4, result.confidence, 1, width_, height_,
                     stream);
  }

  size_t bytes() const override {
    return hsv_[0].bytes() + hsv_[1].bytes() + whole_.bytes() + rightWhole_.bytes() + stage_.bytes();
  }

 private:
  int32_t width_ = 0, height_ = 0;
  HsvWeights weights_;
  bool leftRight_ = false;
  DeviceBuffer<HsvPixel> hsv_[2];
  DeviceBuffer<int16_t> whole_, rightWhole_;
  Workspace stage_;
};

}  // namespace gpu
}  // namespace depthwatt
