// SPDX-License-Identifier: Apache-2.0
// The matcher sgm on the CPU: the census of both images, match/sgm, then the left-right check.
#include "../../../core/workers.h"
#include "../../refine/left_right/left_right.h"
#include "../../simd/kernels.h"
#include "../cost/census/census.h"
#include "../cost/gradient_census/gradient_census.h"
#include "../cost/two_gradient_census/two_gradient_census.h"
#include "../cost/wide_census/wide_census.h"
#include "../mirror.h"
#include "sgm.h"
#include "sgm_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    word(
        "cost", "twoGradientCensus gradientCensus census wideCensus",
        "Pixel description to compare. twoGradientCensus: 8 neighbours and both gradients; gradientCensus: 5x5 census and horizontal gradient; census: the paper's 9x7 census; wideCensus: 62 bits, most accurate and slowest."),
    oneOf("paths", "2 4 8", 4, "", "Directions of aggregation. More give smoother results and take more time."),
    wholeNumber("p1", 1, kMaxP2, 10, "cost",
                "Penalty of a disparity step of one pixel, at most p2. Raise it for smoother slanted surfaces."),
    wholeNumber(
        "p2", 1, kMaxP2, 24, "cost",
        "Penalty of a larger disparity step. Raise it for smoother surfaces, lower it to keep small objects. Above 127 the CPU is slower."),
    wholeNumber(
        "adaptiveP2", 0, 255, 2, "",
        "Lowers p2 at grey edges, to max(p1, p2 - (adaptiveP2 x grey difference) / 16). Raise it for sharper object edges. 0: off."),
    wholeNumber(
        "uniqueness", 0, 99, 0, "%",
        "How much higher the cost of every other disparity must be; otherwise the pixel is invalid. Raise it to drop ambiguous pixels. 0: off."),
    wholeNumber(
        "outsideCost", 0, kNeverOutside, 6, "cost",
        "Cost of a disparity that points outside the right image. If it wins, the pixel becomes a hole. 63: it never wins."),
    word(
        "rightView", "diagonal own",
        "Right-image match for the left-right check. diagonal: read from the left image's costs; own: a separate match, more accurate at about twice the time."),
    flag("subpixel", true, "Interpolates the disparity to 1/16 px. Turn it off for whole pixels."),
};

constexpr QualityStep kSteps[] = {{"paths", 4}, {"paths", 2}};

BrokenRule check(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution) {
  if (choice.at("p1") > choice.at("p2")) {
    return BrokenRule::of({"match.sgm.p1", "match.sgm.p2"}, "expected at most match.sgm.p2, which is %d, got %d",
                          choice.at("p2"), choice.at("p1"));
  }
  // Half of the search must still have 8 disparities of the half images.
  if (halfResolution && search.numDisparities < 2 * kMinNumDisparities) {
    return BrokenRule::of({"match.numDisparities", "match.halfResolution"},
                          "expected %d to %d with match.halfResolution, got %d", 2 * kMinNumDisparities,
                          kMaxNumDisparities, search.numDisparities);
  }
  return {};
}

constexpr MatcherFacts kFacts = {
    "sgm",
    "semi-global matching",
    ImagesNeeded::kGrey,
    false,
    kParameters,
    sizeof kParameters / sizeof *kParameters,
    // Half resolution with 4 paths costs less than full resolution with 2, and is better on KITTI.
    {kSteps, sizeof kSteps / sizeof *kSteps, 1, "paths", 0},
    check};

CensusRows<uint8_t> chooseCensus(MatchingCost cost, InstructionSet set) {
  switch (cost) {
    case MatchingCost::kTwoGradientCensus: return kernelsFor<TwoGradientCensusKernels>(set).twoGradientCensus;
    case MatchingCost::kGradientCensus: return kernelsFor<GradientCensusKernels>(set).gradientCensus;
    case MatchingCost::kWideCensus:  // of two words: below
    case MatchingCost::kCensus: break;
  }
  return kernelsFor<CensusKernels>(set).census8;
}

