// SPDX-License-Identifier: Apache-2.0
// The two matchers over the room exponential, which differ in its parameters alone: aggregation, then the left-right check.
#pragma once

#include <vector>

#include "../../core/workers.h"
#include "../cpu/kernels.h"
#include "../refine/left_right/left_right.h"
#include "exponential/exponential.h"
#include "matcher.h"

namespace depthwatt {

class ExponentialOnCpu final : public CpuMatcher {
 public:
  ExponentialOnCpu(const MatchTask& task, const Kernels& kernels, Workers& workers)
      : task_(task), kernels_(kernels), workers_(workers) {
    const size_t pixels = static_cast<size_t>(task.width) * task.height;
    disparity_.resize(pixels);
    if (task.leftRight) rightDisparity_.resize(pixels);
  }

  Status open(const ExponentialParameters& parameters) {
    Exponential* made = nullptr;
    const Status status = Exponential::open(parameters, task_.width, task_.height, kernels_.exponential, workers_, &made);
    exponential_.reset(made);
    return status;
  }

  void compute(const MatcherImages& images, const MatcherResult& result) override {
    const ImageView<int16_t> seenFromRight = task_.leftRight ? view(rightDisparity_) : ImageView<int16_t>{};
    exponential_->compute({images.left, images.right, images.leftRgb},
                          {result.disparityQ4, view(disparity_), seenFromRight, result.confidence});
    if (!task_.leftRight) return;
    const LeftRightImages check{view(disparity_).asConst(), seenFromRight.asConst(), result.disparityQ4, result.confidence};
    workers_.rows(task_.height, [&](int32_t first, int32_t end) { kernels_.leftRight(check, first, end); });
  }

  size_t workspaceBytes() const override {
    return (disparity_.size() + rightDisparity_.size()) * sizeof(int16_t) + exponential_->workspaceBytes();
  }

 private:
  ImageView<int16_t> view(std::vector<int16_t>& image) const { return packedView(image.data(), task_.width, task_.height); }

  const MatchTask task_;
  const Kernels& kernels_;
  Workers& workers_;
  std::vector<int16_t> disparity_, rightDisparity_;
  std::unique_ptr<Exponential> exponential_;
};

inline Status openExponentialOnCpu(const ExponentialParameters& parameters, const MatchTask& task, const Kernels& kernels,
                                   Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<ExponentialOnCpu> matcher(new ExponentialOnCpu(task, kernels, workers));
  const Status status = matcher->open(parameters);
  if (status.ok()) *opened = std::move(matcher);
  return status;
}

/// The same, composed of the rooms' references.
inline void matchExponentialReference(const ExponentialParameters& parameters, const MatchTask& task, const MatcherImages& images,
                                      const MatcherResult& result) {
  const size_t pixels = static_cast<size_t>(task.width) * task.height;
  std::vector<int16_t> whole(pixels), rightWhole(pixels);
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), task.width, task.height); };
  exponentialReference(parameters, {images.left, images.right, images.leftRgb},
                       {result.disparityQ4, view(whole), view(rightWhole), result.confidence});
  if (!task.leftRight) return;
  leftRightReference({view(whole).asConst(), view(rightWhole).asConst(), result.disparityQ4, result.confidence});
}

}  // namespace depthwatt
