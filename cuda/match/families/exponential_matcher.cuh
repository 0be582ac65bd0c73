// SPDX-License-Identifier: Apache-2.0
// Runs esaw and esmp on CUDA: the stage exponential, then the left-right check; see exponential_matcher.h.
#pragma once

#include <new>

#include "../../refine/left_right/left_right_gpu.h"
#include "../mirror_gpu.h"
#include "../exponential/exponential_workspace.h"
#include "exponential_right_view.h"
#include "../gpu_matcher.h"

namespace depthwatt {
namespace gpu {

class ExponentialOnGpu final : public Matcher {
 public:
  Status open(const ExponentialParameters& parameters, const MatchTask& task) {
    width_ = task.width, height_ = task.height;
    const size_t pixels = static_cast<size_t>(width_) * height_;
    DEPTHWATT_TRY(whole_.allocate(pixels));
    leftRight_ = task.leftRight;
    ownRightView_ = hasOwnRightView(task);
    if (leftRight_) DEPTHWATT_TRY(rightWhole_.allocate(pixels));
    if (ownRightView_) {
      DEPTHWATT_TRY(mirroredWhole_.allocate(pixels));
      DEPTHWATT_TRY(mirroredRgb_.allocate(pixels));
      for (DeviceBuffer<uint8_t>& image : mirrored_) DEPTHWATT_TRY(image.allocate(pixels));
    }
    return exponential_.open(parameters, width_, height_);
  }

  Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    if (ownRightView_) {
      // Must run first: it uses the buffers of the left image's results as scratch.
      DEPTHWATT_TRY(mirrorColumns(images.right, mirrored_[0].get(), width_, height_, stream));
      DEPTHWATT_TRY(mirrorColumns(images.left, mirrored_[1].get(), width_, height_, stream));
      DEPTHWATT_TRY(mirrorColumns(images.rightRgb, mirroredRgb_.get(), width_, height_, stream));
      const ExponentialDeviceResult mirroredResult = {result.disparityQ4, mirroredWhole_.get(), nullptr,
                                                      result.confidence};
      DEPTHWATT_TRY(
          exponential_.compute(mirrored_[0].get(), mirrored_[1].get(), mirroredRgb_.get(), mirroredResult, stream));
      DEPTHWATT_TRY(mirrorColumns(mirroredWhole_.get(), rightWhole_.get(), width_, height_, stream));
    }
    const ExponentialDeviceResult winners = {result.disparityQ4, whole_.get(),
                                             ownRightView_ ? nullptr : rightWhole_.get(), result.confidence};
    DEPTHWATT_TRY(exponential_.compute(images.left, images.right, images.leftRgb, winners, stream));
    if (!leftRight_) return {};
    return leftRight(whole_.get(), rightWhole_.get(), result.disparityQ4, result.confidence, 1, width_, height_,
                     stream);
  }

  size_t bytes() const override {
    return exponential_.bytes() + whole_.bytes() + rightWhole_.bytes() + mirroredWhole_.bytes() + mirroredRgb_.bytes() +
           mirrored_[0].bytes() + mirrored_[1].bytes();
  }

 private:
  int32_t width_ = 0, height_ = 0;
  bool leftRight_ = false, ownRightView_ = false;
  DeviceBuffer<int16_t> whole_, rightWhole_, mirroredWhole_;
  DeviceBuffer<uint8_t> mirrored_[2];
  DeviceBuffer<Rgb8> mirroredRgb_;
  ExponentialWorkspace exponential_;
};

inline Status openExponentialOnGpu(const ExponentialParameters& parameters, const MatchTask& task,
                                   std::unique_ptr<Matcher>* matcher) {
  std::unique_ptr<ExponentialOnGpu> opened(new (std::nothrow) ExponentialOnGpu());
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  const Status status = opened->open(parameters, task);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
