// SPDX-License-Identifier: Apache-2.0
// The two matchers over the room exponential on CUDA: aggregation, then the left-right check; see exponential_matcher.h.
#pragma once

#include <new>

#include "../gpu/kernels.h"
#include "exponential/exponential_workspace.h"
#include "gpu_matcher.h"

namespace depthwatt {
namespace gpu {

class ExponentialOnGpu final : public Matcher {
 public:
  Status open(const ExponentialParameters& parameters, const MatchTask& task) {
    width_ = task.width, height_ = task.height;
    const size_t pixels = static_cast<size_t>(width_) * height_;
    DEPTHWATT_TRY(whole_.allocate(pixels));
    leftRight_ = task.leftRight;
    if (leftRight_) DEPTHWATT_TRY(rightWhole_.allocate(pixels));
    return exponential_.open(parameters, width_, height_);
  }

  Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) override {
    const ExponentialDeviceResult winners = {result.disparityQ4, whole_.get(), rightWhole_.get(), result.confidence};
    DEPTHWATT_TRY(exponential_.compute(images.left, images.right, images.leftRgb, winners, stream));
    if (!leftRight_) return {};
    return leftRight(whole_.get(), rightWhole_.get(), result.disparityQ4, result.confidence, 1, width_, height_, stream);
  }

  size_t bytes() const override { return exponential_.bytes() + whole_.bytes() + rightWhole_.bytes(); }

 private:
  int32_t width_ = 0, height_ = 0;
  bool leftRight_ = false;
  DeviceBuffer<int16_t> whole_, rightWhole_;
  ExponentialWorkspace exponential_;
};

inline Status openExponentialOnGpu(const ExponentialParameters& parameters, const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  std::unique_ptr<ExponentialOnGpu> opened(new (std::nothrow) ExponentialOnGpu());
  if (opened == nullptr) return Status::error(Code::kFailed, "Expected memory for a matcher, there is none.");
  const Status status = opened->open(parameters, task);
  if (status.ok()) *matcher = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
