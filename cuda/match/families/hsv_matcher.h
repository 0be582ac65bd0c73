// SPDX-License-Identifier: Apache-2.0
// Runs sad and pyramid on the CPU: weighted hue, saturation and value of both images, the stage, then the left-right
// check.
#pragma once

#include <vector>

#include "../../../core/workers.h"
#include "../../simd/kernels.h"
#include "../../refine/left_right/left_right.h"
#include "../hsv/hsv.h"
#include "hsv_task.h"
#include "../matcher.h"

namespace depthwatt {

/// Checks that the three weights of match.<name> add up to 1 to 100 %.
inline BrokenRule checkHsvWeights(const MatcherChoice& choice) {
  const HsvWeights w = hsvWeightsFrom(choice);
  const int32_t sum = w.hue + w.saturation + w.value;
  if (sum >= 1 && sum <= 100) return {};
  const std::string prefix = std::string("match.") + choice.facts->name + ".";
  return BrokenRule::of({prefix + "hueWeight", prefix + "saturationWeight", prefix + "valueWeight"},
                        "expected 1 to 100 %% for the three weights together, got %d", sum);
}

/// @param Stage Sad or Pyramid. Images and Result are its input and output.
template <class Stage, class Images, class Result>
class HsvMatcherOnCpu final : public CpuMatcher {
 public:
  HsvMatcherOnCpu(const MatchTask& task, InstructionSet set, Workers& workers)
      : task_(task), hsvRows_(kernelsFor<HsvKernels>(set).hsv), leftRight_(kernelsFor<LeftRightKernels>(set).leftRight),
        workers_(workers), weights_(hsvWeightsFrom(task.matcher)) {
    const size_t pixels = static_cast<size_t>(task.width) * task.height;
    for (std::vector<HsvPixel>& image : hsv_) image.resize(pixels);
    disparity_.resize(pixels);
    if (task.leftRight) rightDisparity_.resize(pixels);
  }

  void adopt(Stage* stage) { stage_.reset(stage); }

  void compute(const MatcherImages& images, const MatcherResult& result) override {
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      hsvRows_(weights_, images.leftRgb, view(hsv_[0]), first, end);
      hsvRows_(weights_, images.rightRgb, view(hsv_[1]), first, end);
    });
    const ImageView<int16_t> rightView = task_.leftRight ? view(rightDisparity_) : ImageView<int16_t>{};
    stage_->compute(Images{view(hsv_[0]).asConst(), view(hsv_[1]).asConst()},
                    Result{result.disparityQ4, view(disparity_), rightView, result.confidence});
    if (!task_.leftRight) return;
    const LeftRightImages check{view(disparity_).asConst(), rightView.asConst(), result.disparityQ4, result.confidence};
    workers_.rows(task_.height, [&](int32_t first, int32_t end) { leftRight_(check, first, end); });
  }

  size_t workspaceBytes() const override {
    return (disparity_.size() + rightDisparity_.size()) * sizeof(int16_t) + 2 * hsv_[0].size() * sizeof(HsvPixel) +
           stage_->workspaceBytes();
  }

 private:
  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), task_.width, task_.height);
  }

  const MatchTask task_;
  const HsvRows hsvRows_;
  const LeftRightRows leftRight_;
  Workers& workers_;
  const HsvWeights weights_;
  std::vector<HsvPixel> hsv_[2];
  std::vector<int16_t> disparity_, rightDisparity_;
  std::unique_ptr<Stage> stage_;
};

/// Computes the same from the references of the stages. reference(images, result) is the stage's.
template <class Images, class Result, class Reference>
void matchHsvReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result,
                       Reference reference) {
  const size_t pixels = static_cast<size_t>(task.width) * task.height;
  std::vector<HsvPixel> left(pixels), right(pixels);
  std::vector<int16_t> whole(pixels), rightWhole(pixels);
  const auto view = [&](auto& image) { return packedView(image.data(), task.width, task.height); };
  const HsvWeights weights = hsvWeightsFrom(task.matcher);
  hsvReference(weights, images.leftRgb, view(left));
  hsvReference(weights, images.rightRgb, view(right));
  reference(Images{view(left).asConst(), view(right).asConst()},
            Result{result.disparityQ4, view(whole), view(rightWhole), result.confidence});
  if (!task.leftRight) return;
  leftRightReference({view(whole).asConst(), view(rightWhole).asConst(), result.disparityQ4, result.confidence});
}

}  // namespace depthwatt
