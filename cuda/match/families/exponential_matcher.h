// SPDX-License-Identifier: Apache-2.0
// Runs the matchers esaw and esmp, which differ only in the parameters of the stage exponential: aggregation, then the
// left-right check.
#pragma once

#include <vector>

#include "../../../core/workers.h"
#include "../../simd/kernels.h"
#include "../../refine/left_right/left_right.h"
#include "../exponential/exponential.h"
#include "exponential_right_view.h"
#include "../matcher.h"
#include "../mirror.h"

namespace depthwatt {

// Settings of both matchers.
constexpr Setting kGradientTruncation = wholeNumber(
    "gradientTruncation", 0, 127, 0, "grey / 2",
    "Largest difference of horizontal gradients that counts. 0: gradients are not compared, as in the paper. 4 is more accurate.");
constexpr Setting kGradientPercent =
    wholeNumber("gradientPercent", 1, 2000, 400, "%",
                "Cost of a gradient difference, relative to a grey difference. Used if gradientTruncation is above 0.");
constexpr Setting kColourDistance = word(
    "colourDistance", "rgb lab",
    "How gammaColour compares colours. rgb: largest channel difference; lab: distance in CIELab, as the paper prints.");
constexpr Setting kRightView = word(
    "rightView", "own diagonal",
    "Right-image match for the left-right check. own: aggregates again from the right image, at twice the time; diagonal: "
    "reads it from the left image's costs.");
constexpr Setting kSubpixel =
    flag("subpixel", false, "Interpolates the disparity to 1/16 px. Turn it off for whole pixels.");

/// Both images exchanged and mirrored, with the right one's colours.
struct MirroredImages {
  std::vector<uint8_t> left, right;
  std::vector<Rgb8> leftRgb;
  int32_t width, height;

  MirroredImages(int32_t imageWidth, int32_t imageHeight) : width(imageWidth), height(imageHeight) {
    const size_t pixels = static_cast<size_t>(width) * height;
    left.resize(pixels), right.resize(pixels), leftRgb.resize(pixels);
  }
  void make(const MatcherImages& images, int32_t firstRow, int32_t endRow) {
    mirrorColumns(images.right, packedView(left.data(), width, height), firstRow, endRow);
    mirrorColumns(images.left, packedView(right.data(), width, height), firstRow, endRow);
    mirrorColumns(images.rightRgb, packedView(leftRgb.data(), width, height), firstRow, endRow);
  }
  ExponentialImages images() const {
    return {packedView(left.data(), width, height), packedView(right.data(), width, height),
            packedView(leftRgb.data(), width, height)};
  }
  size_t bytes() const { return left.size() + right.size() + leftRgb.size() * sizeof(Rgb8); }
};

class ExponentialOnCpu final : public CpuMatcher {
 public:
  ExponentialOnCpu(const MatchTask& task, InstructionSet set, Workers& workers)
      : task_(task), set_(set), leftRight_(kernelsFor<LeftRightKernels>(set).leftRight), workers_(workers) {
    const size_t pixels = static_cast<size_t>(task.width) * task.height;
    disparity_.resize(pixels);
    if (task.leftRight) rightDisparity_.resize(pixels);
    if (!hasOwnRightView(task)) return;
    mirrored_.reset(new MirroredImages(task.width, task.height));
    mirroredDisparity_.resize(pixels);
  }

  Status open(const ExponentialParameters& parameters) {
    Exponential* made = nullptr;
    const Status status = Exponential::open(parameters, task_.width, task_.height, set_, workers_, &made);
    exponential_.reset(made);
    return status;
  }

  void compute(const MatcherImages& images, const MatcherResult& result) override {
    const ImageView<int16_t> rightView = task_.leftRight ? view(rightDisparity_) : ImageView<int16_t>{};
    if (mirrored_ != nullptr) {
      // Must run first: it uses the buffers of the left image's results as scratch.
      workers_.rows(task_.height, [&](int32_t first, int32_t end) { mirrored_->make(images, first, end); });
      exponential_->compute(mirrored_->images(), {result.disparityQ4, view(mirroredDisparity_), {}, result.confidence});
      workers_.rows(task_.height, [&](int32_t first, int32_t end) {
        mirrorColumns(view(mirroredDisparity_).asConst(), rightView, first, end);
      });
    }
    exponential_->compute({images.left, images.right, images.leftRgb},
                          {result.disparityQ4, view(disparity_),
                           mirrored_ != nullptr ? ImageView<int16_t>{} : rightView, result.confidence});
    if (!task_.leftRight) return;
    const LeftRightImages check{view(disparity_).asConst(), rightView.asConst(), result.disparityQ4, result.confidence};
    workers_.rows(task_.height, [&](int32_t first, int32_t end) { leftRight_(check, first, end); });
  }

  size_t workspaceBytes() const override {
    return (disparity_.size() + rightDisparity_.size() + mirroredDisparity_.size()) * sizeof(int16_t) +
           (mirrored_ != nullptr ? mirrored_->bytes() : 0) + exponential_->workspaceBytes();
  }

 private:
  ImageView<int16_t> view(std::vector<int16_t>& image) const {
    return packedView(image.data(), task_.width, task_.height);
  }

  const MatchTask task_;
  const InstructionSet set_;
  const LeftRightRows leftRight_;
  Workers& workers_;
  std::vector<int16_t> disparity_, rightDisparity_, mirroredDisparity_;
  std::unique_ptr<MirroredImages> mirrored_;  ///< null unless rightView is own
  std::unique_ptr<Exponential> exponential_;
};

inline Status openExponentialOnCpu(const ExponentialParameters& parameters, const MatchTask& task, InstructionSet set,
                                   Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<ExponentialOnCpu> matcher(new ExponentialOnCpu(task, set, workers));
  const Status status = matcher->open(parameters);
  if (status.ok()) *opened = std::move(matcher);
  return status;
}

/// Computes the same from the references of the stages.
inline void matchExponentialReference(const ExponentialParameters& parameters, const MatchTask& task,
                                      const MatcherImages& images, const MatcherResult& result) {
  const size_t pixels = static_cast<size_t>(task.width) * task.height;
  std::vector<int16_t> whole(pixels), rightWhole(pixels), ignored(pixels);
  std::vector<uint8_t> ignoredConfidence(pixels);
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), task.width, task.height); };
  exponentialReference(parameters, {images.left, images.right, images.leftRgb},
                       {result.disparityQ4, view(whole), view(rightWhole), result.confidence});
  if (!task.leftRight) return;
  if (hasOwnRightView(task)) {
    MirroredImages mirrored(task.width, task.height);
    mirrored.make(images, 0, task.height);
    std::vector<int16_t> mirroredResult(pixels);
    exponentialReference(
        parameters, mirrored.images(),
        {view(ignored), view(mirroredResult), {}, packedView(ignoredConfidence.data(), task.width, task.height)});
    mirrorColumns(view(mirroredResult).asConst(), view(rightWhole), 0, task.height);
  }
  leftRightReference({view(whole).asConst(), view(rightWhole).asConst(), result.disparityQ4, result.confidence});
}

}  // namespace depthwatt
