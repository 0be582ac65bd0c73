// SPDX-License-Identifier: Apache-2.0
// The matcher cbca on the CPU (Chang and Maruyama, section III): cross, ground control points, median, bilateral
// estimation. The engine's stages halve before it and upscale after it.
#include "../../../core/workers.h"
#include "../../refine/fill/fill.h"
#include "../../refine/left_right/left_right.h"
#include "../../refine/median/median.h"
#include "../../simd/kernels.h"
#include "cbca_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    wholeByResolution("armX", 0, kMaxArmX, kCbcaArm, kCbcaArmAtHalf, "px",
                      "Longest horizontal arm of a pixel's region; CUDA computes up to 61. Longer arms smooth more and "
                      "take more time."),
    wholeByResolution("armY", 0, kMaxArmY, kCbcaArm, kCbcaArmAtHalf, "px",
                      "Longest vertical arm of a pixel's region. Longer arms smooth more and take more time."),
    wholeByResolution("similarity", 1, 256, kCbcaSimilarity, kCbcaSimilarityAtHalf, "grey",
                      "Grey difference at which an arm ends. Raise it for noisy images, lower it to keep edges apart."),
    wholeNumber("armXRight", -1, kMaxArmX, -1, "px",
                "armX of the right image; CUDA computes up to 61. -1: as in the left image."),
    wholeNumber("armYRight", -1, kMaxArmY, -1, "px", "armY of the right image. -1: as in the left image."),
    wholeNumber(
        "lambdaDifference", kLeastLambda, kMaxLambda, kLambdaDifference, "1/1000",
        "Grey difference whose cost is 63 % of the maximum, in thousandths of lambdaUnit. Lower it to make small differences count more."),
    word("lambdaUnit", "fullScale greyLevel",
         "Unit of lambdaDifference: the full scale of 255, or one grey level. The paper prints 0.3 without a unit."),
    wholeNumber(
        "lambdaCensus", kLeastLambda, kMaxLambda, kLambdaCensus, "1/10 bit",
        "Census distance whose cost is 63 % of the maximum, in tenths of a bit. Lower it to make the census count more."),
    wholeNumber("threshold", 0, 64, kCbcaThreshold, "px",
                "Largest disparity step that filling bridges with a straight line."),
};

/// Checks that a sum of a region's costs fits 23 bits.
BrokenRule check(const MatcherChoice& choice, const MatchSearch&, bool) {
  const auto right = [&](const char* key, const char* left) {
    return choice.at(key) < 0 ? choice.at(left) : choice.at(key);
  };
  const struct {
    const char *x, *y;
    int32_t along, down;
  } regions[] = {{"armX", "armY", choice.at("armX"), choice.at("armY")},
                 {"armXRight", "armYRight", right("armXRight", "armX"), right("armYRight", "armY")}};
  for (const auto& region : regions) {
    const int32_t pixels = (2 * region.along + 1) * (2 * region.down + 1);
    if (pixels <= kMaxRegion) continue;
    return BrokenRule::of({std::string("match.cbca.") + region.x, std::string("match.cbca.") + region.y},
                          "expected (2 armX + 1) (2 armY + 1) of at most %d pixels, got %d from %d and %d", kMaxRegion,
                          pixels, region.along, region.down);
  }
  return {};
}

constexpr MatcherFacts kFacts = {"cbca",
                                 "cross-based aggregation over regions of similar grey",
                                 ImagesNeeded::kGrey,
                                 true,
                                 kParameters,
                                 sizeof kParameters / sizeof *kParameters,
                                 {nullptr, 0, 0, nullptr, 4},
                                 check,
                                 true};

class CbcaOnCpu final : public CpuMatcher {
 public:
  CbcaOnCpu(const MatchTask& task, InstructionSet set, Workers& workers)
      : set_(set), leftRight_(kernelsFor<LeftRightKernels>(set).leftRight),
        median_(kernelsFor<MedianKernels>(set).median), workers_(workers), thresholdQ4_(cbcaThresholdQ4From(task)),
        width_(task.width), height_(task.height) {
    const size_t pixels = static_cast<size_t>(width_) * height_;
    for (std::vector<int16_t>* image : {&disparity_, &rightDisparity_, &points_}) image->resize(pixels);
  }

  Status open(const CrossParameters& parameters) {
    Cross* made = nullptr;
    const Status status = Cross::open(parameters, width_, height_, set_, workers_, &made);
    cross_.reset(made);
    return status;
  }

  /// disparityQ4: every pixel has a value if any does. confidence: 255 at ground control points, 0 elsewhere.
  void compute(const MatcherImages& images, const MatcherResult& result) override {
    cross_->compute({images.left, images.right, view(disparity_), view(rightDisparity_)});

    // Ground control points: both images agree exactly (eq. 10).
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        const int16_t* whole = view(disparity_).row(y);
        for (int32_t x = 0; x < width_; ++x) {
          view(points_).row(y)[x] = static_cast<int16_t>(whole[x] == kInvalidDisparity ? whole[x] : 16 * whole[x]);
          result.confidence.row(y)[x] = 255;
        }
      }
      LeftRightImages check{view(disparity_).asConst(), view(rightDisparity_).asConst(), view(points_),
                            result.confidence};
      check.tolerance = 0;
      leftRight_(check, first, end);
    });
    workers_.rows(
        height_, [&](int32_t first, int32_t end) { median_(view(points_).asConst(), result.disparityQ4, first, end); });
    FillParameters fill;
    fill.method = FillMethod::kBilateral;
    fill.thresholdQ4 = thresholdQ4_;
    fillHoles(fill, images.left, result.disparityQ4.asConst(), result.disparityQ4, {}, workers_);
  }

  size_t workspaceBytes() const override {
    return (disparity_.size() + rightDisparity_.size() + points_.size()) * sizeof(int16_t) + cross_->workspaceBytes();
  }

 private:
  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), width_, height_);
  }

  const InstructionSet set_;
  const LeftRightRows leftRight_;
  const MedianRows median_;
  Workers& workers_;
  const int32_t thresholdQ4_;
  const int32_t width_, height_;
  std::vector<int16_t> disparity_, rightDisparity_, points_;
  std::unique_ptr<Cross> cross_;
};

}  // namespace

const MatcherFacts& cbcaFacts() { return kFacts; }

Status openCbcaOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<CbcaOnCpu> cbca(new CbcaOnCpu(task, set, workers));
  const Status status = cbca->open(crossParametersFrom(task));
  if (status.ok()) *opened = std::move(cbca);
  return status;
}

}  // namespace depthwatt