class SgmOnCpu final : public CpuMatcher {
 public:
  SgmOnCpu(const MatchTask& task, InstructionSet set, Workers& workers)
      : task_(task), set_(set), workers_(workers), census_(chooseCensus(matchingCostFrom(task), set)),
        wideCensus_(kernelsFor<WideCensusKernels>(set).wideCensus),
        leftRight_(kernelsFor<LeftRightKernels>(set).leftRight) {
    const size_t pixels = static_cast<size_t>(task.width) * task.height;
    censusLeft_.resize(pixels);
    censusRight_.resize(pixels);
    if (bothWords()) {
      moreLeft_.resize(pixels);
      moreRight_.resize(pixels);
    }
    disparity_.resize(pixels);
    if (task.leftRight) rightDisparity_.resize(pixels);
    for (std::vector<uint8_t>& image : mirrored_) image.resize(hasOwnRightView(task) ? pixels : 0);
  }

  Status open() {
    Sgm* opened = nullptr;
    const Status status = Sgm::open(sgmParametersFrom(task_), task_.width, task_.height, set_, workers_, &opened);
    sgm_.reset(opened);
    return status;
  }

  void compute(const MatcherImages& images, const MatcherResult& result) override {
    const bool own = hasOwnRightView(task_);
    if (own) matchFromRight(images, result);
    const ImageView<int16_t> rightView = task_.leftRight ? view(rightDisparity_) : ImageView<int16_t>{};
    winners(images.left, images.right,
            {result.disparityQ4, view(disparity_), own ? ImageView<int16_t>{} : rightView, result.confidence});
    if (!task_.leftRight) return;
    const LeftRightImages check{view(disparity_).asConst(), rightView.asConst(), result.disparityQ4, result.confidence};
    workers_.rows(task_.height, [&](int32_t first, int32_t end) { leftRight_(check, first, end); });
  }

  size_t workspaceBytes() const override {
    return (censusLeft_.size() + censusRight_.size() + moreLeft_.size() + moreRight_.size()) * sizeof(uint32_t) +
           mirrored_[0].size() + mirrored_[1].size() + (disparity_.size() + rightDisparity_.size()) * sizeof(int16_t) +
           sgm_->workspaceBytes();
  }

 private:
  void winners(ImageView<const uint8_t> left, ImageView<const uint8_t> right, const SgmResult& result) {
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      if (bothWords()) {
        wideCensus_(left, view(censusLeft_), view(moreLeft_), first, end);
        wideCensus_(right, view(censusRight_), view(moreRight_), first, end);
        return;
      }
      census_(left, view(censusLeft_), first, end);
      census_(right, view(censusRight_), first, end);
    });
    sgm_->compute({view(censusLeft_).asConst(), view(censusRight_).asConst(), left, view(moreLeft_).asConst(),
                   view(moreRight_).asConst()},
                  result);
  }

  /// Matches the right view as the left one of the mirrored pair. The left view overwrites the result's images
  /// afterwards.
  void matchFromRight(const MatcherImages& images, const MatcherResult& result) {
    const ImageView<uint8_t> left = view(mirrored_[0]), right = view(mirrored_[1]);
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      mirrorColumns(images.right, left, first, end);
      mirrorColumns(images.left, right, first, end);
    });
    winners(left.asConst(), right.asConst(), {result.disparityQ4, view(disparity_), {}, result.confidence});
    workers_.rows(task_.height, [&](int32_t first, int32_t end) {
      mirrorColumns(view(disparity_).asConst(), view(rightDisparity_), first, end);
    });
  }

  bool bothWords() const { return matchingCostFrom(task_) == MatchingCost::kWideCensus; }
  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), task_.width, task_.height);
  }

  const MatchTask task_;
  const InstructionSet set_;
  Workers& workers_;
  const CensusRows<uint8_t> census_;
  const WideCensusRows wideCensus_;
  const LeftRightRows leftRight_;
  std::vector<uint32_t> censusLeft_, censusRight_, moreLeft_, moreRight_;
  std::vector<int16_t> disparity_, rightDisparity_;
  std::vector<uint8_t> mirrored_[2];  ///< with rightView own
  std::unique_ptr<Sgm> sgm_;
};

}  // namespace

const MatcherFacts& sgmFacts() { return kFacts; }

Status openSgmOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<SgmOnCpu> sgm(new SgmOnCpu(task, set, workers));
  const Status status = sgm->open();
  if (status.ok()) *opened = std::move(sgm);
  return status;
}

}  // namespace depthwatt
